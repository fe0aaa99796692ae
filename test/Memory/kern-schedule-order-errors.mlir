// RUN: bessemer-opt %s --split-input-file --verify-diagnostics --kern-schedule-order

func.func @graph_op(%x: tensor<4xf32>) -> tensor<f32> {
  // expected-error @below {{'graph.reduce' op expected an op of the kern level}}
  %y = graph.reduce sum %x dims = [0] : tensor<4xf32> -> tensor<f32>
  return %y : tensor<f32>
}

// -----

// @model and private functions are not programs and may hold anything.
func.func @model(%x: tensor<4xf32>) -> tensor<f32> {
  %y = graph.reduce sum %x dims = [0] : tensor<4xf32> -> tensor<f32>
  return %y : tensor<f32>
}
