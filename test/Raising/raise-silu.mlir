// RUN: bessemer-opt %s --raise-silu --split-input-file | FileCheck %s

// x / (1 + exp(-x)).
// CHECK-LABEL: func.func @quotient
// CHECK: %[[Y:.*]] = graph.silu %arg0 : tensor<2x3xf32>
// CHECK: return %[[Y]]
func.func @quotient(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %one = arith.constant dense<1.0> : tensor<2x3xf32>
  %0 = arith.negf %x : tensor<2x3xf32>
  %1 = math.exp %0 : tensor<2x3xf32>
  %2 = arith.addf %one, %1 : tensor<2x3xf32>
  %3 = arith.divf %x, %2 : tensor<2x3xf32>
  return %3 : tensor<2x3xf32>
}

// -----

// x times 1 / (1 + exp(-x)), the minus as a factor; another factor stays.
// CHECK-LABEL: func.func @gated
// CHECK: %[[S:.*]] = graph.silu %arg0 : tensor<4xf32>
// CHECK: %[[Y:.*]] = arith.mulf %[[S]], %arg1
// CHECK: return %[[Y]]
func.func @gated(%x: tensor<4xf32>, %gate: tensor<4xf32>) -> tensor<4xf32> {
  %one = arith.constant dense<1.0> : tensor<4xf32>
  %minus = arith.constant dense<-1.0> : tensor<4xf32>
  %0 = arith.mulf %x, %minus : tensor<4xf32>
  %1 = math.exp %0 : tensor<4xf32>
  %2 = arith.addf %1, %one : tensor<4xf32>
  %3 = arith.divf %one, %2 : tensor<4xf32>
  %4 = arith.mulf %3, %x : tensor<4xf32>
  %5 = arith.mulf %4, %gate : tensor<4xf32>
  return %5 : tensor<4xf32>
}

// -----

// 0 - x, and an x that is a product itself.
// CHECK-LABEL: func.func @of_product
// CHECK: %[[X:.*]] = arith.mulf %arg0, %arg1
// CHECK: %[[Y:.*]] = graph.silu %[[X]] : tensor<3xf32>
// CHECK: return %[[Y]]
func.func @of_product(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  %zero = arith.constant dense<0.0> : tensor<3xf32>
  %one = arith.constant dense<1.0> : tensor<3xf32>
  %x = arith.mulf %a, %b : tensor<3xf32>
  %0 = arith.subf %zero, %x : tensor<3xf32>
  %1 = math.exp %0 : tensor<3xf32>
  %2 = arith.addf %1, %one : tensor<3xf32>
  %3 = arith.divf %x, %2 : tensor<3xf32>
  return %3 : tensor<3xf32>
}

// -----

// As the importer writes a sigmoid: by the exponential of -|x|.
// CHECK-LABEL: func.func @stable
// CHECK: %[[Y:.*]] = graph.silu %arg0 : tensor<4xf32>
// CHECK: return %[[Y]]
func.func @stable(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %one = arith.constant dense<1.0> : tensor<4xf32>
  %positive = arith.cmpf oge, %x, %zero : tensor<4xf32>
  %0 = arith.negf %x : tensor<4xf32>
  %1 = arith.select %positive, %0, %x : tensor<4xi1>, tensor<4xf32>
  %2 = math.exp %1 : tensor<4xf32>
  %3 = arith.select %positive, %one, %2 : tensor<4xi1>, tensor<4xf32>
  %4 = arith.addf %2, %one : tensor<4xf32>
  %5 = arith.divf %3, %4 : tensor<4xf32>
  %6 = arith.mulf %x, %5 : tensor<4xf32>
  return %6 : tensor<4xf32>
}

// -----

// A gate of another value, exp(x), 2 + exp(-x) and a product that is halved
// inside the exponential are other functions.
// CHECK-LABEL: func.func @no_silu
// CHECK-NOT: graph.silu
func.func @no_silu(%x: tensor<4xf32>, %z: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %one = arith.constant dense<1.0> : tensor<4xf32>
  %two = arith.constant dense<2.0> : tensor<4xf32>
  %half = arith.constant dense<-0.5> : tensor<4xf32>
  %0 = arith.negf %x : tensor<4xf32>
  %1 = math.exp %0 : tensor<4xf32>
  %2 = arith.addf %one, %1 : tensor<4xf32>
  %3 = arith.divf %z, %2 : tensor<4xf32>
  %4 = math.exp %x : tensor<4xf32>
  %5 = arith.addf %one, %4 : tensor<4xf32>
  %6 = arith.divf %x, %5 : tensor<4xf32>
  %7 = arith.addf %two, %1 : tensor<4xf32>
  %8 = arith.divf %x, %7 : tensor<4xf32>
  %9 = arith.mulf %x, %half : tensor<4xf32>
  %10 = math.exp %9 : tensor<4xf32>
  %11 = arith.addf %one, %10 : tensor<4xf32>
  %12 = arith.divf %x, %11 : tensor<4xf32>
  return %3, %6, %8, %12 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
