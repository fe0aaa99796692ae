// RUN: bessemer-opt %s --raise-dropout --canonicalize --split-input-file | FileCheck %s

// PyTorch's in-place dropout: x * (float(u < 0.75) / 0.75).
// CHECK-LABEL: func.func @scaled_mask
// CHECK: %[[ONES:.*]] = arith.constant dense<1.000000e+00>
// CHECK: %[[D:.*]] = graph.dropout %[[ONES]], %arg1 {id = 4 : i64, ratio = 2.500000e-01 : f64}
// CHECK: %[[Y:.*]] = arith.mulf %arg0, %[[D]]
// CHECK: return %[[Y]]
func.func @scaled_mask(%x: tensor<2x3xf32>, %step: !graph.step) -> tensor<2x3xf32> {
  %kept = arith.constant dense<0.75> : tensor<2x3xf32>
  %u = graph.random %step id = 4 : tensor<2x3xf32>
  %c = arith.cmpf olt, %u, %kept : tensor<2x3xf32>
  %m = arith.uitofp %c : tensor<2x3xi1> to tensor<2x3xf32>
  %s = arith.divf %m, %kept : tensor<2x3xf32>
  %y = arith.mulf %x, %s : tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// The product is scaled; u > 0.25 keeps three quarters.
// CHECK-LABEL: func.func @scaled_product
// CHECK: %[[D:.*]] = graph.dropout %arg0, %arg1 {id = 1 : i64, ratio = 2.500000e-01 : f64}
// CHECK: return %[[D]]
func.func @scaled_product(%x: tensor<2x3xf32>, %step: !graph.step) -> tensor<2x3xf32> {
  %dropped = arith.constant dense<0.25> : tensor<2x3xf32>
  %inverse = arith.constant dense<1.33333337> : tensor<2x3xf32>
  %u = graph.random %step id = 1 : tensor<2x3xf32>
  %c = arith.cmpf ogt, %u, %dropped : tensor<2x3xf32>
  %m = arith.uitofp %c : tensor<2x3xi1> to tensor<2x3xf32>
  %p = arith.mulf %x, %m : tensor<2x3xf32>
  %y = arith.mulf %p, %inverse : tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// Stochastic depth: a number per row, x scaled, the mask by floor(u + 0.5).
// CHECK-LABEL: func.func @stochastic_depth
// CHECK: %[[ONES:.*]] = arith.constant dense<1.000000e+00> : tensor<2x1xf32>
// CHECK: %[[D:.*]] = graph.dropout %[[ONES]], %arg1 {id = 0 : i64, ratio = 5.000000e-01 : f64}
// CHECK: %[[R:.*]] = tensor.collapse_shape %[[D]]
// CHECK: %[[B:.*]] = graph.broadcast %[[R]]
// CHECK: %[[Y:.*]] = arith.mulf %arg0, %[[B]]
// CHECK: return %[[Y]]
func.func @stochastic_depth(%x: tensor<2x3xf32>, %step: !graph.step) -> tensor<2x3xf32> {
  %kept = arith.constant dense<0.5> : tensor<2x1xf32>
  %share = arith.constant dense<0.5> : tensor<2x3xf32>
  %u = graph.random %step id = 0 : tensor<2x1xf32>
  %s = arith.addf %kept, %u : tensor<2x1xf32>
  %m = math.floor %s : tensor<2x1xf32>
  %flat = tensor.collapse_shape %m [[0, 1]] : tensor<2x1xf32> into tensor<2xf32>
  %wide = graph.broadcast %flat dims = [0] : tensor<2xf32> -> tensor<2x3xf32>
  %scaled = arith.divf %x, %share : tensor<2x3xf32>
  %y = arith.mulf %scaled, %wide : tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// One mask for two tensors, the second of which is what the first left.
// CHECK-LABEL: func.func @shared
// CHECK: %[[D:.*]] = graph.dropout
// CHECK: %[[A:.*]] = arith.mulf %arg0, %[[D]]
// CHECK: %[[B:.*]] = arith.mulf %[[A]], %[[D]]
// CHECK: return %[[A]], %[[B]]
func.func @shared(%x: tensor<3xf32>, %step: !graph.step) -> (tensor<3xf32>, tensor<3xf32>) {
  %kept = arith.constant dense<0.75> : tensor<3xf32>
  %u = graph.random %step id = 0 : tensor<3xf32>
  %c = arith.cmpf olt, %u, %kept : tensor<3xf32>
  %m = arith.uitofp %c : tensor<3xi1> to tensor<3xf32>
  %p = arith.mulf %x, %m : tensor<3xf32>
  %a = arith.divf %p, %kept : tensor<3xf32>
  %q = arith.mulf %a, %m : tensor<3xf32>
  %b = arith.divf %q, %kept : tensor<3xf32>
  return %a, %b : tensor<3xf32>, tensor<3xf32>
}

// -----

// A mask that somebody uses as it is, another scale, and noise: no dropout.
// CHECK-LABEL: func.func @others
// CHECK-NOT: graph.dropout
// CHECK: return
func.func @others(%x: tensor<3xf32>, %step: !graph.step) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %kept = arith.constant dense<0.75> : tensor<3xf32>
  %half = arith.constant dense<0.5> : tensor<3xf32>
  %u = graph.random %step id = 0 : tensor<3xf32>
  %c = arith.cmpf olt, %u, %kept : tensor<3xf32>
  %m = arith.uitofp %c : tensor<3xi1> to tensor<3xf32>
  %a = arith.mulf %x, %m : tensor<3xf32>
  %v = graph.random %step id = 1 : tensor<3xf32>
  %d = arith.cmpf olt, %v, %kept : tensor<3xf32>
  %n = arith.uitofp %d : tensor<3xi1> to tensor<3xf32>
  %b = arith.divf %n, %half : tensor<3xf32>
  %w = graph.random %step id = 2 : tensor<3xf32>
  %e = arith.addf %x, %w : tensor<3xf32>
  return %a, %b, %e : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}
