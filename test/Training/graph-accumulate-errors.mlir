// RUN: bessemer-opt %s --split-input-file --verify-diagnostics --graph-accumulate=count=2

// expected-error @+1 {{expected a function @train_step}}
module {
}

// -----

// expected-error @+1 {{expected an input with a batch to accumulate gradients over}}
func.func @train_step(%step: !graph.step) -> tensor<f32> {
  %loss = arith.constant dense<1.0> : tensor<f32>
  return %loss : tensor<f32>
}

// -----

// expected-error @+1 {{expected @train_step to return what its loss is divided by}}
func.func @train_step(%x: tensor<2xf32>, %step: !graph.step) -> tensor<f32> {
  %loss = graph.reduce sum %x dims = [0] : tensor<2xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
