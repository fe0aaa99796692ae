// A number moves from an operand of a contraction to its result, where that is
// no more work.
// RUN: bessemer-opt %s --pass-plugin=%plugin --sink-scale | FileCheck %s

// CHECK-LABEL: func.func @left
// CHECK-SAME: (%[[X:.*]]: tensor<8x16xf32>, %[[Y:.*]]: tensor<16x4xf32>)
func.func @left(%x: tensor<8x16xf32>, %y: tensor<16x4xf32>) -> tensor<8x4xf32> {
  // CHECK-DAG: %[[C:.*]] = arith.constant dense<2.500000e-01> : tensor<8x4xf32>
  // CHECK-DAG: %[[P:.*]] = graph.contract %[[X]], %[[Y]]
  // CHECK: %[[R:.*]] = arith.mulf %[[P]], %[[C]]
  // CHECK: return %[[R]]
  %c = arith.constant dense<0.25> : tensor<8x16xf32>
  %s = arith.mulf %x, %c : tensor<8x16xf32>
  %0 = graph.contract %s, %y batch = [] x [] contract = [1] x [0]
      : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// CHECK-LABEL: func.func @right
// CHECK-SAME: (%[[X:.*]]: tensor<8x16xf32>, %[[Y:.*]]: tensor<16x16xf32>)
func.func @right(%x: tensor<8x16xf32>, %y: tensor<16x16xf32>) -> tensor<8x16xf32> {
  // CHECK: %[[P:.*]] = graph.contract %[[X]], %[[Y]]
  // CHECK: arith.mulf %[[P]]
  %c = arith.constant dense<0.25> : tensor<16x16xf32>
  %s = arith.mulf %c, %y : tensor<16x16xf32>
  %0 = graph.contract %x, %s batch = [] x [] contract = [1] x [0]
      : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// The result has 64 elements, the operand 16.
// CHECK-LABEL: func.func @larger_result
func.func @larger_result(%x: tensor<8x2xf32>, %y: tensor<2x8xf32>) -> tensor<8x8xf32> {
  // CHECK: %[[S:.*]] = arith.mulf
  // CHECK: graph.contract %[[S]]
  %c = arith.constant dense<0.25> : tensor<8x2xf32>
  %s = arith.mulf %x, %c : tensor<8x2xf32>
  %0 = graph.contract %s, %y batch = [] x [] contract = [1] x [0]
      : (tensor<8x2xf32>, tensor<2x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// The scaled operand is needed anyway.
// CHECK-LABEL: func.func @two_uses
func.func @two_uses(%x: tensor<8x16xf32>, %y: tensor<16x4xf32>)
    -> (tensor<8x4xf32>, tensor<8x16xf32>) {
  // CHECK: %[[S:.*]] = arith.mulf
  // CHECK: graph.contract %[[S]]
  %c = arith.constant dense<0.25> : tensor<8x16xf32>
  %s = arith.mulf %x, %c : tensor<8x16xf32>
  %0 = graph.contract %s, %y batch = [] x [] contract = [1] x [0]
      : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  return %0, %s : tensor<8x4xf32>, tensor<8x16xf32>
}
