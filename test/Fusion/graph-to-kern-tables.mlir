// Updates of tables that are only looked up join the sums of their gradients.
// RUN: bessemer-opt %s --graph-to-kern --split-input-file | FileCheck %s

// SGD without momentum and decay touches what is looked up alone. 2 * 3 = 6.
// CHECK-LABEL: func.func @sgd
func.func @sgd(%p: tensor<8x5xf32>, %dy: tensor<2x3x5xf32>, %i: tensor<2x3xi64>, %lr: tensor<f32>, %s: tensor<f32>)
    -> tensor<8x5xf32> {
  // CHECK-NOT: kern.scatter
  // CHECK-DAG: %[[P:.*]] = tensor.expand_shape %arg0 {{.*}} into tensor<1x1x8x5xf32>
  // CHECK-DAG: %[[I:.*]] = tensor.expand_shape %{{.*}} into tensor<1x6xi64>
  // CHECK: %[[N:.*]] = kern.table_update %[[P]], %{{.*}}, %[[I]] scalars(%arg3, %arg4) touched_only {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[D:.*]]: f32, %[[LR:.*]]: f32, %[[S:.*]]: f32):
  // CHECK-NEXT: %[[G:.*]] = arith.mulf %[[D]], %[[S]]
  // CHECK-NEXT: %[[C:.*]] = arith.mulf %[[G]], %[[LR]]
  // CHECK-NEXT: %[[R:.*]] = arith.subf %[[A]], %[[C]]
  // CHECK-NEXT: kern.yield %[[R]]
  // CHECK: (tensor<1x1x8x5xf32>, tensor<1x1x6x5xf32>, tensor<1x6xi64>, tensor<f32>, tensor<f32>) -> tensor<1x1x8x5xf32>
  // CHECK: tensor.collapse_shape %[[N]] {{.*}} into tensor<8x5xf32>
  %g = graph.scatter_add %dy, %i dim = 0 : (tensor<2x3x5xf32>, tensor<2x3xi64>) -> tensor<8x5xf32>
  %1 = graph.sgd %p, %g, %lr, %s, %s : (tensor<8x5xf32>, tensor<8x5xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<8x5xf32>
  return %1 : tensor<8x5xf32>
}

// -----

// With momentum or decay all entries move. A table looked up along another
// dimension is a plane per index before it.
// CHECK-LABEL: func.func @all_entries
func.func @all_entries(%p: tensor<3x8x5xf32>, %b: tensor<3x8x5xf32>, %dy: tensor<3x4x5xf32>, %i: tensor<4xi64>,
    %lr: tensor<f32>, %s: tensor<f32>) -> (tensor<3x8x5xf32>, tensor<3x8x5xf32>, tensor<3x8x5xf32>) {
  // CHECK: kern.table_update %{{.*}} moments(%{{.*}}) scalars(%{{.*}}) {
  // CHECK: (tensor<1x3x8x5xf32>, tensor<1x3x4x5xf32>, tensor<1x4xi64>, tensor<1x3x8x5xf32>, tensor<f32>, tensor<f32>, tensor<f32>)
  %g = graph.scatter_add %dy, %i dim = 1 : (tensor<3x4x5xf32>, tensor<4xi64>) -> tensor<3x8x5xf32>
  %0, %1 = graph.sgd %p, %g, %lr, %s, %s buffer %b {momentum = 0.9 : f64}
    : (tensor<3x8x5xf32>, tensor<3x8x5xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<3x8x5xf32>)
    -> (tensor<3x8x5xf32>, tensor<3x8x5xf32>)
  // CHECK: kern.table_update %{{.*}} scalars(%{{.*}}) {
  %h = graph.scatter_add %dy, %i dim = 1 : (tensor<3x4x5xf32>, tensor<4xi64>) -> tensor<3x8x5xf32>
  %2 = graph.sgd %b, %h, %lr, %s, %s {weight_decay = 0.1 : f64}
    : (tensor<3x8x5xf32>, tensor<3x8x5xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<3x8x5xf32>
  return %0, %1, %2 : tensor<3x8x5xf32>, tensor<3x8x5xf32>, tensor<3x8x5xf32>
}

// -----

// A gradient that something else reads (a norm to clip by) or that has other
// parts lies in memory.
// CHECK-LABEL: func.func @dense
func.func @dense(%p: tensor<8x5xf32>, %q: tensor<8x5xf32>, %dy: tensor<4x5xf32>, %i: tensor<4xi64>, %lr: tensor<f32>)
    -> (tensor<8x5xf32>, tensor<8x5xf32>) {
  // CHECK-NOT: kern.table_update
  // CHECK: kern.scatter
  // CHECK: kern.scatter
  // CHECK: kern.update parameters(%arg0, %arg1)
  // CHECK-NOT: kern.table_update
  %g = graph.scatter_add %dy, %i dim = 0 : (tensor<4x5xf32>, tensor<4xi64>) -> tensor<8x5xf32>
  %h = graph.scatter_add %dy, %i dim = 0 : (tensor<4x5xf32>, tensor<4xi64>) -> tensor<8x5xf32>
  %j = arith.addf %h, %q : tensor<8x5xf32>
  %n = graph.square_sum %g, %j : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<f32>
  %0 = graph.sgd %p, %g, %lr, %n, %n : (tensor<8x5xf32>, tensor<8x5xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<8x5xf32>
  %1 = graph.sgd %q, %j, %lr, %n, %n : (tensor<8x5xf32>, tensor<8x5xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<8x5xf32>
  return %0, %1 : tensor<8x5xf32>, tensor<8x5xf32>
}

// -----

// Lazy AdamW: the region is AdamW's, and touched_only the laziness.
// CHECK-LABEL: func.func @lazy
func.func @lazy(%p: tensor<8x5xf32>, %m: tensor<8x5xf32>, %v: tensor<8x5xf32>, %dy: tensor<4x5xf32>, %i: tensor<4xi64>,
    %s: tensor<f32>) -> (tensor<8x5xf32>, tensor<8x5xf32>, tensor<8x5xf32>) {
  // CHECK: kern.table_update %{{.*}} moments(%{{.*}}) scalars(%{{.*}}) touched_only {
  // CHECK-NOT: arith.select
  // CHECK: kern.yield
  %g = graph.scatter_add %dy, %i dim = 0 : (tensor<4x5xf32>, tensor<4xi64>) -> tensor<8x5xf32>
  %0, %1, %2 = graph.adamw %p, %g, %m, %v, %s, %s, %s, %s touched(%i)
    {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64}
    : (tensor<8x5xf32>, tensor<8x5xf32>, tensor<8x5xf32>, tensor<8x5xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<4xi64>)
    -> (tensor<8x5xf32>, tensor<8x5xf32>, tensor<8x5xf32>)
  return %0, %1, %2 : tensor<8x5xf32>, tensor<8x5xf32>, tensor<8x5xf32>
}

// -----

// With another gradient than that of one lookup, maps choose by a mask.
// CHECK-LABEL: func.func @lazy_by_mask
func.func @lazy_by_mask(%p: tensor<8x5xf32>, %m: tensor<8x5xf32>, %v: tensor<8x5xf32>, %g: tensor<8x5xf32>, %i: tensor<4xi64>,
    %s: tensor<f32>) -> (tensor<8x5xf32>, tensor<8x5xf32>, tensor<8x5xf32>) {
  // CHECK: kern.scatter
  // CHECK: arith.cmpf ogt
  // CHECK-COUNT-3: arith.select
  // CHECK-NOT: graph.adamw
  %0, %1, %2 = graph.adamw %p, %g, %m, %v, %s, %s, %s, %s touched(%i)
    {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64}
    : (tensor<8x5xf32>, tensor<8x5xf32>, tensor<8x5xf32>, tensor<8x5xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<4xi64>)
    -> (tensor<8x5xf32>, tensor<8x5xf32>, tensor<8x5xf32>)
  return %0, %1, %2 : tensor<8x5xf32>, tensor<8x5xf32>, tensor<8x5xf32>
}
