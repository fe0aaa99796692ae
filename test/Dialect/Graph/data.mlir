// The ops that move elements parse what they print.
// RUN: bessemer-opt %s | bessemer-opt | FileCheck %s

// CHECK-LABEL: func.func @lookup
func.func @lookup(%table: tensor<8x3xf32>, %tokens: tensor<2x5xi64>, %x: tensor<4x10xf32>, %labels: tensor<4xi32>) {
  // CHECK: %[[E:.*]] = graph.gather %{{.*}}, %{{.*}} dim = 0 : (tensor<8x3xf32>, tensor<2x5xi64>) -> tensor<2x5x3xf32>
  %0 = graph.gather %table, %tokens dim = 0 : (tensor<8x3xf32>, tensor<2x5xi64>) -> tensor<2x5x3xf32>
  // CHECK: graph.gather %{{.*}}, %{{.*}} dim = 1 batch = 1 : (tensor<4x10xf32>, tensor<4xi32>) -> tensor<4xf32>
  %1 = graph.gather %x, %labels dim = 1 batch = 1 : (tensor<4x10xf32>, tensor<4xi32>) -> tensor<4xf32>
  // CHECK: graph.scatter_add %[[E]], %{{.*}} dim = 0 : (tensor<2x5x3xf32>, tensor<2x5xi64>) -> tensor<8x3xf32>
  %2 = graph.scatter_add %0, %tokens dim = 0 : (tensor<2x5x3xf32>, tensor<2x5xi64>) -> tensor<8x3xf32>
  // CHECK: graph.scatter_add %{{.*}}, %{{.*}} dim = 1 batch = 1 : (tensor<4xf32>, tensor<4xi32>) -> tensor<4x10xf32>
  %3 = graph.scatter_add %1, %labels dim = 1 batch = 1 : (tensor<4xf32>, tensor<4xi32>) -> tensor<4x10xf32>
  return
}

// CHECK-LABEL: func.func @pieces
func.func @pieces(%x: tensor<4x6xf32>) {
  // CHECK: %[[S:.*]] = graph.slice %{{.*}} offsets = [0, 2] : tensor<4x6xf32> -> tensor<4x3xf32>
  %0 = graph.slice %x offsets = [0, 2] : tensor<4x6xf32> -> tensor<4x3xf32>
  // CHECK: %[[P:.*]] = graph.pad %[[S]] low = [0, 1] : tensor<4x3xf32> -> tensor<4x6xf32>
  %1 = graph.pad %0 low = [0, 1] : tensor<4x3xf32> -> tensor<4x6xf32>
  // CHECK: graph.concat %[[S]], %[[P]] dim = 1 : (tensor<4x3xf32>, tensor<4x6xf32>) -> tensor<4x9xf32>
  %2 = graph.concat %0, %1 dim = 1 : (tensor<4x3xf32>, tensor<4x6xf32>) -> tensor<4x9xf32>
  return
}
