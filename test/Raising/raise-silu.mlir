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

// A sigmoid that others read stays.
// CHECK-LABEL: func.func @sigmoid
// CHECK-DAG: %[[Y:.*]] = graph.silu %arg0 : tensor<4xf32>
// CHECK-DAG: %[[S:.*]] = graph.sigmoid %arg0 : tensor<4xf32>
// CHECK: return %[[Y]], %[[S]]
func.func @sigmoid(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = graph.sigmoid %x : tensor<4xf32>
  %1 = arith.mulf %0, %x : tensor<4xf32>
  return %1, %0 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Gates of other values, exp(x), 2 + exp(-x) and a product that is halved
// inside the exponential are other functions.
// CHECK-LABEL: func.func @no_silu
// CHECK-NOT: graph.silu
func.func @no_silu(%x: tensor<4xf32>, %z: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
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
  %13 = graph.sigmoid %z : tensor<4xf32>
  %14 = arith.mulf %x, %13 : tensor<4xf32>
  return %3, %6, %8, %12, %14 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
