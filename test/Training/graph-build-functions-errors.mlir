// RUN: bessemer-opt %s --graph-build-functions --split-input-file --verify-diagnostics

// expected-error @+1 {{expected a function @model}}
module {
}

// -----

// expected-error @+1 {{the model has no outputs, so nothing to train}}
func.func @model(%x: tensor<4x3xf32> {graph.name = "x"}) {
  return
}

// -----

// expected-error @+1 {{output 'y' has type 'f64': the loss needs f32; convert the model to float (model.float())}}
func.func @model(%x: tensor<4x3xf64> {graph.name = "x"}) -> (tensor<4x3xf64> {graph.name = "y"}) {
  return %x : tensor<4x3xf64>
}

// -----

// expected-error @+1 {{output 'y' has type 'i64': the loss needs f32}}
func.func @model(%x: tensor<4x3xi64> {graph.name = "x"}) -> (tensor<4x3xi64> {graph.name = "y"}) {
  return %x : tensor<4x3xi64>
}

// -----

// expected-error @+1 {{output 'y': a loss over classes expects a prediction of rank 2 or more ([batch, classes]), got shape [4]}}
func.func @model(%x: tensor<4xf32> {graph.name = "x"}) -> (tensor<4xf32> {graph.name = "y"}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{the model has an input named 'labels', which is the name of the target of loss cross_entropy}}
func.func @model(%x: tensor<4x3xf32> {graph.name = "labels"}) -> (tensor<4x3xf32> {graph.name = "y"}) {
  return %x : tensor<4x3xf32>
}

// -----

graph.state @mean statistic : tensor<2xf32> = dense<0.0> : tensor<2xf32>
func.func @model(%x: tensor<1x2xf32> {graph.name = "x"}) -> (tensor<1x2xf32> {graph.name = "y"}) {
  %mean = graph.read @mean : tensor<2xf32>
  // expected-error @+1 {{batch normalization needs more than one value per channel to train, got input 'tensor<1x2xf32>'; freeze its running statistics or use a larger batch}}
  %y = graph.batch_norm %x, %mean, %mean, %mean, %mean {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64}
      : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  return %y : tensor<1x2xf32>
}
