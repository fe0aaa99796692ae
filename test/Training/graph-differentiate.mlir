// RUN: bessemer-opt %s --graph-differentiate --split-input-file | FileCheck %s

// Gradients follow the loss in the order of the states. Only trainable states have one, and what a constant or a frozen
// state would need is not built.

// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: -> (tensor<f32> {graph.name = "loss"}, tensor<3x4xf32> {graph.gradient = @w},
// CHECK-SAME: tensor<3xf32> {graph.gradient = @b})
// CHECK: %[[FROZEN:.*]] = graph.read @frozen
// CHECK: %[[X:.*]] = arith.mulf %{{.*}}, %[[FROZEN]]
// CHECK: %[[ONE:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[DY:.*]] = graph.broadcast %[[ONE]]
// CHECK: %[[DB:.*]] = graph.reduce sum %[[DY]] dims = [0] : tensor<2x3xf32> -> tensor<3xf32>
// CHECK: %[[DW:.*]] = graph.contract %[[DY]], %[[X]] batch = [] x [] contract = [0] x [0]
// CHECK-NOT: graph.contract
// CHECK: return %{{.*}}, %[[DW]], %[[DB]]
graph.state @w parameter trainable : tensor<3x4xf32> = dense<1.0> : tensor<3x4xf32>
graph.state @frozen parameter : tensor<2x4xf32> = dense<1.0> : tensor<2x4xf32>
graph.state @b parameter trainable : tensor<3xf32> = dense<0.0> : tensor<3xf32>
func.func @train_step(%x: tensor<2x4xf32> {graph.name = "x"}, %step: !graph.step)
    -> (tensor<f32> {graph.name = "loss"}) {
  %w = graph.read @w : tensor<3x4xf32>
  %frozen = graph.read @frozen : tensor<2x4xf32>
  %b = graph.read @b : tensor<3xf32>
  %scaled = arith.mulf %x, %frozen : tensor<2x4xf32>
  %p = graph.contract %scaled, %w batch = [] x [] contract = [1] x [1]
      : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  %bb = graph.broadcast %b dims = [1] : tensor<3xf32> -> tensor<2x3xf32>
  %y = arith.addf %p, %bb : tensor<2x3xf32>
  %loss = graph.reduce sum %y dims = [0, 1] : tensor<2x3xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// A value that is used twice, and a state that is read twice, get sums.

// CHECK-LABEL: func.func @train_step(
// CHECK: %[[ONE:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[A:.*]] = arith.mulf %[[ONE]]
// CHECK: %[[B:.*]] = arith.mulf %[[ONE]]
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK: return %{{.*}}, %[[SUM]] : tensor<f32>, tensor<f32>
graph.state @w parameter trainable : tensor<f32> = dense<1.0> : tensor<f32>
func.func @train_step(%step: !graph.step) -> (tensor<f32> {graph.name = "loss"}) {
  %first = graph.read @w : tensor<f32>
  %second = graph.read @w : tensor<f32>
  %loss = arith.mulf %first, %second : tensor<f32>
  return %loss : tensor<f32>
}
