// RUN: bessemer-opt %s --graph-to-kern --kern-fuse --canonicalize --cse --split-input-file | FileCheck %s

// A chain is one kernel.
// CHECK-LABEL: func.func @chain
func.func @chain(%x: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  // CHECK-NEXT: kern.map(%arg1, %arg0) bounds = [2, 3]
  // CHECK: arith.addf
  // CHECK: math.exp
  // CHECK: arith.negf
  // CHECK-NOT: kern.map
  %0 = graph.broadcast %b dims = [1] : tensor<3xf32> -> tensor<2x3xf32>
  %1 = arith.addf %x, %0 : tensor<2x3xf32>
  %2 = math.exp %1 : tensor<2x3xf32>
  %3 = arith.negf %2 : tensor<2x3xf32>
  return %3 : tensor<2x3xf32>
}

// -----

// Bias and activation become the epilogue of the product.
// CHECK-DAG: #[[COL:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #[[ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @linear_relu
func.func @linear_relu(%x: tensor<32x20xf32>, %w: tensor<64x20xf32>, %b: tensor<64xf32>) -> tensor<32x64xf32> {
  // CHECK-NEXT: %[[Y:.*]] = kern.gemm %arg0, %arg1 trans_b extras(%arg2) maps = [#[[COL]], #[[ID]]] {
  // CHECK-NEXT: ^bb0(%[[ACC:.*]]: f32, %[[B:.*]]: f32):
  // CHECK: %[[S:.*]] = arith.addf %[[ACC]], %[[B]] : f32
  // CHECK: %[[R:.*]] = arith.maximumf %[[S]], %{{.*}} : f32
  // CHECK: kern.yield %[[R]] : f32
  // CHECK: return %[[Y]]
  %zero = arith.constant dense<0.0> : tensor<32x64xf32>
  %0 = graph.contract %x, %w batch = [] x [] contract = [1] x [1] : (tensor<32x20xf32>, tensor<64x20xf32>) -> tensor<32x64xf32>
  %1 = graph.broadcast %b dims = [1] : tensor<64xf32> -> tensor<32x64xf32>
  %2 = arith.addf %0, %1 : tensor<32x64xf32>
  %3 = arith.maximumf %2, %zero : tensor<32x64xf32>
  return %3 : tensor<32x64xf32>
}

// -----

// Both the sum and its activation are needed: one kernel with two results.
// CHECK-LABEL: func.func @two_results
func.func @two_results(%x: tensor<32x20xf32>, %w: tensor<64x20xf32>, %b: tensor<64xf32>) -> (tensor<32x64xf32>, tensor<32x64xf32>) {
  // CHECK-NEXT: %[[Y:.*]]:2 = kern.gemm
  // CHECK: kern.yield %{{.*}}, %{{.*}} : f32, f32
  // CHECK: return %[[Y]]#0, %[[Y]]#1
  %0 = graph.contract %x, %w batch = [] x [] contract = [1] x [1] : (tensor<32x20xf32>, tensor<64x20xf32>) -> tensor<32x64xf32>
  %1 = graph.broadcast %b dims = [1] : tensor<64xf32> -> tensor<32x64xf32>
  %2 = arith.addf %0, %1 : tensor<32x64xf32>
  %3 = math.tanh %2 : tensor<32x64xf32>
  return %2, %3 : tensor<32x64xf32>, tensor<32x64xf32>
}

// -----

// The gradient of relu is an epilogue of the product that makes dh.
// CHECK-LABEL: func.func @mask
func.func @mask(%dy: tensor<32x10xf32>, %w: tensor<10x64xf32>, %h: tensor<32x64xf32>) -> tensor<32x64xf32> {
  // CHECK-NEXT: kern.gemm %arg0, %arg1 extras(%arg2)
  // CHECK: arith.cmpf ole
  // CHECK: arith.select
  // CHECK-NOT: kern.map
  %zero = arith.constant dense<0.0> : tensor<32x64xf32>
  %m = arith.cmpf ole, %h, %zero : tensor<32x64xf32>
  %0 = graph.contract %dy, %w batch = [] x [] contract = [1] x [0] : (tensor<32x10xf32>, tensor<10x64xf32>) -> tensor<32x64xf32>
  %1 = arith.select %m, %zero, %0 : tensor<32x64xi1>, tensor<32x64xf32>
  return %1 : tensor<32x64xf32>
}

