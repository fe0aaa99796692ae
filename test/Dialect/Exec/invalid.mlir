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
