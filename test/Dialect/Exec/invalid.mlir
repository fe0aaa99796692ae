// RUN: bessemer-opt %s --verify-diagnostics --split-input-file

// expected-error @+1 {{expected one kern op in its body}}
exec.kernel @k {
^bb0(%x: tensor<64xf32>):
  %y = arith.negf %x : tensor<64xf32>
}

// -----

// expected-error @+1 {{expected the operands of its kern op to be the arguments of its block, in order}}
exec.kernel @k {
^bb0(%x: tensor<64xf32>, %unused: tensor<64xf32>):
  %y = kern.map(%x) bounds = [64] maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
  ^bb0(%a: f32):
    kern.yield %a : f32
  } : (tensor<64xf32>) -> tensor<64xf32>
}

// -----

// expected-error @+1 {{expected entries {name, type}, got {name = "x"}}}
exec.program @predict inputs = [{name = "x"}] outputs = [] {
}

// -----

// expected-error @+1 {{"x": expected ranges of an i32 or i64 tensor, got 'tensor<4xf32>'}}
exec.program @predict inputs = [{name = "x", type = tensor<4xf32>, ranges = [#graph.input_range<"a label", 0 to 2>]}] outputs = [] {
}

// -----

exec.program @count inputs = [] outputs = [] {
  // expected-error @+1 {{expected a count of at least 1, got 0}}
  exec.repeat 0 scratch = [] carried = [] {
  }
}

// -----

exec.program @values inputs = [] outputs = [] {
  exec.arena @work work bytes = 64
  // expected-error @+1 {{expected three values per carried slice, got 2 for 1}}
  exec.repeat 2 scratch = [] carried = [#exec.slice<@work[0, 64]>] {
  } {values = array<i64: 1, 2>}
}
