// RUN: bessemer-opt %s --absorb-transpose --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @operands
func.func @operands(%x: tensor<32x784xf32>, %w: tensor<784x256xf32>) -> tensor<32x256xf32> {
  // CHECK-NEXT: %[[Y:.*]] = graph.contract %arg0, %arg1 batch = [] x [] contract = [1] x [0]
  // CHECK-NEXT: return %[[Y]]
  %t = graph.transpose %w permutation = [1, 0] : tensor<784x256xf32> -> tensor<256x784xf32>
  %y = graph.contract %x, %t batch = [] x [] contract = [1] x [1] : (tensor<32x784xf32>, tensor<256x784xf32>) -> tensor<32x256xf32>
  return %y : tensor<32x256xf32>
}

// -----

// A batched operand with heads in the middle: the batch dimension moves along.
// CHECK-LABEL: func.func @batch
func.func @batch(%x: tensor<8x4x6xf32>, %y: tensor<4x6x5xf32>) -> tensor<4x8x5xf32> {
  // CHECK-NEXT: graph.contract %arg0, %arg1 batch = [1] x [0] contract = [2] x [1]
  %t = graph.transpose %x permutation = [1, 0, 2] : tensor<8x4x6xf32> -> tensor<4x8x6xf32>
  %z = graph.contract %t, %y batch = [0] x [0] contract = [2] x [1] : (tensor<4x8x6xf32>, tensor<4x6x5xf32>) -> tensor<4x8x5xf32>
  return %z : tensor<4x8x5xf32>
}

// -----

// Two free dimensions change places: the result would be another one.
// CHECK-LABEL: func.func @free_order
func.func @free_order(%x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>) -> tensor<3x2x5xf32> {
  // CHECK-NEXT: graph.transpose
  %t = graph.transpose %x permutation = [1, 0, 2] : tensor<2x3x4xf32> -> tensor<3x2x4xf32>
  %y = graph.contract %t, %w batch = [] x [] contract = [2] x [0] : (tensor<3x2x4xf32>, tensor<4x5xf32>) -> tensor<3x2x5xf32>
  return %y : tensor<3x2x5xf32>
}

// -----

// A weight gradient in the weight's own order.
// CHECK-LABEL: func.func @result
func.func @result(%x: tensor<32x20xf32>, %dy: tensor<32x64xf32>) -> tensor<64x20xf32> {
  // CHECK-NEXT: %[[Y:.*]] = graph.contract %arg1, %arg0 batch = [] x [] contract = [0] x [0]
  // CHECK-NEXT: return %[[Y]]
  %d = graph.contract %x, %dy batch = [] x [] contract = [0] x [0] : (tensor<32x20xf32>, tensor<32x64xf32>) -> tensor<20x64xf32>
  %t = graph.transpose %d permutation = [1, 0] : tensor<20x64xf32> -> tensor<64x20xf32>
  return %t : tensor<64x20xf32>
}

// -----

// The product itself is used too: it stays.
// CHECK-LABEL: func.func @result_used
func.func @result_used(%x: tensor<32x20xf32>, %dy: tensor<32x64xf32>) -> (tensor<20x64xf32>, tensor<64x20xf32>) {
  // CHECK: graph.contract %arg0, %arg1
  // CHECK: graph.transpose
  %d = graph.contract %x, %dy batch = [] x [] contract = [0] x [0] : (tensor<32x20xf32>, tensor<32x64xf32>) -> tensor<20x64xf32>
  %t = graph.transpose %d permutation = [1, 0] : tensor<20x64xf32> -> tensor<64x20xf32>
  return %d, %t : tensor<20x64xf32>, tensor<64x20xf32>
}

// -----

// CHECK-LABEL: func.func @reduce
func.func @reduce(%x: tensor<2x3x4xf32>) -> tensor<3xf32> {
  // CHECK-NEXT: graph.reduce sum %arg0 dims = [0, 2]
  %t = graph.transpose %x permutation = [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %s = graph.reduce sum %t dims = [1, 2] : tensor<3x4x2xf32> -> tensor<3xf32>
  return %s : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @twice
func.func @twice(%x: tensor<2x3x4xf32>) -> tensor<4x3x2xf32> {
  // CHECK-NEXT: graph.transpose %arg0 permutation = [2, 1, 0]
  // CHECK-NEXT: return
  %0 = graph.transpose %x permutation = [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %1 = graph.transpose %0 permutation = [1, 0, 2] : tensor<3x4x2xf32> -> tensor<4x3x2xf32>
  return %1 : tensor<4x3x2xf32>
}

// -----

// A scaled transpose, as attention scales its keys: the product reads it.
// CHECK-LABEL: func.func @scaled
func.func @scaled(%q: tensor<5x3xf32>, %k: tensor<4x3xf32>) -> tensor<5x4xf32> {
  // CHECK: %[[C:.*]] = arith.constant dense<5.000000e-01> : tensor<4x3xf32>
  // CHECK: %[[S:.*]] = arith.mulf %arg1, %[[C]] : tensor<4x3xf32>
  // CHECK: graph.contract %arg0, %[[S]] batch = [] x [] contract = [1] x [1]
  %half = arith.constant dense<0.5> : tensor<3x4xf32>
  %0 = graph.transpose %k permutation = [1, 0] : tensor<4x3xf32> -> tensor<3x4xf32>
  %1 = arith.mulf %0, %half : tensor<3x4xf32>
  %2 = graph.contract %q, %1 batch = [] x [] contract = [1] x [0] : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  return %2 : tensor<5x4xf32>
}
