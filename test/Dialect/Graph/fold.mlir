// RUN: bessemer-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @identity_transpose
func.func @identity_transpose(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // CHECK-NEXT: return %arg0
  %0 = graph.transpose %x permutation = [0, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @identity_broadcast
func.func @identity_broadcast(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // CHECK-NEXT: return %arg0
  %0 = graph.broadcast %x dims = [0, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @splats
func.func @splats() -> (tensor<2x3xf32>, tensor<3x2xi64>) {
  // CHECK-DAG: %[[A:.*]] = arith.constant dense<1.500000e+00> : tensor<2x3xf32>
  // CHECK-DAG: %[[B:.*]] = arith.constant dense<7> : tensor<3x2xi64>
  // CHECK-NEXT: return %[[A]], %[[B]]
  %a = arith.constant dense<1.5> : tensor<3xf32>
  %0 = graph.broadcast %a dims = [1] : tensor<3xf32> -> tensor<2x3xf32>
  %b = arith.constant dense<7> : tensor<2x3xi64>
  %1 = graph.transpose %b permutation = [1, 0] : tensor<2x3xi64> -> tensor<3x2xi64>
  return %0, %1 : tensor<2x3xf32>, tensor<3x2xi64>
}
