// RUN: bessemer-opt %s --split-input-file --verify-diagnostics --graph-accumulate=count=2

// expected-error @+1 {{expected a function @train_step}}
module {
}

// -----

// expected-error @+1 {{expected an input with a batch to accumulate gradients over}}
func.func @train_step(%step: !graph.step) -> tensor<f32> {
  %loss = arith.constant dense<1.0> : tensor<f32>
  return %loss : tensor<f32>
}

// -----

// expected-error @+1 {{expected @train_step to return what its loss is divided by}}
func.func @train_step(%x: tensor<2xf32> {graph.name = "x", graph.batch}, %step: !graph.step) -> tensor<f32> {
  %loss = graph.reduce sum %x dims = [0] : tensor<2xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// expected-error @+1 {{the model iterates over dimension 0 of input "x": it is no batch that accumulation could split}}
func.func @train_step(%x: tensor<3x2x4xf32> {graph.name = "x", graph.batch}, %step: !graph.step) -> (tensor<f32>, tensor<f32> {graph.loss_count}) {
  %zero = arith.constant dense<0.0> : tensor<2x4xf32>
  %y = math.tanh %x : tensor<3x2x4xf32>
  %h = graph.scan 3 inits(%zero) sequences(%y) invariants() {
  ^bb0(%s: tensor<2x4xf32>, %e: tensor<2x4xf32>):
    %n = arith.addf %s, %e : tensor<2x4xf32>
    graph.yield %n : tensor<2x4xf32>
  } : (tensor<2x4xf32>, tensor<3x2x4xf32>) -> tensor<2x4xf32>
  %loss = graph.reduce sum %h dims = [0, 1] : tensor<2x4xf32> -> tensor<f32>
  %count = arith.constant dense<1.0> : tensor<f32>
  return %loss, %count : tensor<f32>, tensor<f32>
}

// -----

// expected-error @+1 {{expected labels for a micro-batch of 2 rows, got shape [3]: their dimension 0 must be the batch}}
func.func @train_step(%x: tensor<2x3xf32> {graph.name = "x", graph.batch}, %labels: tensor<3xf32> {graph.name = "labels"}, %step: !graph.step) -> tensor<f32> {
  %loss = graph.reduce sum %x dims = [0, 1] : tensor<2x3xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Numbers of one row, or one for all rows.
func.func @train_step(%x: tensor<1x3xf32> {graph.name = "x", graph.batch}, %step: !graph.step) -> (tensor<f32>, tensor<f32> {graph.loss_count}) {
  %own = graph.random %step id = 0 {graph.batch} : tensor<1x3xf32>
  // expected-error @+1 {{expected micro-batches of at least 2 rows, got 1: random numbers of shape [1, 3] may be of one row or the same for all}}
  %u = graph.random %step id = 1 : tensor<1x3xf32>
  %d = graph.dropout %x, %step {ratio = 0.5 : f64, id = 2 : i64} : (tensor<1x3xf32>, !graph.step) -> tensor<1x3xf32>
  %0 = arith.mulf %d, %u : tensor<1x3xf32>
  %y = arith.mulf %0, %own : tensor<1x3xf32>
  %loss = graph.reduce sum %y dims = [0, 1] : tensor<1x3xf32> -> tensor<f32>
  %count = arith.constant dense<1.0> : tensor<f32>
  return %loss, %count : tensor<f32>, tensor<f32>
}
