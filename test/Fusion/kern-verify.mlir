// RUN: bessemer-opt %s --kern-verify --verify-diagnostics --split-input-file

// All that may remain.
graph.state @w parameter : tensor<2x3xf32> = dense<0.0> : tensor<2x3xf32>
func.func @legal(%step: !graph.step) -> tensor<6xf32> {
  %w = graph.read @w : tensor<2x3xf32>
  %lr = graph.step_value learning_rate %step : tensor<f32>
  %c = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %y = kern.map(%w, %lr, %c) bounds = [2, 3] maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>,
      affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] {
  ^bb0(%a: f32, %l: f32, %b: f32):
    %s = arith.mulf %a, %l : f32
    kern.yield %s : f32
  } : (tensor<2x3xf32>, tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  graph.write @w, %y : tensor<2x3xf32>
  %f = tensor.collapse_shape %y [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
  return %f : tensor<6xf32>
}

// -----

func.func @graph(%x: tensor<2x3xf32>) -> tensor<3xf32> {
  // expected-error @+1 {{'graph.reduce' op may not exist after the kern level is complete: expected a kernel, a reshape, a constant, or a state or step op}}
  %0 = graph.reduce sum %x dims = [0] : tensor<2x3xf32> -> tensor<3xf32>
  // expected-error @+1 {{'arith.negf' op may not exist}}
  %1 = arith.negf %0 : tensor<3xf32>
  return %1 : tensor<3xf32>
}
