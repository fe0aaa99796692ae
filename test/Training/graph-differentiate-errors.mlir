// RUN: bessemer-opt %s --graph-differentiate --split-input-file --verify-diagnostics

// expected-error @+1 {{expected a function @train_step}}
module {
}

// -----

// expected-error @+1 {{expected @train_step to return a float scalar first, got 'tensor<2xf32>'}}
func.func @train_step(%x: tensor<2xf32>, %step: !graph.step) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}

// -----

// expected-warning @+1 {{parameter 'w' does not influence the loss: it is not trained}}
graph.state @w parameter trainable : tensor<f32> = dense<1.0> : tensor<f32>
// expected-error @+1 {{the loss depends on no trainable parameter: nothing to train}}
func.func @train_step(%x: tensor<f32>, %step: !graph.step) -> tensor<f32> {
  return %x : tensor<f32>
}

// -----

// An op without a gradient matters only on the path from a trainable parameter to the loss.
graph.state @w parameter trainable : tensor<f32> = dense<1.0> : tensor<f32>
func.func @train_step(%x: tensor<f32>, %step: !graph.step) -> tensor<f32> {
  %w = graph.read @w : tensor<f32>
  %free = math.cbrt %x : tensor<f32>
  // expected-error @+1 {{'math.cbrt' has no gradient, but a trainable parameter influences the loss through it}}
  %y = math.cbrt %w : tensor<f32>
  %loss = arith.addf %y, %free : tensor<f32>
  return %loss : tensor<f32>
}

// -----

graph.state @w parameter trainable : tensor<1x1x2x2xf32> = dense<1.0> : tensor<1x1x2x2xf32>
func.func @train_step(%dy: tensor<1x1x1x1xf32>, %step: !graph.step) -> tensor<f32> {
  %w = graph.read @w : tensor<1x1x2x2xf32>
  // expected-error @+1 {{'graph.max_pool_grad' op has no gradient: max pooling is differentiated once only}}
  %dx = graph.max_pool_grad %w, %dy {window = array<i64: 2, 2>, strides = array<i64: 2, 2>,
      pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32>
  %loss = graph.reduce sum %dx dims = [0, 1, 2, 3] : tensor<1x1x2x2xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
