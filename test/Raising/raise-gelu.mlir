// RUN: bessemer-opt %s --raise-gelu --split-input-file | FileCheck %s

// As PyTorch's exporter decomposes it: x / 2 times 1 + erf(x / sqrt(2)).
// CHECK-LABEL: func.func @erf
// CHECK: %[[Y:.*]] = graph.gelu none %arg0 : tensor<2x3xf32>
// CHECK: return %[[Y]]
func.func @erf(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %half = arith.constant dense<0.5> : tensor<2x3xf32>
  %one = arith.constant dense<1.0> : tensor<2x3xf32>
  %root = arith.constant dense<1.41421354> : tensor<2x3xf32>
  %0 = arith.divf %x, %root : tensor<2x3xf32>
  %1 = math.erf %0 : tensor<2x3xf32>
  %2 = arith.addf %1, %one : tensor<2x3xf32>
  %3 = arith.mulf %x, %2 : tensor<2x3xf32>
  %4 = arith.mulf %3, %half : tensor<2x3xf32>
  return %4 : tensor<2x3xf32>
}

// -----

// Another association, 1 / sqrt(2) as a factor, and an x that is a product itself.
// CHECK-LABEL: func.func @erf_of_product
// CHECK: %[[X:.*]] = arith.mulf %arg0, %arg1
// CHECK: %[[Y:.*]] = graph.gelu none %[[X]] : tensor<3xf32>
// CHECK: return %[[Y]]
func.func @erf_of_product(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  %half = arith.constant dense<0.5> : tensor<3xf32>
  %one = arith.constant dense<1.0> : tensor<3xf32>
  %root = arith.constant dense<0.707106769> : tensor<3xf32>
  %x = arith.mulf %a, %b : tensor<3xf32>
  %0 = arith.mulf %root, %x : tensor<3xf32>
  %1 = math.erf %0 : tensor<3xf32>
  %2 = arith.addf %one, %1 : tensor<3xf32>
  %3 = arith.mulf %half, %2 : tensor<3xf32>
  %4 = arith.mulf %3, %x : tensor<3xf32>
  return %4 : tensor<3xf32>
}

// -----

// The cube as a power (Hugging Face's NewGELU).
// CHECK-LABEL: func.func @tanh
// CHECK: %[[Y:.*]] = graph.gelu tanh %arg0 : tensor<4xf32>
// CHECK: return %[[Y]]
func.func @tanh(%x: tensor<4xf32>) -> tensor<4xf32> {
  %half = arith.constant dense<0.5> : tensor<4xf32>
  %one = arith.constant dense<1.0> : tensor<4xf32>
  %three = arith.constant dense<3.0> : tensor<4xf32>
  %c = arith.constant dense<0.0447149985> : tensor<4xf32>
  %k = arith.constant dense<0.797884583> : tensor<4xf32>
  %0 = arith.mulf %half, %x : tensor<4xf32>
  %1 = math.powf %x, %three : tensor<4xf32>
  %2 = arith.mulf %c, %1 : tensor<4xf32>
  %3 = arith.addf %x, %2 : tensor<4xf32>
  %4 = arith.mulf %k, %3 : tensor<4xf32>
  %5 = math.tanh %4 : tensor<4xf32>
  %6 = arith.addf %one, %5 : tensor<4xf32>
  %7 = arith.mulf %0, %6 : tensor<4xf32>
  return %7 : tensor<4xf32>
}

// -----

// x (1 + c x^2) instead of x + c x^3; a further factor stays.
// CHECK-LABEL: func.func @tanh_nested
// CHECK: %[[G:.*]] = graph.gelu tanh %arg0 : tensor<4xf32>
// CHECK: %[[Y:.*]] = arith.mulf %[[G]], %arg1
// CHECK: return %[[Y]]
func.func @tanh_nested(%x: tensor<4xf32>, %gate: tensor<4xf32>) -> tensor<4xf32> {
  %half = arith.constant dense<0.5> : tensor<4xf32>
  %one = arith.constant dense<1.0> : tensor<4xf32>
  %c = arith.constant dense<0.0447149985> : tensor<4xf32>
  %k = arith.constant dense<0.797884583> : tensor<4xf32>
  %0 = arith.mulf %x, %x : tensor<4xf32>
  %1 = arith.mulf %0, %c : tensor<4xf32>
  %2 = arith.addf %1, %one : tensor<4xf32>
  %3 = arith.mulf %x, %2 : tensor<4xf32>
  %4 = arith.mulf %3, %k : tensor<4xf32>
  %5 = math.tanh %4 : tensor<4xf32>
  %6 = arith.addf %5, %one : tensor<4xf32>
  %7 = arith.mulf %6, %half : tensor<4xf32>
  %8 = arith.mulf %7, %x : tensor<4xf32>
  %9 = arith.mulf %8, %gate : tensor<4xf32>
  return %9 : tensor<4xf32>
}

// -----

// Another constant is another function.
// CHECK-LABEL: func.func @other
// CHECK-NOT: graph.gelu
func.func @other(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %half = arith.constant dense<0.5> : tensor<4xf32>
  %one = arith.constant dense<1.0> : tensor<4xf32>
  %root = arith.constant dense<0.7> : tensor<4xf32>
  %0 = arith.mulf %x, %root : tensor<4xf32>
  %1 = math.erf %0 : tensor<4xf32>
  %2 = arith.addf %1, %one : tensor<4xf32>
  %3 = arith.mulf %x, %2 : tensor<4xf32>
  %4 = arith.mulf %3, %half : tensor<4xf32>
  %5 = math.tanh %x : tensor<4xf32>
  %6 = arith.addf %5, %one : tensor<4xf32>
  %7 = arith.mulf %x, %6 : tensor<4xf32>
  %8 = arith.mulf %7, %half : tensor<4xf32>
  return %4, %8 : tensor<4xf32>, tensor<4xf32>
}