// -----

// A transposed reader cannot be an epilogue, whose elements lie in the order of
// the tile.
// CHECK-LABEL: func.func @transposed_epilogue
func.func @transposed_epilogue(%x: tensor<32x20xf32>, %w: tensor<64x20xf32>, %y: tensor<64x32xf32>) -> tensor<64x32xf32> {
  // CHECK-NEXT: %[[Y:.*]] = kern.gemm
  // CHECK: kern.map(%{{.*}}) bounds = [64, 32]
  // CHECK: arith.addf
  %0 = graph.contract %x, %w batch = [] x [] contract = [1] x [1] : (tensor<32x20xf32>, tensor<64x20xf32>) -> tensor<32x64xf32>
  %1 = graph.transpose %0 permutation = [1, 0] : tensor<32x64xf32> -> tensor<64x32xf32>
  %2 = arith.addf %1, %y : tensor<64x32xf32>
  return %2 : tensor<64x32xf32>
}

// -----

// A product that is the factor of another stays; its other users still merge.
// CHECK-LABEL: func.func @two_layers
func.func @two_layers(%x: tensor<32x20xf32>, %w: tensor<64x20xf32>, %v: tensor<10x64xf32>) -> tensor<32x10xf32> {
  // CHECK-NEXT: %[[H:.*]] = kern.gemm %arg0, %arg1
  // CHECK: math.tanh
  // CHECK: kern.gemm %[[H]], %arg2
  // CHECK: math.tanh
  // CHECK-NOT: kern.map
  %0 = graph.contract %x, %w batch = [] x [] contract = [1] x [1] : (tensor<32x20xf32>, tensor<64x20xf32>) -> tensor<32x64xf32>
  %1 = math.tanh %0 : tensor<32x64xf32>
  %2 = graph.contract %1, %v batch = [] x [] contract = [1] x [1] : (tensor<32x64xf32>, tensor<10x64xf32>) -> tensor<32x10xf32>
  %3 = math.tanh %2 : tensor<32x10xf32>
  return %3 : tensor<32x10xf32>
}

// -----

// What is cheap is computed again by everyone who needs it: no comparison or
// broadcast is stored.
// CHECK-LABEL: func.func @cheap
func.func @cheap(%b: tensor<64xf32>, %h: tensor<32x64xf32>, %x: tensor<32x64xf32>, %w: tensor<10x64xf32>) -> (tensor<32xf32>, tensor<32x10xf32>) {
  // CHECK-NOT: -> tensor<32x64xi1>
  // CHECK: kern.rows(
  // CHECK: arith.cmpf ogt
  // CHECK: kern.gemm
  %zero = arith.constant dense<0.0> : tensor<32x64xf32>
  %0 = arith.cmpf ogt, %h, %zero : tensor<32x64xf32>
  %1 = arith.select %0, %x, %zero : tensor<32x64xi1>, tensor<32x64xf32>
  %2 = graph.reduce sum %1 dims = [1] : tensor<32x64xf32> -> tensor<32xf32>
  %3 = arith.select %0, %h, %x : tensor<32x64xi1>, tensor<32x64xf32>
  %4 = graph.contract %3, %w batch = [] x [] contract = [1] x [1] : (tensor<32x64xf32>, tensor<10x64xf32>) -> tensor<32x10xf32>
  return %2, %4 : tensor<32xf32>, tensor<32x10xf32>
}

// -----

// What is costly is computed once.
// CHECK-LABEL: func.func @costly
func.func @costly(%x: tensor<32x64xf32>) -> (tensor<32xf32>, tensor<64xf32>) {
  // CHECK: math.exp
  // CHECK-NOT: math.exp
  %0 = math.exp %x : tensor<32x64xf32>
  %1 = graph.reduce sum %0 dims = [1] : tensor<32x64xf32> -> tensor<32xf32>
  %2 = graph.reduce sum %0 dims = [0] : tensor<32x64xf32> -> tensor<64xf32>
  return %1, %2 : tensor<32xf32>, tensor<64xf32>
}

