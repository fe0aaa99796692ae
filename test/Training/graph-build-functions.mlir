// RUN: bessemer-opt %s --graph-build-functions --split-input-file | FileCheck %s
// RUN: bessemer-opt %s --graph-build-functions="batch-norm-variance=biased freeze=frozen.*" --split-input-file \
// RUN:   | FileCheck %s --check-prefix=FREEZE

// The loss is added, and the labels before the step block; @model is gone.

// CHECK-NOT: @model
// CHECK-LABEL: func.func @predict(
// CHECK-SAME: %[[X:.*]]: tensor<4x3xf32> {graph.name = "x"}, %{{.*}}: !graph.step
// CHECK-SAME: -> (tensor<4x3xf32> {graph.name = "y"})
// CHECK: %[[P:.*]] = arith.negf
// CHECK: return %[[P]]

// CHECK-LABEL: func.func @eval_step(
// CHECK-SAME: %[[X:.*]]: tensor<4x3xf32> {graph.name = "x"}, %[[L:.*]]: tensor<4xi64> {graph.name = "labels", graph.ranges = [#graph.input_range<"a label", 0 to 2 or[-100]>]},
// CHECK-SAME: %[[STEP:[a-z0-9]+]]: !graph.step
// CHECK-SAME: -> (tensor<f32> {graph.name = "loss_sum"}, tensor<f32> {graph.name = "count"},
// CHECK-SAME: tensor<f32> {graph.name = "correct"})
// CHECK: %[[Y:.*]] = arith.negf %[[X]]
// CHECK: %[[LOSS:.*]], %{{.*}} = graph.cross_entropy %[[Y]], %[[L]]
// CHECK: graph.reduce max %[[Y]]
// CHECK: %[[ROWS:.*]] = graph.iota dim = 0 : tensor<4x1xi64>
// CHECK: %[[LIMIT:.*]] = graph.step_value valid_rows %[[STEP]]
// CHECK: arith.cmpi slt, %[[ROWS]]

// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: %[[X:.*]]: tensor<4x3xf32> {graph.name = "x"}, %[[L:.*]]: tensor<4xi64> {graph.name = "labels", graph.ranges = [#graph.input_range<"a label", 0 to 2 or[-100]>]},
// CHECK-SAME: %{{.*}}: !graph.step) -> (tensor<f32> {graph.name = "loss"})
// CHECK: %[[ROW:.*]], %{{.*}} = graph.cross_entropy
// A label that is no class makes the loss not a number.
// CHECK: %[[OUTSIDE:.*]] = arith.cmpi uge, %[[L]]
// CHECK: %[[WRONG:.*]] = arith.andi %[[OUTSIDE]]
// CHECK: %[[CHECKED:.*]] = arith.select %[[WRONG]], %{{.*}}, %[[ROW]]
// CHECK: %[[SUM:.*]] = graph.reduce sum %[[CHECKED]] dims = [0]
// CHECK: %[[COUNT:.*]] = graph.reduce sum
// CHECK: %[[MEAN:.*]] = arith.divf %[[SUM]], %[[COUNT]]
// CHECK: return %[[MEAN]]
func.func @model(%x: tensor<4x3xf32> {graph.name = "x"}) -> (tensor<4x3xf32> {graph.name = "y"}) {
  %y = arith.negf %x : tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}

// -----

// Dropout and batch norm are in training mode in @train_step only. A frozen batch norm never is.

