// RUN: bessemer-opt %s --split-input-file --verify-diagnostics --exec-verify

// expected-error @below {{expected no op of the levels above exec}}
func.func @left() {
  return
}

// -----

exec.program @f inputs = [{name = "x", type = tensor<16xf32>}] outputs = [] {
  // expected-error @below {{expected 64 bytes of 'tensor<16xf32>', got 128}}
  exec.arena @in0 input bytes = 128
}

// -----

exec.program @f inputs = [] outputs = [] {
  // expected-error @below {{expected a value below 0, got 0}}
  exec.arena @out0 output bytes = 64
}

// -----

exec.program @f inputs = [] outputs = [] {
  // expected-error @below {{expected the step block of 64 bytes, got 32}}
  exec.arena @step step bytes = 32
}

// -----

exec.program @f inputs = [] outputs = [] {
  // expected-error @below {{expected data of 64 bytes}}
  exec.arena @c constant bytes = 64 {data = dense<0.0> : tensor<4xf32>}
}

// -----

exec.program @f inputs = [] outputs = [] {
  // expected-error @below {{slice 0: expected an arena of the program before it, got @work}}
  exec.fill <@work[0, 64]> pattern = 0 width = 4
}

// -----

exec.program @f inputs = [] outputs = [] {
  exec.arena @work work bytes = 128
  // expected-error @below {{slice 0: expected bytes of the arena's 128, got #exec.slice<@work[64, 128]>}}
  exec.fill <@work[64, 128]> pattern = 0 width = 4
}

// -----

exec.program @f inputs = [] outputs = [] {
  exec.arena @work work bytes = 128
  // expected-error @below {{slice 0: expected an offset that is a multiple of 64, got #exec.slice<@work[32, 64]>}}
  exec.fill <@work[32, 64]> pattern = 0 width = 4
}

// -----

exec.program @f inputs = [{name = "x", type = tensor<16xf32>}] outputs = [] {
  exec.arena @in0 input bytes = 64
  // expected-error @below {{slice 0: expected a writable arena, got input arena @in0}}
  exec.fill <@in0[0, 64]> pattern = 0 width = 4
}

// -----

exec.program @f inputs = [] outputs = [{name = "y", type = tensor<32xf32>}] {
  // expected-error @below {{expected every byte of the output to be written, got nothing in bytes 64 to 128}}
  exec.arena @out0 output bytes = 128
  exec.fill <@out0[0, 64]> pattern = 0 width = 4
}

// -----

exec.program @f inputs = [] outputs = [] {
  exec.arena @work work bytes = 128
  exec.fill <@work[0, 64]> pattern = 0 width = 4
  // expected-error @below {{slice 1: expected 64 bytes, got #exec.slice<@work[64, 32]>}}
  exec.copy <@work[0, 64]> to <@work[64, 32]>
}

// -----

exec.program @f inputs = [] outputs = [] {
  exec.arena @work work bytes = 256
  exec.fill <@work[0, 128]> pattern = 0 width = 4
  // expected-error @below {{writes #exec.slice<@work[64, 128]> and reads other bytes there: #exec.slice<@work[0, 128]>}}
  exec.copy <@work[0, 128]> to <@work[64, 128]>
}

// -----

exec.program @f inputs = [] outputs = [] {
  exec.arena @work work bytes = 256
  exec.fill <@work[0, 64]> pattern = 0 width = 4
  // expected-error @below {{command 1 reads #exec.slice<@work[0, 128]> (slice 0): expected a value in bytes 64 to 128, got nothing}}
  exec.copy <@work[0, 128]> to <@work[128, 128]>
}

// -----

