// Lazy AdamW: of tables that are only looked up, the update names the indices.
// RUN: bessemer-opt %s --graph-build-update="optimizer=adamw lazy-embeddings=true" | FileCheck %s

graph.state @table parameter trainable : tensor<8x5xf32> = dense<1.0> : tensor<8x5xf32>
graph.state @shared parameter trainable : tensor<8x5xf32> = dense<1.0> : tensor<8x5xf32>
graph.state @tied parameter trainable : tensor<8x5xf32> = dense<1.0> : tensor<8x5xf32>

// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: %[[I:arg[0-9]+]]: tensor<4xi64> {graph.name = "i"}, %[[J:arg[0-9]+]]: tensor<2x3xi64>
func.func @train_step(%loss: tensor<f32> {graph.name = "l"}, %i: tensor<4xi64> {graph.name = "i"},
    %j: tensor<2x3xi64> {graph.name = "j"}, %x: tensor<4x5xf32> {graph.name = "x"},
    %y: tensor<2x3x5xf32> {graph.name = "y"}, %z: tensor<8x5xf32> {graph.name = "z"}, %step: !graph.step)
    -> (tensor<f32> {graph.name = "loss"}, tensor<8x5xf32> {graph.gradient = @table},
        tensor<8x5xf32> {graph.gradient = @shared}, tensor<8x5xf32> {graph.gradient = @tied}) {
  %g = graph.scatter_add %x, %i dim = 0 : (tensor<4x5xf32>, tensor<4xi64>) -> tensor<8x5xf32>
  %h = graph.scatter_add %y, %j dim = 0 : (tensor<2x3x5xf32>, tensor<2x3xi64>) -> tensor<8x5xf32>
  %two = arith.addf %g, %h : tensor<8x5xf32>
  %more = arith.addf %g, %z : tensor<8x5xf32>
  // CHECK: graph.adamw {{.*}} touched(%[[I]]) {beta1
  // CHECK: graph.adamw {{.*}} touched(%[[I]], %[[J]]) {beta1
  // CHECK-NOT: touched
  // CHECK: graph.adamw
  // CHECK-NOT: touched
  return %loss, %g, %two, %more : tensor<f32>, tensor<8x5xf32>, tensor<8x5xf32>, tensor<8x5xf32>
}