// -----

// The mask of dropout is computed again in the backward pass, not stored.
// CHECK-LABEL: func.func @dropout
func.func @dropout(%x: tensor<32x84xf32>, %dy: tensor<32x84xf32>, %w: tensor<10x84xf32>, %step: !graph.step) -> (tensor<32x10xf32>, tensor<32x84xf32>) {
  // CHECK: kern.random
  // CHECK: kern.gemm
  // CHECK: kern.random
  // CHECK-NOT: -> tensor<32x84xi1>
  %half = arith.constant dense<0.5> : tensor<32x84xf32>
  %zero = arith.constant dense<0.0> : tensor<32x84xf32>
  %u = graph.random %step id = 3 : tensor<32x84xf32>
  %m = arith.cmpf oge, %u, %half : tensor<32x84xf32>
  %0 = arith.select %m, %x, %zero : tensor<32x84xi1>, tensor<32x84xf32>
  %1 = graph.contract %0, %w batch = [] x [] contract = [1] x [1] : (tensor<32x84xf32>, tensor<10x84xf32>) -> tensor<32x10xf32>
  %e = math.exp %dy : tensor<32x84xf32>
  %2 = arith.select %m, %e, %zero : tensor<32x84xi1>, tensor<32x84xf32>
  return %1, %2 : tensor<32x10xf32>, tensor<32x84xf32>
}

// -----

// An index read through a transpose stays the index of the dimension.
// CHECK-LABEL: func.func @index
func.func @index(%x: tensor<3x2xi64>) -> tensor<3x2xi64> {
  // CHECK-NEXT: kern.map(%arg0) bounds = [3, 2]
  // CHECK: kern.index 0 : i64
  %0 = graph.iota dim = 1 : tensor<2x3xi64>
  %1 = graph.transpose %0 permutation = [1, 0] : tensor<2x3xi64> -> tensor<3x2xi64>
  %2 = arith.addi %x, %1 : tensor<3x2xi64>
  return %2 : tensor<3x2xi64>
}

// -----

// A prologue and an epilogue of a fold; the mean is scaled once per row.
// CHECK-LABEL: func.func @rows
func.func @rows(%x: tensor<8x16xf32>, %y: tensor<8x16xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: kern.rows(%arg0, %arg1) bounds = [8, 16] reduced = [1]
  // CHECK: arith.subf
  // CHECK: arith.mulf
  // CHECK: kern.fold sum
  // CHECK: arith.divf
  // CHECK-NOT: kern.map
  %n = arith.constant dense<16.0> : tensor<8xf32>
  %0 = arith.subf %x, %y : tensor<8x16xf32>
  %1 = arith.mulf %0, %0 : tensor<8x16xf32>
  %2 = graph.reduce sum %1 dims = [1] : tensor<8x16xf32> -> tensor<8xf32>
  %3 = arith.divf %2, %n : tensor<8xf32>
  return %3 : tensor<8xf32>
}

// -----

// Cross-entropy and its gradient read the logits once.
// CHECK-LABEL: func.func @cross_entropy
func.func @cross_entropy(%x: tensor<32x10xf32>, %labels: tensor<32xi64>) -> (tensor<32xf32>, tensor<32x10xf32>) {
  // CHECK-NEXT: %[[R:.*]]:2 = kern.rows(%arg0, %arg1) bounds = [32, 10] reduced = [1]
  // CHECK: (tensor<32x10xf32>, tensor<32xi64>) -> (tensor<32xf32>, tensor<32x10xf32>)
  // CHECK-NEXT: return %[[R]]#0, %[[R]]#1
  %d = arith.constant dense<0.03125> : tensor<32xf32>
  %loss, %lse = graph.cross_entropy %x, %labels {ignore_index = -100 : i64} : (tensor<32x10xf32>, tensor<32xi64>) -> (tensor<32xf32>, tensor<32xf32>)
  %dx = graph.cross_entropy_grad %x, %labels, %lse, %d {ignore_index = -100 : i64} : (tensor<32x10xf32>, tensor<32xi64>, tensor<32xf32>, tensor<32xf32>) -> tensor<32x10xf32>
  return %loss, %dx : tensor<32xf32>, tensor<32x10xf32>
}

