// RUN: bessemer-opt %s --split-input-file --verify-diagnostics --kern-to-exec

func.func @graph_op(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'arith.negf' op expected an op of the kern level}}
  %y = arith.negf %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

graph.state @s statistic : tensor<4xf32> = dense<0.0> : tensor<4xf32>
func.func @twice(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  graph.write @s, %x : tensor<4xf32>
  // expected-error @below {{expected at most one write of state 's' in a function}}
  graph.write @s, %y : tensor<4xf32>
  return
}

// -----

// expected-error @below {{expected arguments of tensor or step type, got 'f32'}}
func.func @scalar(%x: f32) {
  return
}
