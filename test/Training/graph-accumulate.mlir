// RUN: bessemer-opt %s --split-input-file --graph-accumulate=count=4 | FileCheck %s

// A step of three rows becomes a loop over four times three: what is returned
// is summed, the statistic goes from part to part, the constant count is that of
// the whole batch, and random numbers know their part.

graph.state @w parameter trainable : tensor<4xf32> = dense<0.1> : tensor<4xf32>
graph.state @m statistic : tensor<4xf32> = dense<0.2> : tensor<4xf32>

// CHECK-LABEL: func.func @train_step
// CHECK-SAME: (%[[X:.*]]: tensor<12x4xf32> {graph.batch, graph.name = "x"}, %[[STEP:.*]]: !graph.step) -> (tensor<f32> {graph.name = "loss"}, tensor<4xf32> {graph.gradient = @w})
// CHECK-DAG: %[[PARTS:.*]] = tensor.expand_shape %[[X]] {{.*}} into tensor<4x3x4xf32>
// CHECK-DAG: %[[W:.*]] = graph.read @w
// CHECK-DAG: %[[M:.*]] = graph.read @m
// CHECK-DAG: %[[COUNT:.*]] = arith.constant dense<1.200000e+01> : tensor<f32>
// CHECK-DAG: %[[NUMBERS:.*]] = graph.iota dim = 0 : tensor<4xi64>
// CHECK: %[[R:.*]]:3 = graph.scan 4 inits(%{{.*}}, %{{.*}}, %[[M]]) sequences(%[[PARTS]], %[[NUMBERS]]) invariants(%[[COUNT]], %[[STEP]], %[[W]]) attributes {graph.micro_batches} {
// CHECK-NEXT: ^bb0(%[[LOSS:.*]]: tensor<f32>, %[[SUM:.*]]: tensor<4xf32>, %[[OLD:.*]]: tensor<4xf32>, %[[PART:.*]]: tensor<3x4xf32>, %[[K:.*]]: tensor<i64>,
// CHECK: %[[D:.*]] = graph.dropout %[[PART]], %{{.*}} micro %[[K]]
// CHECK: %[[S:.*]] = graph.reduce sum %[[D]]
// CHECK: %[[NEW:.*]] = arith.addf %[[OLD]], %[[S]]
// CHECK: %[[LOSSES:.*]] = arith.addf %[[LOSS]],
// CHECK: %[[SUMS:.*]] = arith.addf %[[SUM]],
// CHECK: graph.yield %[[LOSSES]], %[[SUMS]], %[[NEW]]
// CHECK: graph.write @m, %[[R]]#2
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @train_step(%x: tensor<3x4xf32> {graph.name = "x", graph.batch}, %step: !graph.step) -> (tensor<f32> {graph.name = "loss"}, tensor<f32> {graph.name = "count", graph.loss_count}, tensor<4xf32> {graph.gradient = @w}) {
  %w = graph.read @w : tensor<4xf32>
  %m = graph.read @m : tensor<4xf32>
  %d = graph.dropout %x, %step {ratio = 0.5 : f64, id = 0 : i64} : (tensor<3x4xf32>, !graph.step) -> tensor<3x4xf32>
  %s = graph.reduce sum %d dims = [0] : tensor<3x4xf32> -> tensor<4xf32>
  %p = arith.mulf %s, %w : tensor<4xf32>
  %sum = graph.reduce sum %p dims = [0] : tensor<4xf32> -> tensor<f32>
  %count = arith.constant dense<3.0> : tensor<f32>
  %loss = arith.divf %sum, %count : tensor<f32>
  %n = graph.broadcast %count dims = [] : tensor<f32> -> tensor<4xf32>
  %g = arith.divf %s, %n : tensor<4xf32>
  %new = arith.addf %m, %s : tensor<4xf32>
  graph.write @m, %new : tensor<4xf32>
  return %loss, %count, %g : tensor<f32>, tensor<f32>, tensor<4xf32>
}

// -----

// A loop within the micro-batch hears of its number, too.

graph.state @w parameter trainable : tensor<4xf32> = dense<0.1> : tensor<4xf32>

// CHECK-LABEL: func.func @train_step
// CHECK: graph.scan 4 {{.*}} {
// CHECK-NEXT: ^bb0({{.*}}%[[K:.*]]: tensor<i64>,
// CHECK: graph.scan 2 inits({{.*}}) sequences({{.*}}) invariants(%{{.*}}, %[[K]]) {
// CHECK-NEXT: ^bb0({{.*}}, %[[STEP:.*]]: !graph.step, %[[INNER:.*]]: tensor<i64>):
// CHECK: graph.dropout %{{.*}}, %[[STEP]] micro %[[INNER]]
func.func @train_step(%x: tensor<3x2x4xf32> {graph.name = "x", graph.batch}, %step: !graph.step) -> (tensor<f32> {graph.name = "loss"}, tensor<f32> {graph.name = "count", graph.loss_count}, tensor<4xf32> {graph.gradient = @w}) {
  %w = graph.read @w : tensor<4xf32>
  %t = graph.transpose %x permutation = [1, 0, 2] : tensor<3x2x4xf32> -> tensor<2x3x4xf32>
  %zero = arith.constant dense<0.0> : tensor<3x4xf32>
  %h = graph.scan 2 inits(%zero) sequences(%t) invariants(%step) {
  ^bb0(%s: tensor<3x4xf32>, %e: tensor<3x4xf32>, %number: !graph.step):
    %d = graph.dropout %e, %number {ratio = 0.5 : f64, id = 0 : i64} : (tensor<3x4xf32>, !graph.step) -> tensor<3x4xf32>
    %n = arith.addf %s, %d : tensor<3x4xf32>
    graph.yield %n : tensor<3x4xf32>
  } : (tensor<3x4xf32>, tensor<2x3x4xf32>, !graph.step) -> tensor<3x4xf32>
  %g = graph.reduce sum %h dims = [0] : tensor<3x4xf32> -> tensor<4xf32>
  %p = arith.mulf %g, %w : tensor<4xf32>
  %loss = graph.reduce sum %p dims = [0] : tensor<4xf32> -> tensor<f32>
  %count = arith.constant dense<3.0> : tensor<f32>
  return %loss, %count, %g : tensor<f32>, tensor<f32>, tensor<4xf32>
}

