// RUN: bessemer-opt %s --reuse-activation --split-input-file | FileCheck %s

// The gradient of relu asks the stored activation.
// CHECK-LABEL: func.func @relu
func.func @relu(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi1>) {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  // CHECK: %[[H:.*]] = arith.maximumf %arg0
  %h = arith.maximumf %x, %zero : tensor<4xf32>
  // CHECK: arith.cmpf ole, %[[H]]
  %m = arith.cmpf ole, %x, %zero : tensor<4xf32>
  return %h, %m : tensor<4xf32>, tensor<4xi1>
}

// -----

// relu6: both questions can be put to the last clamp.
// CHECK-LABEL: func.func @relu6
func.func @relu6(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi1>, tensor<4xi1>) {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %six = arith.constant dense<6.0> : tensor<4xf32>
  %h = arith.maximumf %x, %zero : tensor<4xf32>
  // CHECK: %[[H:.*]] = arith.minimumf
  %k = arith.minimumf %h, %six : tensor<4xf32>
  // CHECK: arith.cmpf ole, %[[H]]
  %a = arith.cmpf ole, %x, %zero : tensor<4xf32>
  // CHECK: arith.cmpf oge, %[[H]]
  %b = arith.cmpf oge, %h, %six : tensor<4xf32>
  return %k, %a, %b : tensor<4xf32>, tensor<4xi1>, tensor<4xi1>
}

// -----

// max(x, 0) > -1 is always true, x > -1 is not; nor is max(x, 0) >= 0.
// CHECK-LABEL: func.func @lost
func.func @lost(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi1>, tensor<4xi1>) {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %minus = arith.constant dense<-1.0> : tensor<4xf32>
  %h = arith.maximumf %x, %zero : tensor<4xf32>
  // CHECK: arith.cmpf ogt, %arg0
  %a = arith.cmpf ogt, %x, %minus : tensor<4xf32>
  // CHECK: arith.cmpf oge, %arg0
  %b = arith.cmpf oge, %x, %zero : tensor<4xf32>
  return %h, %a, %b : tensor<4xf32>, tensor<4xi1>, tensor<4xi1>
}

// -----

// maxnumf turns a NaN into 0, so the comparison would change.
// CHECK-LABEL: func.func @nan
func.func @nan(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi1>) {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %h = arith.maxnumf %x, %zero : tensor<4xf32>
  // CHECK: arith.cmpf ole, %arg0
  %m = arith.cmpf ole, %x, %zero : tensor<4xf32>
  return %h, %m : tensor<4xf32>, tensor<4xi1>
}