// CHECK-LABEL: func.func @predict(
// CHECK-NOT: graph.dropout
// CHECK-COUNT-2: graph.batch_norm %
// CHECK-LABEL: func.func @eval_step(
// CHECK-NOT: graph.dropout
// CHECK-COUNT-2: graph.batch_norm %
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: %[[STEP:[a-z0-9]+]]: !graph.step
// CHECK-DAG: %[[MEAN:.*]] = graph.read @bn.mean
// CHECK-DAG: %[[VAR:.*]] = graph.read @bn.var
// CHECK: graph.dropout %{{.*}}, %[[STEP]] {id = 1 : i64, ratio = 5.000000e-01 : f64}
// CHECK: %{{.*}}, %[[BMEAN:.*]], %[[BVAR:.*]] = graph.batch_norm_train
// CHECK: %[[OLD:.*]] = arith.constant dense<0.899999976>
// CHECK: %[[KEPT:.*]] = arith.mulf %[[MEAN]], %[[OLD]]
// CHECK: %[[NEW:.*]] = arith.mulf %[[BMEAN]]
// CHECK: %[[NEWMEAN:.*]] = arith.addf %[[KEPT]], %[[NEW]]
// The producer is PyTorch: 8 / 7 of the biased variance.
// CHECK: %[[RATIO:.*]] = arith.constant dense<1.14285719>
// CHECK: %[[UNBIASED:.*]] = arith.mulf %[[BVAR]], %[[RATIO]]
// CHECK: graph.batch_norm_train
// CHECK-DAG: graph.write @bn.mean, %[[NEWMEAN]]
// CHECK-DAG: graph.write @bn.var
// CHECK-DAG: graph.write @frozen.mean
// CHECK-DAG: graph.write @frozen.var

// FREEZE-LABEL: func.func @train_step(
// FREEZE: graph.batch_norm_train
// FREEZE-NOT: dense<1.14285719>
// FREEZE: graph.batch_norm %
// FREEZE-NOT: graph.write @frozen
module attributes {graph.producer = "pytorch"} {
  graph.state @bn.mean statistic : tensor<2xf32> = dense<0.0> : tensor<2xf32>
  graph.state @bn.var statistic : tensor<2xf32> = dense<1.0> : tensor<2xf32>
  graph.state @frozen.mean statistic : tensor<2xf32> = dense<0.0> : tensor<2xf32>
  graph.state @frozen.var statistic : tensor<2xf32> = dense<1.0> : tensor<2xf32>
  graph.state @scale parameter trainable : tensor<2xf32> = dense<1.0> : tensor<2xf32>
  func.func @model(%x: tensor<8x2xf32> {graph.name = "x"}, %step: !graph.step)
      -> (tensor<8x2xf32> {graph.name = "y"}) {
    %scale = graph.read @scale : tensor<2xf32>
    %mean = graph.read @bn.mean : tensor<2xf32>
    %var = graph.read @bn.var : tensor<2xf32>
    %fmean = graph.read @frozen.mean : tensor<2xf32>
    %fvar = graph.read @frozen.var : tensor<2xf32>
    %d = graph.dropout %x, %step {ratio = 0.5 : f64, id = 1 : i64} : (tensor<8x2xf32>, !graph.step) -> tensor<8x2xf32>
    %a = graph.batch_norm %d, %scale, %scale, %mean, %var {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64}
        : (tensor<8x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<8x2xf32>
    %b = graph.batch_norm %a, %scale, %scale, %fmean, %fvar {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64}
        : (tensor<8x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<8x2xf32>
    return %b : tensor<8x2xf32>
  }
}

// -----

// Attention drops probabilities in @train_step only.

// CHECK-LABEL: func.func @predict(
// CHECK: graph.attention %[[X:.*]], %[[X]], %[[X]] {id = 3 : i64, scale = 1.000000e+00 : f64} :
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME: %[[STEP:[a-z0-9]+]]: !graph.step
// CHECK: graph.attention %[[X:.*]], %[[X]], %[[X]] step %[[STEP]] {id = 3 : i64, ratio = 1.000000e-01 : f64
func.func @model(%x: tensor<4x2x3x5xf32> {graph.name = "x"}, %step: !graph.step) -> (tensor<4x30xf32> {graph.name = "y"}) {
  %y, %lse = graph.attention %x, %x, %x step %step {scale = 1.0 : f64, ratio = 0.1 : f64, id = 3 : i64}
      : (tensor<4x2x3x5xf32>, tensor<4x2x3x5xf32>, tensor<4x2x3x5xf32>, !graph.step)
      -> (tensor<4x2x3x5xf32>, tensor<4x2x3xf32>)
  %flat = tensor.collapse_shape %y [[0], [1, 2, 3]] : tensor<4x2x3x5xf32> into tensor<4x30xf32>
  return %flat : tensor<4x30xf32>
}