// -----

// Ranges hold for every micro-batch, but which rows of one are meant says
// nothing of the whole.

graph.state @w parameter trainable : tensor<4xf32> = dense<0.1> : tensor<4xf32>

// CHECK-LABEL: func.func @train_step
// CHECK-SAME: tensor<12x4xi64> {graph.batch, graph.name = "ids", graph.ranges = [#graph.input_range<"an index", -4 to 3>, #graph.input_range<"an index", -2 to 1 in[1, 0, 2]>]}
func.func @train_step(%ids: tensor<3x4xi64> {graph.name = "ids", graph.batch, graph.ranges = [#graph.input_range<"an index", -4 to 3>, #graph.input_range<"an index", -1 to 0 in [0, 1, 2]>, #graph.input_range<"an index", -2 to 1 in [1, 0, 2]>]}, %step: !graph.step) -> (tensor<f32> {graph.name = "loss"}, tensor<f32> {graph.name = "count", graph.loss_count}, tensor<4xf32> {graph.gradient = @w}) {
  %w = graph.read @w : tensor<4xf32>
  %x = arith.sitofp %ids : tensor<3x4xi64> to tensor<3x4xf32>
  %s = graph.reduce sum %x dims = [0] : tensor<3x4xf32> -> tensor<4xf32>
  %sum = graph.reduce sum %s dims = [0] : tensor<4xf32> -> tensor<f32>
  %count = arith.constant dense<3.0> : tensor<f32>
  %loss = arith.divf %sum, %count : tensor<f32>
  %g = arith.mulf %s, %w : tensor<4xf32>
  return %loss, %count, %g : tensor<f32>, tensor<f32>, tensor<4xf32>
}

// -----

// Noise on the weight is the same in all parts, though it has as many elements
// as a part has rows, and noise that goes through a product and a sum with the
// rows is each part's own.

graph.state @w parameter trainable : tensor<3xf32> = dense<0.1> : tensor<3xf32>

// CHECK-LABEL: func.func @train_step
// CHECK: graph.scan 4 {{.*}} {
// CHECK-NEXT: ^bb0({{.*}}%[[K:.*]]: tensor<i64>,
// CHECK-DAG: graph.random %{{[^ ]*}} id = 0 : tensor<3xf32>
// CHECK-DAG: graph.random %{{[^ ]*}} micro %[[K]] : tensor<i64> id = 1 : tensor<3x3xf32>
// CHECK-DAG: graph.random %{{[^ ]*}} micro %[[K]] : tensor<i64> id = 2 : tensor<3xf32>
func.func @train_step(%x: tensor<3x3xf32> {graph.name = "x", graph.batch}, %step: !graph.step) -> (tensor<f32> {graph.name = "loss"}, tensor<f32> {graph.name = "count", graph.loss_count}, tensor<3xf32> {graph.gradient = @w}) {
  %w = graph.read @w : tensor<3xf32>
  %0 = graph.random %step id = 0 : tensor<3xf32>
  %one = arith.constant dense<1.0> : tensor<3xf32>
  %rest0 = arith.subf %one, %0 : tensor<3xf32>
  %noisy = arith.addf %w, %rest0 : tensor<3xf32>
  %all = graph.broadcast %noisy dims = [1] : tensor<3xf32> -> tensor<3x3xf32>
  %1 = graph.random %step id = 1 : tensor<3x3xf32>
  %weights = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]> : tensor<3x3xf32>
  %mixed = graph.contract %1, %weights batch = [] x [] contract = [1] x [0] : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %sums = arith.addf %x, %mixed : tensor<3x3xf32>
  %products = arith.mulf %sums, %all : tensor<3x3xf32>
  // This one never meets the batch: as many as there are rows.
  %2 = graph.random %step id = 2 : tensor<3xf32>
  %rest = graph.reduce sum %2 dims = [0] : tensor<3xf32> -> tensor<f32>
  %g = graph.reduce sum %sums dims = [0] : tensor<3x3xf32> -> tensor<3xf32>
  %total = graph.reduce sum %products dims = [0, 1] : tensor<3x3xf32> -> tensor<f32>
  %loss = arith.addf %total, %rest : tensor<f32>
  %count = arith.constant dense<3.0> : tensor<f32>
  return %loss, %count, %g : tensor<f32>, tensor<f32>, tensor<3xf32>
}
