// Canonical forms of the ops that move elements.
// RUN: bessemer-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @whole
func.func @whole(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
  // CHECK-NEXT: return %arg0, %arg0, %arg0
  %0 = graph.slice %x offsets = [0, 0] : tensor<4x6xf32> -> tensor<4x6xf32>
  %1 = graph.pad %x low = [0, 0] : tensor<4x6xf32> -> tensor<4x6xf32>
  %2 = graph.concat %x dim = 0 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0, %1, %2 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
}

// Padding of ones is no constant, of zeros it is.
// CHECK-LABEL: func.func @splats
func.func @splats() -> (tensor<2xf32>, tensor<6xf32>, tensor<6xf32>) {
  // CHECK-DAG: %[[ONES:.*]] = arith.constant dense<1.000000e+00> : tensor<4xf32>
  // CHECK-DAG: %[[TWO:.*]] = arith.constant dense<1.000000e+00> : tensor<2xf32>
  // CHECK-DAG: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<6xf32>
  // CHECK: %[[P:.*]] = graph.pad %[[ONES]]
  // CHECK: return %[[TWO]], %[[P]], %[[ZEROS]]
  %one = arith.constant dense<1.0> : tensor<4xf32>
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %0 = graph.slice %one offsets = [1] : tensor<4xf32> -> tensor<2xf32>
  %1 = graph.pad %one low = [1] : tensor<4xf32> -> tensor<6xf32>
  %2 = graph.pad %zero low = [1] : tensor<4xf32> -> tensor<6xf32>
  return %0, %1, %2 : tensor<2xf32>, tensor<6xf32>, tensor<6xf32>
}

// CHECK-LABEL: func.func @nested
func.func @nested(%x: tensor<8xf32>) -> (tensor<2xf32>, tensor<12xf32>, tensor<3xf32>) {
  // 1 + 2 = 3
  // CHECK-DAG: %[[S:.*]] = graph.slice %arg0 offsets = [3] : tensor<8xf32> -> tensor<2xf32>
  // 1 + 2 = 3
  // CHECK-DAG: %[[P:.*]] = graph.pad %arg0 low = [3] : tensor<8xf32> -> tensor<12xf32>
  // 4 - 1 = 3
  // CHECK-DAG: %[[T:.*]] = graph.slice %arg0 offsets = [3] : tensor<8xf32> -> tensor<3xf32>
  // CHECK: return %[[S]], %[[P]], %[[T]]
  %0 = graph.slice %x offsets = [1] : tensor<8xf32> -> tensor<5xf32>
  %1 = graph.slice %0 offsets = [2] : tensor<5xf32> -> tensor<2xf32>
  %2 = graph.pad %x low = [1] : tensor<8xf32> -> tensor<10xf32>
  %3 = graph.pad %2 low = [2] : tensor<10xf32> -> tensor<12xf32>
  %4 = graph.slice %2 offsets = [4] : tensor<10xf32> -> tensor<3xf32>
  return %1, %3, %4 : tensor<2xf32>, tensor<12xf32>, tensor<3xf32>
}

// A slice that holds padding stays.
// CHECK-LABEL: func.func @slice_of_padding
func.func @slice_of_padding(%x: tensor<8xf32>) -> tensor<3xf32> {
  // CHECK: graph.pad
  // CHECK: graph.slice
  %0 = graph.pad %x low = [1] : tensor<8xf32> -> tensor<10xf32>
  %1 = graph.slice %0 offsets = [0] : tensor<10xf32> -> tensor<3xf32>
  return %1 : tensor<3xf32>
}

// CHECK-LABEL: func.func @concat
func.func @concat(%x: tensor<2x8xf32>, %y: tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2x8xf32>, tensor<2x14xf32>) {
  // Element 9 of the concatenation is element 1 of %y.
  // CHECK-DAG: %[[S:.*]] = graph.slice %arg1 offsets = [0, 1] : tensor<2x3xf32> -> tensor<2x2xf32>
  // CHECK-DAG: %[[C:.*]] = graph.concat %arg0, %arg1, %arg1 dim = 1
  // CHECK: return %[[S]], %arg0, %[[C]]
  %0 = graph.concat %x, %y dim = 1 : (tensor<2x8xf32>, tensor<2x3xf32>) -> tensor<2x11xf32>
  %1 = graph.slice %0 offsets = [0, 9] : tensor<2x11xf32> -> tensor<2x2xf32>
  %2 = graph.slice %x offsets = [0, 0] : tensor<2x8xf32> -> tensor<2x5xf32>
  %3 = graph.slice %x offsets = [0, 5] : tensor<2x8xf32> -> tensor<2x3xf32>
  %4 = graph.concat %2, %3 dim = 1 : (tensor<2x5xf32>, tensor<2x3xf32>) -> tensor<2x8xf32>
  %5 = graph.concat %0, %y dim = 1 : (tensor<2x11xf32>, tensor<2x3xf32>) -> tensor<2x14xf32>
  return %1, %4, %5 : tensor<2x2xf32>, tensor<2x8xf32>, tensor<2x14xf32>
}

// The gradient of a split into three.
// CHECK-LABEL: func.func @sum_of_pads
func.func @sum_of_pads(%a: tensor<2x3xf32>, %b: tensor<2x2xf32>, %c: tensor<2x4xf32>) -> tensor<2x9xf32> {
  // CHECK-NEXT: %[[C:.*]] = graph.concat %arg0, %arg1, %arg2 dim = 1
  // CHECK-NEXT: return %[[C]]
  %0 = graph.pad %c low = [0, 5] : tensor<2x4xf32> -> tensor<2x9xf32>
  %1 = graph.pad %a low = [0, 0] : tensor<2x3xf32> -> tensor<2x9xf32>
  %2 = arith.addf %0, %1 : tensor<2x9xf32>
  %3 = graph.pad %b low = [0, 3] : tensor<2x2xf32> -> tensor<2x9xf32>
  %4 = arith.addf %2, %3 : tensor<2x9xf32>
  return %4 : tensor<2x9xf32>
}

// Pieces that overlap, leave a gap, or lie along several dimensions are added.
// CHECK-LABEL: func.func @other_sums
func.func @other_sums(%a: tensor<2x5xf32>, %b: tensor<2x4xf32>, %c: tensor<1x5xf32>) -> (tensor<2x8xf32>, tensor<2x10xf32>, tensor<2x8xf32>) {
  // CHECK-NOT: graph.concat
  %0 = graph.pad %a low = [0, 0] : tensor<2x5xf32> -> tensor<2x8xf32>
  %1 = graph.pad %b low = [0, 4] : tensor<2x4xf32> -> tensor<2x8xf32>
  %2 = arith.addf %0, %1 : tensor<2x8xf32>
  %3 = graph.pad %a low = [0, 0] : tensor<2x5xf32> -> tensor<2x10xf32>
  %4 = graph.pad %b low = [0, 6] : tensor<2x4xf32> -> tensor<2x10xf32>
  %5 = arith.addf %3, %4 : tensor<2x10xf32>
  %6 = graph.pad %c low = [0, 0] : tensor<1x5xf32> -> tensor<2x8xf32>
  %7 = arith.addf %0, %6 : tensor<2x8xf32>
  return %2, %5, %7 : tensor<2x8xf32>, tensor<2x10xf32>, tensor<2x8xf32>
}
