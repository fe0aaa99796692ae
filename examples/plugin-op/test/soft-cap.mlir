// The op parses what it prints; it is differentiated; fusion makes one kernel
// of it, with its neighbours inside.
// RUN: bessemer-opt %s --pass-plugin=%plugin | bessemer-opt --pass-plugin=%plugin | FileCheck %s
// RUN: bessemer-opt %s --pass-plugin=%plugin --graph-differentiate | FileCheck %s --check-prefix=GRADIENT
// RUN: bessemer-opt %s --pass-plugin=%plugin --pass-pipeline='builtin.module(func.func(graph-to-kern,kern-fuse))' | FileCheck %s --check-prefix=KERN

graph.state @w parameter trainable : tensor<8x4xf32> = dense<0.5> : tensor<8x4xf32>

// CHECK-LABEL: func.func @train_step
// GRADIENT-LABEL: func.func @train_step
// KERN-LABEL: func.func @train_step
func.func @train_step(%step: !graph.step) -> (tensor<f32> {graph.name = "loss"}) {
  // CHECK: acme.soft_cap %{{.*}} cap 3.000000e+01 : tensor<8x4xf32>
  // GRADIENT: %[[Y:.*]] = acme.soft_cap
  // 1 / 30 and the square of y / 30.
  // GRADIENT-DAG: %[[INVERSE:.*]] = arith.constant dense<0.0333333351>
  // GRADIENT: %[[BOUNDED:.*]] = arith.mulf %[[Y]], %[[INVERSE]]
  // GRADIENT: arith.mulf %[[BOUNDED]], %[[BOUNDED]]
  // KERN: kern.rows
  // KERN: math.tanh
  // KERN: kern.fold sum
  // KERN-NOT: kern.map
  %w = graph.read @w : tensor<8x4xf32>
  %y = acme.soft_cap %w cap 30.0 : tensor<8x4xf32>
  %loss = graph.reduce sum %y dims = [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
