// A training step of an MLP through the whole stage: five products with their
// epilogues, one fold over the logits, two bias gradients, the mean loss and one
// update.
// RUN: bessemer-opt %s --pass-pipeline="builtin.module(func.func(canonicalize,cse,absorb-transpose,reuse-activation,graph-to-kern,kern-fuse,canonicalize,cse,kern-verify))" | FileCheck %s

graph.state @w1 parameter trainable : tensor<64x20xf32> = dense<0.1> : tensor<64x20xf32>
graph.state @b1 parameter trainable : tensor<64xf32> = dense<0.1> : tensor<64xf32>
graph.state @w2 parameter trainable : tensor<10x64xf32> = dense<0.1> : tensor<10x64xf32>
graph.state @b2 parameter trainable : tensor<10xf32> = dense<0.1> : tensor<10xf32>

// CHECK-LABEL: func.func @train_step
// CHECK-NOT: kern.map
// CHECK: %[[H:.*]] = kern.gemm %arg0, %{{.*}} trans_b extras(
// CHECK: arith.maximumf
// CHECK-NOT: kern.map
// CHECK: %[[Y:.*]] = kern.gemm %[[H]], %{{.*}} trans_b extras(
// CHECK-NOT: kern.map
// CHECK: %[[XENT:.*]]:2 = kern.rows(%[[Y]], %arg1)
// CHECK-NOT: kern.map
// CHECK: %[[LOSS:.*]] = kern.rows(%[[XENT]]#0) bounds = [32] reduced = [0]
// CHECK: arith.divf
// CHECK-NOT: kern.map
// CHECK: %[[DB2:.*]] = kern.columns(%[[XENT]]#1)
// CHECK: %[[DW2:.*]] = kern.gemm %[[XENT]]#1, %[[H]] trans_a
// CHECK: %[[DH:.*]] = kern.gemm %[[XENT]]#1, %{{.*}} extras(%[[H]])
// CHECK: arith.select
// CHECK-NOT: kern.map
// CHECK: %[[DB1:.*]] = kern.columns(%[[DH]])
// CHECK: %[[DW1:.*]] = kern.gemm %[[DH]], %arg0 trans_a
// CHECK-NOT: kern.map
// CHECK: %[[U:.*]]:4 = kern.update parameters({{.*}}) gradients(%[[DW1]], %[[DB1]], %[[DW2]], %[[DB2]])
// CHECK: graph.write @w1, %[[U]]#0
// CHECK: graph.write @b1, %[[U]]#1
// CHECK: graph.write @w2, %[[U]]#2
// CHECK: graph.write @b2, %[[U]]#3
// CHECK: return %[[LOSS]]
func.func @train_step(%x: tensor<32x20xf32>, %labels: tensor<32xi64>, %step: !graph.step) -> tensor<f32> {
  %w1 = graph.read @w1 : tensor<64x20xf32>
  %b1 = graph.read @b1 : tensor<64xf32>
  %w2 = graph.read @w2 : tensor<10x64xf32>
  %b2 = graph.read @b2 : tensor<10xf32>
  %lr = graph.step_value learning_rate %step : tensor<f32>
  %one = arith.constant dense<1.0> : tensor<f32>
  %h0 = graph.contract %x, %w1 batch = [] x [] contract = [1] x [1] : (tensor<32x20xf32>, tensor<64x20xf32>) -> tensor<32x64xf32>
  %b1b = graph.broadcast %b1 dims = [1] : tensor<64xf32> -> tensor<32x64xf32>
  %h1 = arith.addf %h0, %b1b : tensor<32x64xf32>
  %zero = arith.constant dense<0.0> : tensor<32x64xf32>
  %h = arith.maximumf %h1, %zero : tensor<32x64xf32>
  %y0 = graph.contract %h, %w2 batch = [] x [] contract = [1] x [1] : (tensor<32x64xf32>, tensor<10x64xf32>) -> tensor<32x10xf32>
  %b2b = graph.broadcast %b2 dims = [1] : tensor<10xf32> -> tensor<32x10xf32>
  %y = arith.addf %y0, %b2b : tensor<32x10xf32>
  %loss, %lse = graph.cross_entropy %y, %labels {ignore_index = -100 : i64} : (tensor<32x10xf32>, tensor<32xi64>) -> (tensor<32xf32>, tensor<32xf32>)
  %sum = graph.reduce sum %loss dims = [0] : tensor<32xf32> -> tensor<f32>
  %n = arith.constant dense<32.0> : tensor<f32>
  %mean = arith.divf %sum, %n : tensor<f32>
  %d = arith.divf %one, %n : tensor<f32>
  %dl = graph.broadcast %d dims = [] : tensor<f32> -> tensor<32xf32>
  %dy = graph.cross_entropy_grad %y, %labels, %lse, %dl {ignore_index = -100 : i64} : (tensor<32x10xf32>, tensor<32xi64>, tensor<32xf32>, tensor<32xf32>) -> tensor<32x10xf32>
  %db2 = graph.reduce sum %dy dims = [0] : tensor<32x10xf32> -> tensor<10xf32>
  %dw2 = graph.contract %dy, %h batch = [] x [] contract = [0] x [0] : (tensor<32x10xf32>, tensor<32x64xf32>) -> tensor<10x64xf32>
  %dh = graph.contract %dy, %w2 batch = [] x [] contract = [1] x [0] : (tensor<32x10xf32>, tensor<10x64xf32>) -> tensor<32x64xf32>
  %mask = arith.cmpf ogt, %h1, %zero : tensor<32x64xf32>
  %dh1 = arith.select %mask, %dh, %zero : tensor<32x64xi1>, tensor<32x64xf32>
  %db1 = graph.reduce sum %dh1 dims = [0] : tensor<32x64xf32> -> tensor<64xf32>
  %dw1 = graph.contract %x, %dh1 batch = [] x [] contract = [0] x [0] : (tensor<32x20xf32>, tensor<32x64xf32>) -> tensor<20x64xf32>
  %dw1t = graph.transpose %dw1 permutation = [1, 0] : tensor<20x64xf32> -> tensor<64x20xf32>
  %w1n = graph.sgd %w1, %dw1t, %lr, %one, %one {momentum = 0.0 : f64} : (tensor<64x20xf32>, tensor<64x20xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<64x20xf32>
  graph.write @w1, %w1n : tensor<64x20xf32>
  %b1n = graph.sgd %b1, %db1, %lr, %one, %one {momentum = 0.0 : f64} : (tensor<64xf32>, tensor<64xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<64xf32>
  graph.write @b1, %b1n : tensor<64xf32>
  %w2n = graph.sgd %w2, %dw2, %lr, %one, %one {momentum = 0.0 : f64} : (tensor<10x64xf32>, tensor<10x64xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<10x64xf32>
  graph.write @w2, %w2n : tensor<10x64xf32>
  %b2n = graph.sgd %b2, %db2, %lr, %one, %one {momentum = 0.0 : f64} : (tensor<10xf32>, tensor<10xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<10xf32>
  graph.write @b2, %b2n : tensor<10xf32>
  return %mean : tensor<f32>
}
