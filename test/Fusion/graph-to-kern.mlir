// RUN: bessemer-opt %s --graph-to-kern --split-input-file | FileCheck %s

// Elementwise arithmetic, one kernel each; splat constants become scalars.
// CHECK-DAG: #[[ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %zero = arith.constant dense<0.0> : tensor<2x3xf32>
  // CHECK: %[[H:.*]] = kern.map(%arg0) bounds = [2, 3] maps = [#[[ID]], #[[ID]]] {
  // CHECK-NEXT: ^bb0(%[[A:.*]]: f32):
  // CHECK-NEXT: %[[C:.*]] = arith.constant 0.000000e+00 : f32
  // CHECK-NEXT: %[[M:.*]] = arith.maximumf %[[A]], %[[C]] : f32
  // CHECK-NEXT: kern.yield %[[M]] : f32
  %h = arith.maximumf %x, %zero : tensor<2x3xf32>
  // CHECK: kern.map(%[[H]])
  // CHECK: math.exp %{{.*}} : f32
  %e = math.exp %h : tensor<2x3xf32>
  return %e : tensor<2x3xf32>
}

// -----

// Attributes of an op go along; a constant that is no splat stays a tensor.
// CHECK-LABEL: func.func @constant
func.func @constant(%x: tensor<3xf32>) -> tensor<3xi1> {
  // CHECK: %[[C:.*]] = arith.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]>
  %c = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  // CHECK: kern.map(%arg0, %[[C]])
  // CHECK: arith.cmpf ogt, %{{.*}}, %{{.*}} : f32
  // CHECK: -> tensor<3xi1>
  %m = arith.cmpf ogt, %x, %c : tensor<3xf32>
  return %m : tensor<3xi1>
}

// -----

