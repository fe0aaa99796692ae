// RUN: bessemer-opt %s --graph-build-update --split-input-file --verify-diagnostics

// expected-error @+1 {{expected a function @train_step}}
module {
}

// -----

// expected-error @+1 {{expected the step block as last argument of @train_step}}
func.func @train_step(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}

// -----

// expected-error @+1 {{expected @train_step to return gradients (graph-differentiate)}}
func.func @train_step(%x: tensor<f32>, %step: !graph.step) -> tensor<f32> {
  return %x : tensor<f32>
}

// -----

// expected-error @+1 {{expected a graph.state named @w}}
func.func @train_step(%x: tensor<f32>, %step: !graph.step)
    -> (tensor<f32>, tensor<f32> {graph.gradient = @w}) {
  return %x, %x : tensor<f32>, tensor<f32>
}

// -----

// expected-error @+1 {{parameter 'w' has type 'tensor<f64>': only f32 parameters are trained}}
graph.state @w parameter trainable : tensor<f64> = dense<1.0> : tensor<f64>
func.func @train_step(%x: tensor<f32>, %g: tensor<f64>, %step: !graph.step)
    -> (tensor<f32>, tensor<f64> {graph.gradient = @w}) {
  return %x, %g : tensor<f32>, tensor<f64>
}

// -----

// expected-error @+1 {{the model has an initializer named 'updates', which is a name of training state}}
graph.state @updates parameter trainable : tensor<f32> = dense<1.0> : tensor<f32>
func.func @train_step(%x: tensor<f32>, %step: !graph.step)
    -> (tensor<f32>, tensor<f32> {graph.gradient = @updates}) {
  return %x, %x : tensor<f32>, tensor<f32>
}