exec.program @f inputs = [] outputs = [] {
  exec.arena @work work bytes = 64
  // expected-error @below {{expected a kernel, got 'nowhere'}}
  exec.launch @nowhere operands = [#exec.slice<@work[0, 64]>]
}

// -----

#id = affine_map<(d0) -> (d0)>
exec.kernel @neg {
^bb0(%x: tensor<16xf32>):
  %y = kern.map(%x) bounds = [16] maps = [#id, #id] {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kern.yield %n : f32
  } : (tensor<16xf32>) -> tensor<16xf32>
}
exec.program @f inputs = [] outputs = [] {
  exec.arena @state state bytes = 64
  // expected-error @below {{expected 2 operands of kernel 'neg', got 1}}
  exec.launch @neg operands = [#exec.slice<@state[0, 64]>]
}

// -----

#id = affine_map<(d0) -> (d0)>
exec.kernel @neg {
^bb0(%x: tensor<16xf32>):
  %y = kern.map(%x) bounds = [16] maps = [#id, #id] {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kern.yield %n : f32
  } : (tensor<16xf32>) -> tensor<16xf32>
}
exec.program @f inputs = [] outputs = [] {
  exec.arena @state state bytes = 64
  // expected-error @below {{expected one value per slice, got 1 for 2}}
  exec.launch @neg operands = [#exec.slice<@state[0, 64]>, #exec.slice<@state[0, 64]>] {values = array<i64: 1>}
}

// -----

// A transpose in place would read what it has overwritten.
exec.kernel @turn {
^bb0(%x: tensor<4x4xf32>):
  %y = kern.map(%x) bounds = [4, 4] maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>] {
  ^bb0(%a: f32):
    kern.yield %a : f32
  } : (tensor<4x4xf32>) -> tensor<4x4xf32>
}
exec.program @f inputs = [] outputs = [] {
  exec.arena @state state bytes = 64
  // expected-error @below {{writes #exec.slice<@state[0, 64]> in place of operand 0, which it may not}}
  exec.launch @turn operands = [#exec.slice<@state[0, 64]>, #exec.slice<@state[0, 64]>]
}

// -----

// A value overwritten in part is found without numbers.
exec.program @f inputs = [] outputs = [{name = "y", type = tensor<32xf32>}] {
  exec.arena @work work bytes = 128
  exec.arena @out0 output bytes = 128
  exec.fill <@work[0, 128]> pattern = 0 width = 4
  // expected-note @below {{written here}}
  exec.fill <@work[64, 64]> pattern = 1 width = 4 {label = "relu1 (model.py:7)"}
  // expected-error @below {{command 2 reads #exec.slice<@work[0, 128]> (slice 0): expected the result of command 0 in bytes 64 to 128, got the result of command 1 (relu1 (model.py:7))}}
  exec.copy <@work[0, 128]> to <@out0[0, 128]>
}

// -----

// One overwritten as a whole only with numbers.
exec.program @f inputs = [] outputs = [{name = "y", type = tensor<16xf32>}] {
  exec.arena @work work bytes = 64
  exec.arena @out0 output bytes = 64
  exec.fill <@work[0, 64]> pattern = 0 width = 4 {values = array<i64: 1>}
  // expected-note @below {{written here}}
  exec.fill <@work[0, 64]> pattern = 1 width = 4 {values = array<i64: 2>}
  // expected-error @below {{command 2 reads #exec.slice<@work[0, 64]> (slice 0): expected value 1, the result of command 0 in bytes 0 to 64, got the result of command 1}}
  exec.copy <@work[0, 64]> to <@out0[0, 64]> {values = array<i64: 1, 1>}
}

// -----

// The old value of a state is gone.
exec.program @f inputs = [] outputs = [{name = "y", type = tensor<16xf32>}] {
  exec.arena @state state bytes = 64
  exec.arena @out0 output bytes = 64
  // expected-note @below {{written here}}
  exec.fill <@state[0, 64]> pattern = 0 width = 4 {values = array<i64: 1>}
  // expected-error @below {{command 1 reads #exec.slice<@state[0, 64]> (slice 0): expected value 0, which exists at entry in bytes 0 to 64, got the result of command 0}}
  exec.copy <@state[0, 64]> to <@out0[0, 64]> {values = array<i64: 0, 0>}
}

// -----

exec.state @a at 0 : tensor<32xf32> = dense<0.0> : tensor<32xf32> {role = "parameter"}
// expected-error @below {{expected an offset that is a multiple of 64 and at least 128, got 64}}
exec.state @b at 64 : tensor<32xf32> = dense<0.0> : tensor<32xf32> {role = "parameter"}

// -----

exec.state @a at 0 : tensor<32xf32> = dense<0.0> : tensor<32xf32> {role = "parameter"}
exec.program @f inputs = [] outputs = [] {
  // expected-error @below {{expected at least the 128 bytes of all states, got 64}}
  exec.arena @state state bytes = 64
}

// -----

// expected-error @below {{expected one kern op in its body}}
exec.kernel @two {
^bb0(%x: tensor<16xf32>):
  %y = arith.negf %x : tensor<16xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>
// expected-error @below {{expected the operands of its kern op to be the arguments of its block, in order}}
exec.kernel @swapped {
^bb0(%x: tensor<16xf32>, %z: tensor<16xf32>):
  %y = kern.map(%z, %x) bounds = [16] maps = [#id, #id, #id] {
  ^bb0(%a: f32, %b: f32):
    %n = arith.subf %a, %b : f32
    kern.yield %n : f32
  } : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
}
