// RUN: bessemer-opt %s --graph-verify --split-input-file --verify-diagnostics

graph.state @w parameter trainable : tensor<f32> = dense<1.0> : tensor<f32>
func.func @train_step(%x: tensor<f32> {graph.name = "x"}, %step: !graph.step) -> (tensor<f32> {graph.name = "loss"}) {
  graph.write @w, %x : tensor<f32>
  return %x : tensor<f32>
}
func.func @predict(%x: tensor<f32> {graph.name = "x"}, %step: !graph.step) -> (tensor<f32> {graph.name = "y"}) {
  return %x : tensor<f32>
}

// -----

// expected-error @+1 {{expected functions predict, eval_step and train_step}}
func.func @model(%x: tensor<f32> {graph.name = "x"}) -> (tensor<f32> {graph.name = "y"}) {
  return %x : tensor<f32>
}

// -----

// expected-error @+1 {{expected the step block as last argument}}
func.func @predict(%x: tensor<f32> {graph.name = "x"}) -> (tensor<f32> {graph.name = "y"}) {
  return %x : tensor<f32>
}

// -----

// expected-error @+1 {{expected a name of argument 0}}
func.func @predict(%x: tensor<f32>, %step: !graph.step) -> (tensor<f32> {graph.name = "y"}) {
  return %x : tensor<f32>
}

// -----

// expected-error @+1 {{expected a name of result 0}}
func.func @predict(%x: tensor<f32> {graph.name = "x"}, %step: !graph.step) -> tensor<f32> {
  return %x : tensor<f32>
}

// -----

graph.state @w parameter trainable : tensor<f32> = dense<1.0> : tensor<f32>
// expected-error @+1 {{expected no gradient as result 1}}
func.func @train_step(%x: tensor<f32> {graph.name = "x"}, %step: !graph.step)
    -> (tensor<f32> {graph.name = "loss"}, tensor<f32> {graph.gradient = @w}) {
  return %x, %x : tensor<f32>, tensor<f32>
}

// -----

func.func @predict(%x: tensor<4xf32> {graph.name = "x"}, %step: !graph.step) -> (tensor<2xf32> {graph.name = "y"}) {
  // expected-error @+1 {{is not of the graph level}}
  %y = tensor.extract_slice %x[0] [2] [1] : tensor<4xf32> to tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

func.func @eval_step(%x: tensor<4xf32> {graph.name = "x"}, %step: !graph.step) -> (tensor<4xf32> {graph.name = "y"}) {
  // expected-error @+1 {{expected only in @train_step, got @eval_step}}
  %y = graph.dropout %x, %step {ratio = 0.5 : f64, id = 0 : i64} : (tensor<4xf32>, !graph.step) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

graph.state @w parameter trainable : tensor<f32> = dense<1.0> : tensor<f32>
func.func @train_step(%x: tensor<f32> {graph.name = "x"}, %step: !graph.step) -> (tensor<f32> {graph.name = "loss"}) {
  graph.write @w, %x : tensor<f32>
  // expected-error @+1 {{expected one write of @w per function}}
  graph.write @w, %x : tensor<f32>
  return %x : tensor<f32>
}

// -----

module {
  // expected-error @+1 {{expected only states and functions in the module}}
  module @nested {
  }
}
