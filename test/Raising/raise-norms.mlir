// RUN: bessemer-opt %s --canonicalize --cse --raise-norms --canonicalize --split-input-file | FileCheck %s

// As ONNX's layer norm is decomposed: two means, a power, a root, a division, then scale and bias.
// CHECK-LABEL: func.func @layer_norm
// CHECK-SAME: (%[[X:[a-z0-9]+]]: tensor<2x3x8xf32>, %[[S:[a-z0-9]+]]: tensor<8xf32>, %[[B:[a-z0-9]+]]: tensor<8xf32>)
// CHECK-NEXT: %[[Y:.*]], %{{.*}}, %{{.*}} = graph.layer_norm %[[X]], %[[S]] bias %[[B]] {epsilon = 9.9999997473787516E-6 : f64}
// CHECK-NEXT: return %[[Y]]
func.func @layer_norm(%x: tensor<2x3x8xf32>, %s: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<2x3x8xf32> {
  %eighth = arith.constant dense<0.125> : tensor<2x3xf32>
  %two = arith.constant dense<2.0> : tensor<2x3x8xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<2x3x1xf32>
  %0 = graph.reduce sum %x dims = [2] : tensor<2x3x8xf32> -> tensor<2x3xf32>
  %1 = arith.mulf %0, %eighth : tensor<2x3xf32>
  %2 = tensor.expand_shape %1 [[0], [1, 2]] output_shape [2, 3, 1] : tensor<2x3xf32> into tensor<2x3x1xf32>
  %3 = tensor.collapse_shape %2 [[0], [1, 2]] : tensor<2x3x1xf32> into tensor<2x3xf32>
  %4 = graph.broadcast %3 dims = [0, 1] : tensor<2x3xf32> -> tensor<2x3x8xf32>
  %5 = arith.subf %x, %4 : tensor<2x3x8xf32>
  %6 = math.powf %5, %two : tensor<2x3x8xf32>
  %7 = graph.reduce sum %6 dims = [2] : tensor<2x3x8xf32> -> tensor<2x3xf32>
  %8 = arith.mulf %7, %eighth : tensor<2x3xf32>
  %9 = tensor.expand_shape %8 [[0], [1, 2]] output_shape [2, 3, 1] : tensor<2x3xf32> into tensor<2x3x1xf32>
  %10 = arith.addf %9, %eps : tensor<2x3x1xf32>
  %11 = math.sqrt %10 : tensor<2x3x1xf32>
  %12 = tensor.collapse_shape %11 [[0], [1, 2]] : tensor<2x3x1xf32> into tensor<2x3xf32>
  %13 = graph.broadcast %12 dims = [0, 1] : tensor<2x3xf32> -> tensor<2x3x8xf32>
  %14 = arith.divf %5, %13 : tensor<2x3x8xf32>
  %15 = graph.broadcast %s dims = [2] : tensor<8xf32> -> tensor<2x3x8xf32>
  %16 = arith.mulf %14, %15 : tensor<2x3x8xf32>
  %17 = graph.broadcast %b dims = [2] : tensor<8xf32> -> tensor<2x3x8xf32>
  %18 = arith.addf %16, %17 : tensor<2x3x8xf32>
  return %18 : tensor<2x3x8xf32>
}

// -----

// LLaMA's: the reciprocal of a root, the weight on the left.
// CHECK-LABEL: func.func @rms_norm
// CHECK-SAME: (%[[X:[a-z0-9]+]]: tensor<4x8xf32>, %[[S:[a-z0-9]+]]: tensor<8xf32>)
// CHECK-NEXT: %[[Y:.*]], %{{.*}} = graph.rms_norm %[[X]], %[[S]]
// CHECK-NEXT: return %[[Y]]
func.func @rms_norm(%x: tensor<4x8xf32>, %s: tensor<8xf32>) -> tensor<4x8xf32> {
  %count = arith.constant dense<8.0> : tensor<4xf32>
  %eps = arith.constant dense<1.0e-6> : tensor<4xf32>
  %one = arith.constant dense<1.0> : tensor<4xf32>
  %0 = arith.mulf %x, %x : tensor<4x8xf32>
  %1 = graph.reduce sum %0 dims = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %2 = arith.divf %1, %count : tensor<4xf32>
  %3 = arith.addf %eps, %2 : tensor<4xf32>
  %4 = math.sqrt %3 : tensor<4xf32>
  %5 = arith.divf %one, %4 : tensor<4xf32>
  %6 = graph.broadcast %5 dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %7 = arith.mulf %x, %6 : tensor<4x8xf32>
  %8 = graph.broadcast %s dims = [1] : tensor<8xf32> -> tensor<4x8xf32>
  %9 = arith.mulf %8, %7 : tensor<4x8xf32>
  return %9 : tensor<4x8xf32>
}

// -----

// Without a scale it is one of ones.
// CHECK-LABEL: func.func @plain
// CHECK: %[[ONES:.*]] = arith.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK: graph.rms_norm %arg0, %[[ONES]]
func.func @plain(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %count = arith.constant dense<8.0> : tensor<4xf32>
  %eps = arith.constant dense<1.0e-6> : tensor<4xf32>
  %0 = arith.mulf %x, %x : tensor<4x8xf32>
  %1 = graph.reduce sum %0 dims = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %2 = arith.divf %1, %count : tensor<4xf32>
  %3 = arith.addf %2, %eps : tensor<4xf32>
  %4 = math.rsqrt %3 : tensor<4xf32>
  %5 = graph.broadcast %4 dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %6 = arith.mulf %x, %5 : tensor<4x8xf32>
  return %6 : tensor<4x8xf32>
}

// -----

// A sum over another number than that of the elements, and a mean over the first dimension, are no norms.
// CHECK-LABEL: func.func @others
// CHECK-NOT: graph.rms_norm
func.func @others(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %seven = arith.constant dense<7.0> : tensor<4xf32>
  %four = arith.constant dense<4.0> : tensor<8xf32>
  %eps = arith.constant dense<1.0e-6> : tensor<4xf32>
  %eps8 = arith.constant dense<1.0e-6> : tensor<8xf32>
  %0 = arith.mulf %x, %x : tensor<4x8xf32>
  %1 = graph.reduce sum %0 dims = [1] : tensor<4x8xf32> -> tensor<4xf32>
  %2 = arith.divf %1, %seven : tensor<4xf32>
  %3 = arith.addf %2, %eps : tensor<4xf32>
  %4 = math.rsqrt %3 : tensor<4xf32>
  %5 = graph.broadcast %4 dims = [0] : tensor<4xf32> -> tensor<4x8xf32>
  %6 = arith.mulf %x, %5 : tensor<4x8xf32>
  %7 = graph.reduce sum %0 dims = [0] : tensor<4x8xf32> -> tensor<8xf32>
  %8 = arith.divf %7, %four : tensor<8xf32>
  %9 = arith.addf %8, %eps8 : tensor<8xf32>
  %10 = math.rsqrt %9 : tensor<8xf32>
  %11 = graph.broadcast %10 dims = [1] : tensor<8xf32> -> tensor<4x8xf32>
  %12 = arith.mulf %x, %11 : tensor<4x8xf32>
  return %6, %12 : tensor<4x8xf32>, tensor<4x8xf32>
}