// -----

// Batch norm in training: statistics, running statistics, normalisation,
// residual and activation are one kernel.
// CHECK-LABEL: func.func @batch_norm_block
func.func @batch_norm_block(%x: tensor<4x16x8x8xf32>, %c: tensor<16xf32>, %running: tensor<16xf32>, %residual: tensor<4x16x8x8xf32>) -> (tensor<4x16x8x8xf32>, tensor<16xf32>, tensor<16xf32>) {
  // CHECK-NEXT: %[[R:.*]]:3 = kern.rows({{.*}}) bounds = [4, 16, 8, 8] reduced = [0, 2, 3]
  // CHECK: return
  %keep = arith.constant dense<0.9> : tensor<16xf32>
  %take = arith.constant dense<0.1> : tensor<16xf32>
  %zero = arith.constant dense<0.0> : tensor<4x16x8x8xf32>
  %y, %m, %v = graph.batch_norm_train %x, %c, %c {epsilon = 1.0e-5 : f64} : (tensor<4x16x8x8xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<4x16x8x8xf32>, tensor<16xf32>, tensor<16xf32>)
  %0 = arith.mulf %running, %keep : tensor<16xf32>
  %1 = arith.mulf %m, %take : tensor<16xf32>
  %2 = arith.addf %0, %1 : tensor<16xf32>
  %3 = arith.addf %y, %residual : tensor<4x16x8x8xf32>
  %4 = arith.maximumf %3, %zero : tensor<4x16x8x8xf32>
  return %4, %2, %v : tensor<4x16x8x8xf32>, tensor<16xf32>, tensor<16xf32>
}

// -----

// Two row statistics of the same tensor read it once; a column sum is of
// another geometry.
// CHECK-LABEL: func.func @siblings
func.func @siblings(%x: tensor<8x16xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<16xf32>) {
  // CHECK: %[[R:.*]]:2 = kern.rows(%arg0) bounds = [8, 16] reduced = [1]
  // CHECK: %[[C:.*]] = kern.columns(%arg0)
  // CHECK: return %[[R]]#0, %[[R]]#1, %[[C]]
  %0 = graph.reduce sum %x dims = [1] : tensor<8x16xf32> -> tensor<8xf32>
  %1 = graph.reduce max %x dims = [1] : tensor<8x16xf32> -> tensor<8xf32>
  %2 = graph.reduce sum %x dims = [0] : tensor<8x16xf32> -> tensor<16xf32>
  return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<16xf32>
}

// -----

// Merging the first with the last map would make a cycle through the product.
// CHECK-LABEL: func.func @no_cycle
func.func @no_cycle(%x: tensor<32x32xf32>) -> tensor<32x32xf32> {
  // CHECK-NEXT: %[[A:.*]] = kern.map(%arg0)
  // CHECK: math.exp
  // CHECK: %[[B:.*]] = kern.gemm %[[A]], %[[A]] extras(%[[A]])
  // CHECK: arith.addf
  // CHECK: return %[[B]]
  %0 = math.exp %x : tensor<32x32xf32>
  %1 = graph.contract %0, %0 batch = [] x [] contract = [1] x [0] : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %2 = arith.addf %1, %0 : tensor<32x32xf32>
  return %2 : tensor<32x32xf32>
}

// -----

// Users of an intermediate value that stand between producer and consumer move
// behind the merged kernel.
// CHECK-LABEL: func.func @order
func.func @order(%x: tensor<32x32xf32>, %y: tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<32x32xf32>) {
  // CHECK: %[[M:.*]]:2 = kern.map(
  // CHECK: kern.gemm %[[M]]#0
  %0 = math.exp %x : tensor<32x32xf32>
  %1 = graph.contract %0, %y batch = [] x [] contract = [1] x [0] : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %2 = math.tanh %0 : tensor<32x32xf32>
  return %1, %2 : tensor<32x32xf32>, tensor<32x32xf32>
}

// -----

