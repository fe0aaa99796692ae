// Ops that move elements: maps that read shifted, kern.gather, kern.scatter.
// RUN: bessemer-opt %s --graph-to-kern --split-input-file | FileCheck %s

// CHECK: #[[SHIFT:.*]] = affine_map<(d0, d1) -> (d0, d1 + 2)>
// CHECK-LABEL: func.func @slice
func.func @slice(%x: tensor<4x6xf32>) -> tensor<4x3xf32> {
  // CHECK-NEXT: kern.map(%arg0) bounds = [4, 3] maps = [#[[SHIFT]], #{{.*}}]
  %0 = graph.slice %x offsets = [0, 2] : tensor<4x6xf32> -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

// CHECK: #[[SHIFT:.*]] = affine_map<(d0, d1) -> (d0, d1 - 2)>
// CHECK-LABEL: func.func @pad
func.func @pad(%x: tensor<4x3xf32>) -> tensor<4x6xf32> {
  // CHECK-NEXT: kern.map(%arg0) bounds = [4, 6] maps = [#[[SHIFT]], #{{.*}}]
  %0 = graph.pad %x low = [0, 2] : tensor<4x3xf32> -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----

// A splat constant is no input.
// CHECK-DAG: #[[ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[SHIFT:.*]] = affine_map<(d0, d1) -> (d0, d1 - 5)>
// CHECK-LABEL: func.func @concat
func.func @concat(%x: tensor<4x3xf32>, %y: tensor<4x1xf32>) -> tensor<4x6xf32> {
  // CHECK: kern.map(%arg0, %arg1) bounds = [4, 6] maps = [#[[ID]], #[[SHIFT]], #[[ID]]] {
  // CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %[[Y:.*]]: f32):
  // CHECK-DAG: %[[I:.*]] = kern.index 1
  // CHECK-DAG: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
  // 3 + 2 = 5
  // CHECK: %[[C5:.*]] = arith.constant 5 : i64
  // CHECK: %[[B5:.*]] = arith.cmpi slt, %[[I]], %[[C5]] : i64
  // CHECK: %[[S:.*]] = arith.select %[[B5]], %[[ONE]], %[[Y]] : f32
  // CHECK: %[[C3:.*]] = arith.constant 3 : i64
  // CHECK: %[[B3:.*]] = arith.cmpi slt, %[[I]], %[[C3]] : i64
  // CHECK: %[[R:.*]] = arith.select %[[B3]], %[[X]], %[[S]] : f32
  // CHECK: kern.yield %[[R]]
  %one = arith.constant dense<1.0> : tensor<4x2xf32>
  %0 = graph.concat %x, %one, %y dim = 1 : (tensor<4x3xf32>, tensor<4x2xf32>, tensor<4x1xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----

// Views [batch, outer, k, inner] and [batch, j].
// CHECK-LABEL: func.func @lookup
func.func @lookup(%t: tensor<2x3x8x5x4xf32>, %i: tensor<2x6x7xi64>) -> (tensor<2x3x6x7x5x4xf32>, tensor<2x3x8x5x4xf32>) {
  // 5 * 4 = 20, 6 * 7 = 42
  // CHECK-DAG: %[[T:.*]] = tensor.collapse_shape %arg0 {{.*}} into tensor<2x3x8x20xf32>
  // CHECK-DAG: %[[I:.*]] = tensor.collapse_shape %arg1 {{.*}} into tensor<2x42xi64>
  // CHECK: kern.gather %[[T]], %[[I]] : (tensor<2x3x8x20xf32>, tensor<2x42xi64>) -> tensor<2x3x42x20xf32>
  %0 = graph.gather %t, %i dim = 2 batch = 1 : (tensor<2x3x8x5x4xf32>, tensor<2x6x7xi64>) -> tensor<2x3x6x7x5x4xf32>
  // CHECK: kern.scatter %{{.*}}, %{{.*}} : (tensor<2x3x42x20xf32>, tensor<2x42xi64>) -> tensor<2x3x8x20xf32>
  %1 = graph.scatter_add %0, %i dim = 2 batch = 1 : (tensor<2x3x6x7x5x4xf32>, tensor<2x6x7xi64>) -> tensor<2x3x8x5x4xf32>
  return %0, %1 : tensor<2x3x6x7x5x4xf32>, tensor<2x3x8x5x4xf32>
}