// CHECK-DAG: #[[COL:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #[[SWAP:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: func.func @shape
func.func @shape(%b: tensor<3xf32>, %x: tensor<2x3xf32>, %step: !graph.step) -> (tensor<2x3xf32>, tensor<3x2xf32>, tensor<2x3xi64>, tensor<2x3xf32>, tensor<6xf32>) {
  // CHECK: kern.map(%arg0) bounds = [2, 3] maps = [#[[COL]],
  %0 = graph.broadcast %b dims = [1] : tensor<3xf32> -> tensor<2x3xf32>
  // CHECK: kern.map(%arg1) bounds = [3, 2] maps = [#[[SWAP]],
  %1 = graph.transpose %x permutation = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  // CHECK: kern.map() bounds = [2, 3]
  // CHECK: kern.index 1 : i64
  %2 = graph.iota dim = 1 : tensor<2x3xi64>
  // The counter is the row-major index: 3 i + j.
  // CHECK: kern.map(%arg2) bounds = [2, 3]
  // CHECK: ^bb0(%[[STEP:.*]]: !graph.step):
  // CHECK-DAG: %[[I:.*]] = kern.index 0 : i64
  // CHECK-DAG: %[[J:.*]] = kern.index 1 : i64
  // CHECK-DAG: %[[C3:.*]] = arith.constant 3 : i64
  // CHECK: %[[P:.*]] = arith.muli %[[I]], %[[C3]] : i64
  // CHECK: %[[E:.*]] = arith.addi %[[P]], %[[J]] : i64
  // CHECK: kern.random %[[STEP]], %[[E]] id = 7 : f32
  %3 = graph.random %step id = 7 : tensor<2x3xf32>
  // CHECK: tensor.collapse_shape
  %4 = tensor.collapse_shape %x [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
  return %0, %1, %2, %3, %4 : tensor<2x3xf32>, tensor<3x2xf32>, tensor<2x3xi64>, tensor<2x3xf32>, tensor<6xf32>
}

// -----

// Rows when the innermost dimension above size 1 is reduced, columns if not.
// CHECK-LABEL: func.func @reduce
func.func @reduce(%x: tensor<2x3xf32>, %y: tensor<2x3x1xf32>) -> (tensor<2xf32>, tensor<3xf32>, tensor<2x1xf32>, tensor<2x3xf32>) {
  // CHECK: kern.rows(%arg0) bounds = [2, 3] reduced = [1]
  // CHECK: kern.fold sum
  %0 = graph.reduce sum %x dims = [1] : tensor<2x3xf32> -> tensor<2xf32>
  // CHECK: kern.columns(%arg0) bounds = [2, 3] reduced = [0]
  // CHECK: kern.fold max
  %1 = graph.reduce max %x dims = [0] : tensor<2x3xf32> -> tensor<3xf32>
  // CHECK: kern.rows(%arg1) bounds = [2, 3, 1] reduced = [1]
  %2 = graph.reduce sum %y dims = [1] : tensor<2x3x1xf32> -> tensor<2x1xf32>
  // Nothing to combine: a reshape.
  // CHECK: tensor.collapse_shape %arg1
  %3 = graph.reduce sum %y dims = [2] : tensor<2x3x1xf32> -> tensor<2x3xf32>
  return %0, %1, %2, %3 : tensor<2xf32>, tensor<3xf32>, tensor<2x1xf32>, tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @contract
func.func @contract(%x: tensor<32x784xf32>, %w: tensor<256x784xf32>, %v: tensor<784x256xf32>, %y: tensor<784x32xf32>) -> (tensor<32x256xf32>, tensor<32x256xf32>, tensor<32x256xf32>) {
  // CHECK: kern.gemm %arg0, %arg1 trans_b maps
  %0 = graph.contract %x, %w batch = [] x [] contract = [1] x [1] : (tensor<32x784xf32>, tensor<256x784xf32>) -> tensor<32x256xf32>
  // CHECK: kern.gemm %arg0, %arg2 maps
  %1 = graph.contract %x, %v batch = [] x [] contract = [1] x [0] : (tensor<32x784xf32>, tensor<784x256xf32>) -> tensor<32x256xf32>
  // CHECK: kern.gemm %arg3, %arg1 trans_a trans_b maps
  %2 = graph.contract %y, %w batch = [] x [] contract = [0] x [1] : (tensor<784x32xf32>, tensor<256x784xf32>) -> tensor<32x256xf32>
  return %0, %1, %2 : tensor<32x256xf32>, tensor<32x256xf32>, tensor<32x256xf32>
}

// -----

// Several free and contracted dimensions become one of each.
// CHECK-LABEL: func.func @contract_collapsed
func.func @contract_collapsed(%x: tensor<2x3x4x5xf32>, %w: tensor<4x5x7xf32>) -> tensor<2x3x7xf32> {
  // CHECK-DAG: %[[A:.*]] = tensor.collapse_shape %arg0 {{\[\[}}0, 1], [2, 3]] : tensor<2x3x4x5xf32> into tensor<6x20xf32>
  // CHECK-DAG: %[[B:.*]] = tensor.collapse_shape %arg1 {{\[\[}}0, 1], [2]] : tensor<4x5x7xf32> into tensor<20x7xf32>
  // CHECK: %[[Y:.*]] = kern.gemm %[[A]], %[[B]] maps
  // CHECK: tensor.expand_shape %[[Y]] {{\[\[}}0, 1], [2]] {{.*}} : tensor<6x7xf32> into tensor<2x3x7xf32>
  %0 = graph.contract %x, %w batch = [] x [] contract = [2, 3] x [0, 1] : (tensor<2x3x4x5xf32>, tensor<4x5x7xf32>) -> tensor<2x3x7xf32>
  return %0 : tensor<2x3x7xf32>
}

// -----

// The contracted dimensions lie in another order in the right operand.
// CHECK-LABEL: func.func @contract_transposed
func.func @contract_transposed(%x: tensor<6x4x5xf32>, %w: tensor<5x4x7xf32>) -> tensor<6x7xf32> {
  // CHECK: %[[T:.*]] = kern.map(%arg{{[01]}}) bounds =
  // CHECK: kern.gemm
  %0 = graph.contract %x, %w batch = [] x [] contract = [1, 2] x [1, 0] : (tensor<6x4x5xf32>, tensor<5x4x7xf32>) -> tensor<6x7xf32>
  return %0 : tensor<6x7xf32>
}

// -----

// An operand that must be copied keeps its innermost dimension: runs are copied,
// and the product takes a flag.
// CHECK-DAG: #[[HEADS:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>
// CHECK-LABEL: func.func @contract_copied
func.func @contract_copied(%p: tensor<2x3x5x4xf32>, %v: tensor<2x6x3x4xf32>) -> tensor<2x3x5x6xf32> {
  // CHECK: kern.map(%arg1) bounds = [2, 3, 6, 4] maps = [#[[HEADS]], #{{.*}}]
  // CHECK: kern.gemm %{{.*}}, %{{.*}} trans_b maps
  %0 = graph.contract %p, %v batch = [0, 1] x [0, 2] contract = [3] x [3] : (tensor<2x3x5x4xf32>, tensor<2x6x3x4xf32>) -> tensor<2x3x5x6xf32>
  return %0 : tensor<2x3x5x6xf32>
}

// -----

// Runs of two elements are not worth it: those of the dimension before are kept.
// CHECK-LABEL: func.func @contract_copied_short
func.func @contract_copied_short(%w: tensor<5x6x2xf32>, %dy: tensor<3x6x7x2xf32>) -> tensor<5x3x7xf32> {
  // CHECK: kern.map(%arg1) bounds = [6, 2, 3, 7]
  // CHECK: kern.gemm %{{.*}}, %{{.*}} maps
  // CHECK: (tensor<5x12xf32>, tensor<12x21xf32>) -> tensor<5x21xf32>
  %0 = graph.contract %w, %dy batch = [] x [] contract = [1, 2] x [1, 3] : (tensor<5x6x2xf32>, tensor<3x6x7x2xf32>) -> tensor<5x3x7xf32>
  return %0 : tensor<5x3x7xf32>
}

// -----

// Batched; the batch of the left operand is inside, so it is transposed. A
// product of a vector has m = 1.
// CHECK-LABEL: func.func @contract_batched
func.func @contract_batched(%x: tensor<8x4x6xf32>, %y: tensor<4x6x5xf32>, %v: tensor<6xf32>, %w: tensor<6x5xf32>) -> (tensor<4x8x5xf32>, tensor<5xf32>) {
  // CHECK: %[[T:.*]] = kern.map(%arg0) bounds = [4, 8, 6]
  // CHECK: kern.gemm %[[T]], %arg1 maps = [#{{.*}}] {
  // CHECK: (tensor<4x8x6xf32>, tensor<4x6x5xf32>) -> tensor<4x8x5xf32>
  %0 = graph.contract %x, %y batch = [1] x [0] contract = [2] x [1] : (tensor<8x4x6xf32>, tensor<4x6x5xf32>) -> tensor<4x8x5xf32>
  // CHECK: kern.gemm %{{.*}}, %arg3 maps
  // CHECK: (tensor<1x6xf32>, tensor<6x5xf32>) -> tensor<1x5xf32>
  %1 = graph.contract %v, %w batch = [] x [] contract = [0] x [0] : (tensor<6xf32>, tensor<6x5xf32>) -> tensor<5xf32>
  return %0, %1 : tensor<4x8x5xf32>, tensor<5xf32>
}

// -----

// CHECK-LABEL: func.func @convolution
func.func @convolution(%x: tensor<8x3x32x32xf32>, %w: tensor<16x3x3x3xf32>, %b: tensor<16xf32>, %dy: tensor<8x16x32x32xf32>) -> (tensor<8x16x32x32xf32>, tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32>) {
  // CHECK: kern.conv forward(%arg0, %arg1, %arg2) layouts = [#kern.layout<"row">, #kern.layout<"row">, #kern.layout<"row">, #kern.layout<"row">] {{.*}} schedule = #kern.schedule<library>
  %0 = graph.conv %x, %w bias %b {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>}
      : (tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32>, tensor<16xf32>) -> tensor<8x16x32x32xf32>
  // CHECK: kern.conv input_grad(%arg3, %arg1)
  %1 = graph.conv_input_grad %dy, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>}
      : (tensor<8x16x32x32xf32>, tensor<16x3x3x3xf32>) -> tensor<8x3x32x32xf32>
  // CHECK: kern.conv weight_grad(%arg0, %arg3)
  %2 = graph.conv_weight_grad %x, %dy {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>}
      : (tensor<8x3x32x32xf32>, tensor<8x16x32x32xf32>) -> tensor<16x3x3x3xf32>
  return %0, %1, %2 : tensor<8x16x32x32xf32>, tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @pooling
func.func @pooling(%x: tensor<8x6x28x28xf32>, %dy: tensor<8x6x14x14xf32>) -> (tensor<8x6x14x14xf32>, tensor<8x6x14x14xf32>, tensor<8x6x28x28xf32>, tensor<8x6x28x28xf32>) {
  // CHECK: kern.window max(%arg0)
  %0 = graph.pool max %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<8x6x28x28xf32>) -> tensor<8x6x14x14xf32>
  // CHECK: kern.window average(%arg0) {count_include_pad
  %1 = graph.pool average %x {count_include_pad, window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<8x6x28x28xf32>) -> tensor<8x6x14x14xf32>
  // CHECK: kern.window max_grad(%arg0, %arg1)
  %2 = graph.max_pool_grad %x, %dy {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<8x6x28x28xf32>, tensor<8x6x14x14xf32>) -> tensor<8x6x28x28xf32>
  // CHECK: kern.window average_grad(%arg1)
  %3 = graph.average_pool_grad %dy {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<8x6x14x14xf32>) -> tensor<8x6x28x28xf32>
  return %0, %1, %2, %3 : tensor<8x6x14x14xf32>, tensor<8x6x14x14xf32>, tensor<8x6x28x28xf32>, tensor<8x6x28x28xf32>
}

// -----

// Composites: one kernel each, with as many folds as they have phases.
// CHECK-LABEL: func.func @composites
func.func @composites(%x: tensor<32x10xf32>, %labels: tensor<32xi64>) -> (tensor<32x10xf32>, tensor<32xf32>, tensor<32xf32>) {
  // CHECK: kern.rows(%arg0) bounds = [32, 10] reduced = [1]
  // CHECK: kern.fold max
  // CHECK: math.exp
  // CHECK: kern.fold sum
  // CHECK: arith.divf
  // CHECK: kern.yield %{{.*}} : f32
  %0 = graph.softmax %x dim = 1 : tensor<32x10xf32>
  // CHECK: %{{.*}}:2 = kern.rows(%arg0, %arg1) bounds = [32, 10] reduced = [1]
  // CHECK: kern.index 1
  // CHECK: kern.yield %{{.*}}, %{{.*}} : f32, f32
  %1, %2 = graph.cross_entropy %x, %labels {ignore_index = -100 : i64} : (tensor<32x10xf32>, tensor<32xi64>) -> (tensor<32xf32>, tensor<32xf32>)
  return %0, %1, %2 : tensor<32x10xf32>, tensor<32xf32>, tensor<32xf32>
}

// -----

// A softmax over channels is folded down columns.
// CHECK-LABEL: func.func @softmax_channels
func.func @softmax_channels(%x: tensor<2x5x4x4xf32>) -> tensor<2x5x4x4xf32> {
  // CHECK: kern.columns(%arg0) bounds = [2, 5, 4, 4] reduced = [1]
  %0 = graph.softmax %x dim = 1 : tensor<2x5x4x4xf32>
  return %0 : tensor<2x5x4x4xf32>
}

// -----

// CHECK-DAG: #[[CHANNEL:.*]] = affine_map<(d0, d1, d2, d3) -> (d1)>
// CHECK-LABEL: func.func @batch_norm
func.func @batch_norm(%x: tensor<8x16x4x4xf32>, %c: tensor<16xf32>) -> (tensor<8x16x4x4xf32>, tensor<16xf32>, tensor<16xf32>, tensor<8x16x4x4xf32>) {
  // CHECK: %{{.*}}:3 = kern.rows(%arg0, %arg1) bounds = [8, 16, 4, 4] reduced = [0, 2, 3]
  // CHECK: kern.fold sum
  // CHECK: kern.fold sum
  // CHECK-NOT: kern.fold
  // CHECK: (tensor<8x16x4x4xf32>, tensor<16xf32>) -> (tensor<8x16x4x4xf32>, tensor<16xf32>, tensor<16xf32>)
  %y, %m, %v = graph.batch_norm_train %x, %c, %c {epsilon = 1.0e-5 : f64}
      : (tensor<8x16x4x4xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<8x16x4x4xf32>, tensor<16xf32>, tensor<16xf32>)
  // CHECK: kern.map(
  // CHECK: arith.divf
  %z = graph.batch_norm %x, %c, %c, %m, %v {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64}
      : (tensor<8x16x4x4xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<8x16x4x4xf32>
  // CHECK: %{{.*}}:3 = kern.rows(
  %dx, %ds, %db = graph.batch_norm_grad %x, %c, %m, %v, %z {epsilon = 1.0e-5 : f64}
      : (tensor<8x16x4x4xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<8x16x4x4xf32>) -> (tensor<8x16x4x4xf32>, tensor<16xf32>, tensor<16xf32>)
  return %y, %ds, %db, %dx : tensor<8x16x4x4xf32>, tensor<16xf32>, tensor<16xf32>, tensor<8x16x4x4xf32>
}

// -----

// Random numbers are computed where they are used.
// CHECK-LABEL: func.func @dropout
func.func @dropout(%x: tensor<32x84xf32>, %step: !graph.step) -> tensor<32x84xf32> {
  // CHECK: kern.map(%arg{{[01]}}, %arg{{[01]}}) bounds = [32, 84]
  // CHECK: kern.random %{{.*}}, %{{.*}} id = 3 : f32
  // CHECK: arith.cmpf oge
  // CHECK: arith.select
  %0 = graph.dropout %x, %step {ratio = 0.5 : f64, id = 3 : i64} : (tensor<32x84xf32>, !graph.step) -> tensor<32x84xf32>
  return %0 : tensor<32x84xf32>
}

// -----

// One update for all parameters of equal constants, in their order; a constant
// scalar becomes part of the region. Another weight decay is another group.
// CHECK-LABEL: func.func @sgd
func.func @sgd(%p: tensor<4x5xf32>, %q: tensor<4xf32>, %r: tensor<3xf32>, %lr: tensor<f32>) -> (tensor<4x5xf32>, tensor<4xf32>, tensor<3xf32>) {
  %one = arith.constant dense<1.0> : tensor<f32>
  // CHECK: %[[R:.*]] = kern.update parameters(%arg2) gradients(%arg2) scalars(%arg3) {
  // CHECK: %[[PQ:.*]]:2 = kern.update parameters(%arg0, %arg1) gradients(%arg0, %arg1) scalars(%arg3) {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32):
  // CHECK: return %[[PQ]]#0, %[[PQ]]#1, %[[R]]
  %p1 = graph.sgd %p, %p, %lr, %one, %one : (tensor<4x5xf32>, tensor<4x5xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<4x5xf32>
  %r1 = graph.sgd %r, %r, %lr, %one, %one {weight_decay = 0.1 : f64} : (tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<3xf32>
  %q1 = graph.sgd %q, %q, %lr, %one, %one : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  return %p1, %q1, %r1 : tensor<4x5xf32>, tensor<4xf32>, tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @adamw
func.func @adamw(%p: tensor<4x5xf32>, %m: tensor<4x5xf32>, %v: tensor<4x5xf32>, %q: tensor<4xf32>, %mq: tensor<4xf32>, %vq: tensor<4xf32>, %lr: tensor<f32>, %c1: tensor<f32>, %c2: tensor<f32>)
    -> (tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[U:.*]]:6 = kern.update parameters(%arg0, %arg3) gradients(%arg0, %arg3) moments(%arg1, %arg2, %arg4, %arg5) scalars(%arg6, %arg6, %arg7, %arg8)
  // CHECK: math.sqrt
  // CHECK: kern.yield %{{.*}}, %{{.*}}, %{{.*}} : f32, f32, f32
  // CHECK: return %[[U]]#0, %[[U]]#2, %[[U]]#3, %[[U]]#1, %[[U]]#4, %[[U]]#5
  %p1, %m1, %v1 = graph.adamw %p, %p, %m, %v, %lr, %lr, %c1, %c2 {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.01 : f64}
      : (tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>)
  %q1, %n1, %w1 = graph.adamw %q, %q, %mq, %vq, %lr, %lr, %c1, %c2 {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.01 : f64}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %p1, %m1, %v1, %q1, %n1, %w1 : tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// A parameter whose gradient needs another one's new value comes after it.
// CHECK-LABEL: func.func @dependent_updates
func.func @dependent_updates(%p: tensor<4xf32>, %q: tensor<4xf32>, %lr: tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[P:.*]] = kern.update parameters(%arg0)
  // CHECK: kern.update parameters(%arg1) gradients(%[[P]])
  %p1 = graph.sgd %p, %p, %lr, %lr, %lr : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  %q1 = graph.sgd %q, %p1, %lr, %lr, %lr : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  return %p1, %q1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @square_sum
func.func @square_sum(%g: tensor<1000x30xf32>, %h: tensor<10xf32>) -> tensor<f32> {
  // CHECK: %[[S:.*]] = kern.norm(%arg0, %arg1) : (tensor<1000x30xf32>, tensor<10xf32>) -> tensor<3xf32>
  // CHECK: kern.rows(%[[S]]) bounds = [3] reduced = [0]
  %0 = graph.square_sum %g, %h : (tensor<1000x30xf32>, tensor<10xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}