// The mean over valid labels and the gradient's factor share the count. Merging
// the count with the mean first would put the loss before the gradient and keep
// the two large kernels apart.
// CHECK-LABEL: func.func @most_valuable_first
func.func @most_valuable_first(%x: tensor<4x10xf32>, %labels: tensor<4xi64>) -> (tensor<f32>, tensor<4x10xf32>) {
  // CHECK: kern.rows({{.*}}) bounds = [4] reduced = [0]
  // CHECK: kern.rows({{.*}}) bounds = [4, 10] reduced = [1]
  // CHECK: kern.rows({{.*}}) bounds = [4] reduced = [0]
  // CHECK-NOT: kern.map
  // CHECK-NOT: kern.rows
  %one = arith.constant dense<1.0> : tensor<4xf32>
  %unit = arith.constant dense<1.0> : tensor<f32>
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %ignored = arith.constant dense<-100> : tensor<4xi64>
  %loss, %lse = graph.cross_entropy %x, %labels {ignore_index = -100 : i64} : (tensor<4x10xf32>, tensor<4xi64>) -> (tensor<4xf32>, tensor<4xf32>)
  %sum = graph.reduce sum %loss dims = [0] : tensor<4xf32> -> tensor<f32>
  %valid = arith.cmpi ne, %labels, %ignored : tensor<4xi64>
  %weights = arith.select %valid, %one, %zero : tensor<4xi1>, tensor<4xf32>
  %count = graph.reduce sum %weights dims = [0] : tensor<4xf32> -> tensor<f32>
  %mean = arith.divf %sum, %count : tensor<f32>
  %factor = arith.divf %unit, %count : tensor<f32>
  %d = graph.broadcast %factor dims = [] : tensor<f32> -> tensor<4xf32>
  %dx = graph.cross_entropy_grad %x, %labels, %lse, %d {ignore_index = -100 : i64} : (tensor<4x10xf32>, tensor<4xi64>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x10xf32>
  return %mean, %dx : tensor<f32>, tensor<4x10xf32>
}

// -----

// Through a reshape: the reader of the flat tensor works on the original shape.
// CHECK-LABEL: func.func @collapse
func.func @collapse(%x: tensor<4x2x3xf32>, %b: tensor<6xf32>) -> tensor<4x6xf32> {
  // CHECK: kern.map({{.*}}) bounds = [4, 2, 3]
  // CHECK: math.exp
  // CHECK: arith.addf
  // CHECK-NOT: kern.map
  %0 = math.exp %x : tensor<4x2x3xf32>
  %1 = tensor.collapse_shape %0 [[0], [1, 2]] : tensor<4x2x3xf32> into tensor<4x6xf32>
  %2 = graph.broadcast %b dims = [1] : tensor<6xf32> -> tensor<4x6xf32>
  %3 = arith.addf %1, %2 : tensor<4x6xf32>
  return %3 : tensor<4x6xf32>
}

// -----

// A product keeps its dimensions: its reader, elementwise, becomes flat.
// CHECK-LABEL: func.func @expand_product
func.func @expand_product(%x: tensor<4x5xf32>, %w: tensor<5x6xf32>, %h: tensor<4x2x3xf32>) -> tensor<4x2x3xf32> {
  // CHECK: %[[H:.*]] = tensor.collapse_shape %arg2
  // CHECK: %[[Y:.*]] = kern.gemm %arg0, %arg1 extras(%[[H]])
  // CHECK: arith.mulf
  // CHECK: tensor.expand_shape %[[Y]]
  // CHECK-NOT: kern.map
  %0 = graph.contract %x, %w batch = [] x [] contract = [1] x [0] : (tensor<4x5xf32>, tensor<5x6xf32>) -> tensor<4x6xf32>
  %1 = tensor.expand_shape %0 [[0], [1, 2]] output_shape [4, 2, 3] : tensor<4x6xf32> into tensor<4x2x3xf32>
  %2 = arith.mulf %1, %h : tensor<4x2x3xf32>
  return %2 : tensor<4x2x3xf32>
}

// -----

// A bias along a part of the merged dimensions cannot become flat.
// CHECK-LABEL: func.func @expand_product_channels
func.func @expand_product_channels(%x: tensor<4x5xf32>, %w: tensor<5x6xf32>, %b: tensor<2xf32>) -> tensor<4x2x3xf32> {
  // CHECK: kern.gemm
  // CHECK: tensor.expand_shape
  // CHECK: kern.map({{.*}}) bounds = [4, 2, 3]
  %0 = graph.contract %x, %w batch = [] x [] contract = [1] x [0] : (tensor<4x5xf32>, tensor<5x6xf32>) -> tensor<4x6xf32>
  %1 = tensor.expand_shape %0 [[0], [1, 2]] output_shape [4, 2, 3] : tensor<4x6xf32> into tensor<4x2x3xf32>
  %2 = graph.broadcast %b dims = [1] : tensor<2xf32> -> tensor<4x2x3xf32>
  %3 = arith.mulf %1, %2 : tensor<4x2x3xf32>
  return %3 : tensor<4x2x3xf32>
}

// -----

// A mask that is cheap to make and read through a reshape by several kernels is
// made in the shape they read, by each of them. The two sums are tiny and
// independent: one launch.
// CHECK-LABEL: func.func @mask_through_reshape
func.func @mask_through_reshape(%x: tensor<8x10xf32>, %y: tensor<8xf32>, %step: !graph.step) -> (tensor<f32>, tensor<f32>) {
  // CHECK: kern.rows({{.*}}) bounds = [8, 10] reduced = [1]
  // CHECK: arith.cmpi slt
  // CHECK: kern.rows({{.*}}) bounds = [8] reduced = [0]
  // CHECK: arith.cmpi slt
  // CHECK: kern.yield %{{.*}}, %{{.*}} : f32, f32
  // CHECK-NOT: kern.map
  // CHECK-NOT: kern.rows
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %i = graph.iota dim = 0 : tensor<8x1xi64>
  %rows = graph.step_value valid_rows %step : tensor<i64>
  %n = graph.broadcast %rows dims = [] : tensor<i64> -> tensor<8x1xi64>
  %valid2 = arith.cmpi slt, %i, %n : tensor<8x1xi64>
  %valid = tensor.collapse_shape %valid2 [[0, 1]] : tensor<8x1xi1> into tensor<8xi1>
  %0 = graph.reduce max %x dims = [1] : tensor<8x10xf32> -> tensor<8xf32>
  %1 = arith.select %valid, %0, %zero : tensor<8xi1>, tensor<8xf32>
  %2 = graph.reduce sum %1 dims = [0] : tensor<8xf32> -> tensor<f32>
  %3 = arith.select %valid, %y, %zero : tensor<8xi1>, tensor<8xf32>
  %4 = graph.reduce sum %3 dims = [0] : tensor<8xf32> -> tensor<f32>
  return %2, %4 : tensor<f32>, tensor<f32>
}

// -----

// The gradient of gelu is an epilogue of the product before it, also through a reshape, although a bias gradient reads
// the same values.
// CHECK-LABEL: func.func @epilogue_through_reshape
// CHECK: %[[D:.*]] = kern.gemm %{{.*}} extras(%{{.*}}) maps
// CHECK: math.erf
// CHECK: kern.columns
// CHECK-NOT: math.erf
// CHECK: return
func.func @epilogue_through_reshape(%dy: tensor<6x5xf32>, %w: tensor<8x5xf32>, %x: tensor<2x3x8xf32>) -> (tensor<2x3x8xf32>, tensor<8xf32>) {
  %0 = graph.contract %dy, %w batch = [] x [] contract = [1] x [1] : (tensor<6x5xf32>, tensor<8x5xf32>) -> tensor<6x8xf32>
  %1 = tensor.expand_shape %0 [[0, 1], [2]] output_shape [2, 3, 8] : tensor<6x8xf32> into tensor<2x3x8xf32>
  %2 = graph.gelu_grad none %x, %1 : tensor<2x3x8xf32>
  %3 = graph.reduce sum %2 dims = [0, 1] : tensor<2x3x8xf32> -> tensor<8xf32>
  return %2, %3 : tensor<2x3x8xf32>, tensor<8xf32>
}
