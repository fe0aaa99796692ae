// RUN: bessemer-opt %s --exec-verify --split-input-file --verify-diagnostics | FileCheck %s

// Loops: running sums of x from the front, put out from the back.

#id = affine_map<(d0) -> (d0)>
exec.kernel @add {
^bb0(%a: tensor<16xf32>, %b: tensor<16xf32>):
  %y = kern.map(%a, %b) bounds = [16] maps = [#id, #id, #id] {
  ^bb0(%c: f32, %d: f32):
    %s = arith.addf %c, %d : f32
    kern.yield %s : f32
  } : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
}
// CHECK: exec.repeat 3 scratch = [] carried = [#exec.slice<@out0[0, 64]>] {
// CHECK-NEXT: exec.launch @add operands = [#exec.slice<@out0[0, 64]>, #exec.slice<@in0[0, 64] by[64]>, #exec.slice<@out0[0, 64]>]
// CHECK-NEXT: exec.copy <@out0[0, 64]> to <@out1[128, 64] by[-64]>
// CHECK-NEXT: } {values = array<i64: 1, 1, 3>}
exec.program @sums inputs = [{name = "x", type = tensor<3x16xf32>}] outputs = [{name = "y", type = tensor<16xf32>}, {name = "z", type = tensor<3x16xf32>}] {
  exec.arena @in0 input bytes = 192
  exec.arena @out0 output bytes = 64
  exec.arena @out1 output bytes = 192 {value = 1 : i64}
  exec.fill <@out0[0, 64]> pattern = 0 width = 4 {values = array<i64: 1>}
  exec.repeat 3 scratch = [] carried = [#exec.slice<@out0[0, 64]>] {
    exec.launch @add operands = [#exec.slice<@out0[0, 64]>, #exec.slice<@in0[0, 64] by[64]>, #exec.slice<@out0[0, 64]>] {values = array<i64: 1, 0, 3>}
    exec.copy <@out0[0, 64]> to <@out1[128, 64] by[-64]> {values = array<i64: 3, 2>}
  } {values = array<i64: 1, 1, 3>}
}

// -----

// A loop in a loop: each moves the slice by its own stride.
#id = affine_map<(d0) -> (d0)>
exec.kernel @add {
^bb0(%a: tensor<16xf32>, %b: tensor<16xf32>):
  %y = kern.map(%a, %b) bounds = [16] maps = [#id, #id, #id] {
  ^bb0(%c: f32, %d: f32):
    %s = arith.addf %c, %d : f32
    kern.yield %s : f32
  } : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
}
// CHECK-LABEL: exec.program @nested
exec.program @nested inputs = [{name = "x", type = tensor<2x3x16xf32>}] outputs = [{name = "y", type = tensor<2x3x16xf32>}] {
  exec.arena @in0 input bytes = 384
  exec.arena @out0 output bytes = 384
  exec.repeat 2 scratch = [] carried = [] {
    exec.repeat 3 scratch = [] carried = [] {
      exec.copy <@in0[0, 64] by[192, 64]> to <@out0[128, 64] by[192, -64]> {values = array<i64: 0, 1>}
    } {values = array<i64>}
  } {values = array<i64>}
}

// -----

#id = affine_map<(d0) -> (d0)>
exec.kernel @add {
^bb0(%a: tensor<16xf32>, %b: tensor<16xf32>):
  %y = kern.map(%a, %b) bounds = [16] maps = [#id, #id, #id] {
  ^bb0(%c: f32, %d: f32):
    %s = arith.addf %c, %d : f32
    kern.yield %s : f32
  } : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
}
exec.program @leaves inputs = [{name = "x", type = tensor<3x16xf32>}] outputs = [{name = "y", type = tensor<16xf32>}] {
  exec.arena @in0 input bytes = 192
  exec.arena @out0 output bytes = 64
  exec.repeat 3 scratch = [] carried = [] {
    // expected-error @+1 {{slice 0: expected bytes of the arena's 192, got #exec.slice<@in0[256, 64]>}}
    exec.copy <@in0[0, 64] by[128]> to <@out0[0, 64]>
  }
}

// -----

#id = affine_map<(d0) -> (d0)>
exec.kernel @add {
^bb0(%a: tensor<16xf32>, %b: tensor<16xf32>):
  %y = kern.map(%a, %b) bounds = [16] maps = [#id, #id, #id] {
  ^bb0(%c: f32, %d: f32):
    %s = arith.addf %c, %d : f32
    kern.yield %s : f32
  } : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
}
exec.program @no_loop inputs = [{name = "x", type = tensor<3x16xf32>}] outputs = [{name = "y", type = tensor<16xf32>}] {
  exec.arena @in0 input bytes = 192
  exec.arena @out0 output bytes = 64
  // expected-error @+1 {{slice 0: expected at most 0 strides, one per enclosing repeat, got #exec.slice<@in0[0, 64] by[64]>}}
  exec.copy <@in0[0, 64] by[64]> to <@out0[0, 64]>
}

// -----

// The old carried value is gone once the new one lies in its place.
#id = affine_map<(d0) -> (d0)>
exec.kernel @add {
^bb0(%a: tensor<16xf32>, %b: tensor<16xf32>):
  %y = kern.map(%a, %b) bounds = [16] maps = [#id, #id, #id] {
  ^bb0(%c: f32, %d: f32):
    %s = arith.addf %c, %d : f32
    kern.yield %s : f32
  } : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
}
exec.program @old_value inputs = [{name = "x", type = tensor<3x16xf32>}] outputs = [{name = "y", type = tensor<16xf32>}, {name = "z", type = tensor<16xf32>}] {
  exec.arena @in0 input bytes = 192
  exec.arena @out0 output bytes = 64
  exec.arena @out1 output bytes = 64 {value = 1 : i64}
  exec.fill <@out0[0, 64]> pattern = 0 width = 4 {values = array<i64: 1>}
  exec.repeat 3 scratch = [] carried = [#exec.slice<@out0[0, 64]>] {
    // expected-note @+1 {{written here}}
    exec.launch @add operands = [#exec.slice<@out0[0, 64]>, #exec.slice<@in0[0, 64] by[64]>, #exec.slice<@out0[0, 64]>] {values = array<i64: 1, 0, 3>}
    // expected-error @+1 {{command 3 reads #exec.slice<@out0[0, 64]> (slice 0): expected value 1, the result of command 0 in bytes 0 to 64, got the result of command 2}}
    exec.copy <@out0[0, 64]> to <@out1[0, 64]> {values = array<i64: 1, 2>}
  } {values = array<i64: 1, 1, 3>}
}

// -----

// The first iteration may not read what only a later one would find.
#id = affine_map<(d0) -> (d0)>
exec.kernel @add {
^bb0(%a: tensor<16xf32>, %b: tensor<16xf32>):
  %y = kern.map(%a, %b) bounds = [16] maps = [#id, #id, #id] {
  ^bb0(%c: f32, %d: f32):
    %s = arith.addf %c, %d : f32
    kern.yield %s : f32
  } : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
}
exec.program @unwritten inputs = [{name = "x", type = tensor<3x16xf32>}] outputs = [{name = "y", type = tensor<16xf32>}] {
  exec.arena @in0 input bytes = 192
  exec.arena @out0 output bytes = 64
  // expected-error @+1 {{command 0 reads #exec.slice<@out0[0, 64]> (slice 0): expected a value in bytes 0 to 64, got nothing}}
  exec.repeat 3 scratch = [] carried = [#exec.slice<@out0[0, 64]>] {
    exec.launch @add operands = [#exec.slice<@out0[0, 64]>, #exec.slice<@in0[0, 64] by[64]>, #exec.slice<@out0[0, 64]>] {values = array<i64: 2, 0, 3>}
  } {values = array<i64: 1, 2, 3>}
}

// -----

// A temporary does not outlive its iteration: written last, read first.
#id = affine_map<(d0) -> (d0)>
exec.kernel @add {
^bb0(%a: tensor<16xf32>, %b: tensor<16xf32>):
  %y = kern.map(%a, %b) bounds = [16] maps = [#id, #id, #id] {
  ^bb0(%c: f32, %d: f32):
    %s = arith.addf %c, %d : f32
    kern.yield %s : f32
  } : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
}
exec.program @temporary inputs = [{name = "x", type = tensor<3x16xf32>}] outputs = [{name = "y", type = tensor<16xf32>}] {
  exec.arena @in0 input bytes = 192
  exec.arena @work work bytes = 64
  exec.arena @out0 output bytes = 64
  exec.fill <@work[0, 64]> pattern = 0 width = 4 {values = array<i64: 2>}
  exec.repeat 3 scratch = [#exec.slice<@work[0, 64]>] carried = [] {
    // expected-error @+1 {{expected a value in bytes 0 to 64, got nothing}}
    exec.copy <@work[0, 64]> to <@out0[0, 64]> {values = array<i64: 2, 1>}
    exec.copy <@in0[0, 64] by[64]> to <@work[0, 64]> {values = array<i64: 0, 2>}
  } {values = array<i64>}
}

// -----

// Not every step's output is written.
#id = affine_map<(d0) -> (d0)>
exec.kernel @add {
^bb0(%a: tensor<16xf32>, %b: tensor<16xf32>):
  %y = kern.map(%a, %b) bounds = [16] maps = [#id, #id, #id] {
  ^bb0(%c: f32, %d: f32):
    %s = arith.addf %c, %d : f32
    kern.yield %s : f32
  } : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
}
exec.program @output inputs = [{name = "x", type = tensor<3x16xf32>}] outputs = [{name = "y", type = tensor<3x16xf32>}] {
  exec.arena @in0 input bytes = 192
  // expected-error @+1 {{expected every byte of the output to be written, got nothing in bytes 128 to 192}}
  exec.arena @out0 output bytes = 192
  exec.repeat 2 scratch = [] carried = [] {
    exec.copy <@in0[0, 64] by[64]> to <@out0[0, 64] by[64]> {values = array<i64: 0, 1>}
  } {values = array<i64>}
}
