// RUN: bessemer-opt %s --canonicalize --cse --raise-attention --canonicalize --split-input-file | FileCheck %s

// As PyTorch's exporter writes scaled_dot_product_attention: the root of the scale on both sides, k transposed through
// a batch of heads, a causal mask as a constant. 0.5 = 0.707 0.707.
// CHECK-LABEL: func.func @sdpa
// CHECK-SAME: (%[[Q:[a-z0-9]+]]: tensor<2x3x4x4xf32>, %{{.*}}: tensor<2x3x4x4xf32>, %[[V:[a-z0-9]+]]: tensor<2x3x4x4xf32>)
// CHECK-NOT: graph.softmax
// CHECK: %[[Y:.*]], %{{.*}} = graph.attention %[[Q]], %{{.*}}, %[[V]] {causal, scale = 0.4999999{{.*}} : f64} :
// CHECK: return %[[Y]]
func.func @sdpa(%q: tensor<2x3x4x4xf32>, %k: tensor<2x3x4x4xf32>, %v: tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
  %root = arith.constant dense<0.707106769> : tensor<2x3x4x4xf32>
  %mask = arith.constant dense<[[0.0, 0xFF800000, 0xFF800000, 0xFF800000], [0.0, 0.0, 0xFF800000, 0xFF800000],
      [0.0, 0.0, 0.0, 0xFF800000], [0.0, 0.0, 0.0, 0.0]]> : tensor<4x4xf32>
  %0 = tensor.collapse_shape %k [[0, 1], [2], [3]] : tensor<2x3x4x4xf32> into tensor<6x4x4xf32>
  %1 = graph.transpose %0 permutation = [0, 2, 1] : tensor<6x4x4xf32> -> tensor<6x4x4xf32>
  %2 = tensor.expand_shape %1 [[0, 1], [2], [3]] output_shape [2, 3, 4, 4] : tensor<6x4x4xf32> into tensor<2x3x4x4xf32>
  %3 = arith.mulf %q, %root : tensor<2x3x4x4xf32>
  %4 = arith.mulf %2, %root : tensor<2x3x4x4xf32>
  %5 = graph.contract %3, %4 batch = [0, 1] x [0, 1] contract = [3] x [2]
      : (tensor<2x3x4x4xf32>, tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
  %6 = graph.broadcast %mask dims = [2, 3] : tensor<4x4xf32> -> tensor<2x3x4x4xf32>
  %7 = arith.addf %5, %6 : tensor<2x3x4x4xf32>
  %8 = graph.softmax %7 dim = 3 : tensor<2x3x4x4xf32>
  %9 = graph.contract %8, %v batch = [0, 1] x [0, 1] contract = [3] x [2]
      : (tensor<2x3x4x4xf32>, tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
  return %9 : tensor<2x3x4x4xf32>
}

// -----

// A mask that is an input, rows of NaN replaced, dropout.
// CHECK-LABEL: func.func @masked
// CHECK-SAME: %[[M:[a-z0-9]+]]: tensor<2x1x1x5xf32>, %[[STEP:[a-z0-9]+]]: !graph.step
// CHECK: %[[Y:.*]], %{{.*}} = graph.attention %{{.*}} mask %[[M]] step %[[STEP]]
// CHECK-SAME: {id = 4 : i64, ratio = 1.000000e-01 : f64, scale = 1.000000e+00 : f64}
// CHECK: return %[[Y]]
func.func @masked(%q: tensor<2x3x4x2xf32>, %k: tensor<2x3x2x5xf32>, %v: tensor<2x3x5x2xf32>, %m: tensor<2x1x1x5xf32>, %step: !graph.step) -> tensor<2x3x4x2xf32> {
  %zero = arith.constant dense<0.0> : tensor<2x3x4x5xf32>
  %0 = graph.contract %q, %k batch = [0, 1] x [0, 1] contract = [3] x [2]
      : (tensor<2x3x4x2xf32>, tensor<2x3x2x5xf32>) -> tensor<2x3x4x5xf32>
  %1 = tensor.collapse_shape %m [[0], [1, 2, 3]] : tensor<2x1x1x5xf32> into tensor<2x5xf32>
  %2 = graph.broadcast %1 dims = [0, 3] : tensor<2x5xf32> -> tensor<2x3x4x5xf32>
  %3 = arith.addf %0, %2 : tensor<2x3x4x5xf32>
  %4 = graph.softmax %3 dim = 3 : tensor<2x3x4x5xf32>
  %5 = arith.cmpf uno, %4, %4 : tensor<2x3x4x5xf32>
  %6 = arith.select %5, %zero, %4 : tensor<2x3x4x5xi1>, tensor<2x3x4x5xf32>
  %7 = graph.dropout %6, %step {ratio = 0.1 : f64, id = 4 : i64} : (tensor<2x3x4x5xf32>, !graph.step) -> tensor<2x3x4x5xf32>
  %8 = graph.contract %7, %v batch = [0, 1] x [0, 1] contract = [3] x [2]
      : (tensor<2x3x4x5xf32>, tensor<2x3x5x2xf32>) -> tensor<2x3x4x2xf32>
  return %8 : tensor<2x3x4x2xf32>
}

// -----

// nn.MultiheadAttention: batch and heads are one dimension.
// CHECK-LABEL: func.func @multihead
// CHECK: %[[Y:.*]], %{{.*}} = graph.attention %{{.*}} {scale = 5.000000e-01 : f64} : (tensor<6x1x4x2xf32>, tensor<6x1x5x2xf32>, tensor<6x1x5x2xf32>)
func.func @multihead(%q: tensor<6x4x2xf32>, %k: tensor<6x5x2xf32>, %v: tensor<6x5x2xf32>) -> tensor<6x4x2xf32> {
  %half = arith.constant dense<0.5> : tensor<6x4x2xf32>
  %0 = arith.mulf %q, %half : tensor<6x4x2xf32>
  %1 = graph.contract %0, %k batch = [0] x [0] contract = [2] x [2]
      : (tensor<6x4x2xf32>, tensor<6x5x2xf32>) -> tensor<6x4x5xf32>
  %2 = graph.softmax %1 dim = 2 : tensor<6x4x5xf32>
  %3 = graph.contract %2, %v batch = [0] x [0] contract = [2] x [1]
      : (tensor<6x4x5xf32>, tensor<6x5x2xf32>) -> tensor<6x4x2xf32>
  return %3 : tensor<6x4x2xf32>
}

// -----

// Written by hand: a division after the product, masked_fill with the positions compared.
// CHECK-LABEL: func.func @by_hand
// CHECK-NOT: mask
// CHECK: graph.attention %{{.*}} {causal, scale = 5.000000e-01 : f64}
func.func @by_hand(%q: tensor<2x3x4x4xf32>, %k: tensor<2x3x4x4xf32>, %v: tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32> {
  %two = arith.constant dense<2.0> : tensor<2x3x4x4xf32>
  %none = arith.constant dense<0xFF800000> : tensor<2x3x4x4xf32>
  %0 = graph.contract %q, %k batch = [0, 1] x [0, 1] contract = [3] x [3]
      : (tensor<2x3x4x4xf32>, tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
  %1 = arith.divf %0, %two : tensor<2x3x4x4xf32>
  %row = graph.iota dim = 0 : tensor<4x4xi64>
  %key = graph.iota dim = 1 : tensor<4x4xi64>
  %2 = arith.cmpi sgt, %key, %row : tensor<4x4xi64>
  %3 = graph.broadcast %2 dims = [2, 3] : tensor<4x4xi1> -> tensor<2x3x4x4xi1>
  %4 = arith.select %3, %none, %1 : tensor<2x3x4x4xi1>, tensor<2x3x4x4xf32>
  %5 = graph.softmax %4 dim = 3 : tensor<2x3x4x4xf32>
  %6 = graph.contract %5, %v batch = [0, 1] x [0, 1] contract = [3] x [2]
      : (tensor<2x3x4x4xf32>, tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>
  return %6 : tensor<2x3x4x4xf32>
}

// -----

// Grouped-query attention: k and v repeated for two heads each, k before it is transposed and scaled. The mask is a
// condition.
// CHECK-LABEL: func.func @grouped
// CHECK-SAME: (%[[Q:[a-z0-9]+]]: tensor<2x4x3x2xf32>, %[[K:[a-z0-9]+]]: tensor<2x2x3x2xf32>, %[[V:[a-z0-9]+]]: tensor<2x2x3x2xf32>, %[[C:[a-z0-9]+]]: tensor<2x3xi1>)
// CHECK: %[[M:.*]] = arith.select %[[C]]
// CHECK: %[[M4:.*]] = tensor.expand_shape %[[M]] {{.*}} into tensor<2x1x1x3xf32>
// CHECK: graph.attention %[[Q]], %[[K]], %[[V]] mask %[[M4]] {scale = 2.500000e-01 : f64}
func.func @grouped(%q: tensor<2x4x3x2xf32>, %k: tensor<2x2x3x2xf32>, %v: tensor<2x2x3x2xf32>, %c: tensor<2x3xi1>) -> tensor<2x4x3x2xf32> {
  %quarter = arith.constant dense<0.25> : tensor<2x4x2x3xf32>
  %low = arith.constant dense<-1.0e9> : tensor<2x4x3x3xf32>
  %0 = graph.broadcast %k dims = [0, 1, 3, 4] : tensor<2x2x3x2xf32> -> tensor<2x2x2x3x2xf32>
  %1 = tensor.collapse_shape %0 [[0], [1, 2], [3], [4]] : tensor<2x2x2x3x2xf32> into tensor<2x4x3x2xf32>
  %2 = graph.broadcast %v dims = [0, 1, 3, 4] : tensor<2x2x3x2xf32> -> tensor<2x2x2x3x2xf32>
  %3 = tensor.collapse_shape %2 [[0], [1, 2], [3], [4]] : tensor<2x2x2x3x2xf32> into tensor<2x4x3x2xf32>
  %4 = graph.transpose %1 permutation = [0, 1, 3, 2] : tensor<2x4x3x2xf32> -> tensor<2x4x2x3xf32>
  %5 = arith.mulf %4, %quarter : tensor<2x4x2x3xf32>
  %6 = graph.contract %q, %5 batch = [0, 1] x [0, 1] contract = [3] x [2]
      : (tensor<2x4x3x2xf32>, tensor<2x4x2x3xf32>) -> tensor<2x4x3x3xf32>
  %7 = graph.broadcast %c dims = [0, 3] : tensor<2x3xi1> -> tensor<2x4x3x3xi1>
  %8 = arith.select %7, %6, %low : tensor<2x4x3x3xi1>, tensor<2x4x3x3xf32>
  %9 = graph.softmax %8 dim = 3 : tensor<2x4x3x3xf32>
  %10 = graph.contract %9, %3 batch = [0, 1] x [0, 1] contract = [3] x [2]
      : (tensor<2x4x3x3xf32>, tensor<2x4x3x2xf32>) -> tensor<2x4x3x2xf32>
  return %10 : tensor<2x4x3x2xf32>
}

// -----

// A mask that is trained (a relative position bias) stays outside.
// CHECK-LABEL: func.func @trained_mask
// CHECK-NOT: graph.attention
graph.state @bias parameter trainable : tensor<4x5xf32> = dense<0.5> : tensor<4x5xf32>
func.func @trained_mask(%q: tensor<6x4x2xf32>, %k: tensor<6x5x2xf32>, %v: tensor<6x5x2xf32>) -> tensor<6x4x2xf32> {
  %bias = graph.read @bias : tensor<4x5xf32>
  %0 = graph.contract %q, %k batch = [0] x [0] contract = [2] x [2]
      : (tensor<6x4x2xf32>, tensor<6x5x2xf32>) -> tensor<6x4x5xf32>
  %1 = graph.broadcast %bias dims = [1, 2] : tensor<4x5xf32> -> tensor<6x4x5xf32>
  %2 = arith.addf %0, %1 : tensor<6x4x5xf32>
  %3 = graph.softmax %2 dim = 2 : tensor<6x4x5xf32>
  %4 = graph.contract %3, %v batch = [0] x [0] contract = [2] x [1]
      : (tensor<6x4x5xf32>, tensor<6x5x2xf32>) -> tensor<6x4x2xf32>
  return %4 : tensor<6x4x2xf32>
}

// -----

// So does attention whose probabilities are a result.
// CHECK-LABEL: func.func @shown_probabilities
// CHECK-NOT: graph.attention
func.func @shown_probabilities(%q: tensor<6x4x2xf32>, %k: tensor<6x5x2xf32>, %v: tensor<6x5x2xf32>) -> (tensor<6x4x2xf32>, tensor<6x4x5xf32>) {
  %0 = graph.contract %q, %k batch = [0] x [0] contract = [2] x [2]
      : (tensor<6x4x2xf32>, tensor<6x5x2xf32>) -> tensor<6x4x5xf32>
  %1 = graph.softmax %0 dim = 2 : tensor<6x4x5xf32>
  %2 = graph.contract %1, %v batch = [0] x [0] contract = [2] x [1]
      : (tensor<6x4x5xf32>, tensor<6x5x2xf32>) -> tensor<6x4x2xf32>
  return %2, %1 : tensor<6x4x2xf32>, tensor<6x4x5xf32>
}

// -----

// The function body of ONNX's Attention: rows of which the mask hides all keys are 0.
// CHECK-LABEL: func.func @hidden_rows
// CHECK-SAME: %[[M:[a-z0-9]+]]: tensor<2x1x4x5xf32>
// CHECK: %[[Y:.*]], %{{.*}} = graph.attention %{{.*}} mask %[[M]] {
// CHECK: return %[[Y]]
func.func @hidden_rows(%q: tensor<2x3x4x2xf32>, %k: tensor<2x3x2x5xf32>, %v: tensor<2x3x5x2xf32>, %m: tensor<2x1x4x5xf32>) -> tensor<2x3x4x2xf32> {
  %zero = arith.constant dense<0.0> : tensor<2x3x4x5xf32>
  %none = arith.constant dense<0xFF800000> : tensor<2x1x4x1xf32>
  %0 = graph.contract %q, %k batch = [0, 1] x [0, 1] contract = [3] x [2]
      : (tensor<2x3x4x2xf32>, tensor<2x3x2x5xf32>) -> tensor<2x3x4x5xf32>
  %1 = tensor.collapse_shape %m [[0], [1, 2], [3]] : tensor<2x1x4x5xf32> into tensor<2x4x5xf32>
  %2 = graph.broadcast %1 dims = [0, 2, 3] : tensor<2x4x5xf32> -> tensor<2x3x4x5xf32>
  %3 = arith.addf %0, %2 : tensor<2x3x4x5xf32>
  %4 = graph.softmax %3 dim = 3 : tensor<2x3x4x5xf32>
  %5 = graph.reduce max %m dims = [3] : tensor<2x1x4x5xf32> -> tensor<2x1x4xf32>
  %6 = tensor.expand_shape %5 [[0], [1], [2, 3]] output_shape [2, 1, 4, 1] : tensor<2x1x4xf32> into tensor<2x1x4x1xf32>
  %7 = arith.cmpf oeq, %6, %none : tensor<2x1x4x1xf32>
  %8 = tensor.collapse_shape %7 [[0], [1, 2, 3]] : tensor<2x1x4x1xi1> into tensor<2x4xi1>
  %9 = graph.broadcast %8 dims = [0, 2] : tensor<2x4xi1> -> tensor<2x3x4x5xi1>
  %10 = arith.select %9, %zero, %4 : tensor<2x3x4x5xi1>, tensor<2x3x4x5xf32>
  %11 = graph.contract %10, %v batch = [0, 1] x [0, 1] contract = [3] x [2]
      : (tensor<2x3x4x5xf32>, tensor<2x3x5x2xf32>) -> tensor<2x3x4x2xf32>
  return %11 : tensor<2x3x4x2xf32>
}

// -----

// Rows that another mask hides see keys here.
// CHECK-LABEL: func.func @otherwise_hidden_rows
// CHECK-NOT: graph.attention
func.func @otherwise_hidden_rows(%q: tensor<2x3x4x2xf32>, %k: tensor<2x3x2x5xf32>, %v: tensor<2x3x5x2xf32>, %m: tensor<2x3x4x5xf32>, %o: tensor<2x3x4x5xf32>) -> tensor<2x3x4x2xf32> {
  %zero = arith.constant dense<0.0> : tensor<2x3x4x5xf32>
  %none = arith.constant dense<0xFF800000> : tensor<2x3x4x1xf32>
  %0 = graph.contract %q, %k batch = [0, 1] x [0, 1] contract = [3] x [2]
      : (tensor<2x3x4x2xf32>, tensor<2x3x2x5xf32>) -> tensor<2x3x4x5xf32>
  %1 = arith.addf %0, %m : tensor<2x3x4x5xf32>
  %2 = graph.softmax %1 dim = 3 : tensor<2x3x4x5xf32>
  %3 = graph.reduce max %o dims = [3] : tensor<2x3x4x5xf32> -> tensor<2x3x4xf32>
  %4 = tensor.expand_shape %3 [[0], [1], [2, 3]] output_shape [2, 3, 4, 1] : tensor<2x3x4xf32> into tensor<2x3x4x1xf32>
  %5 = arith.cmpf oeq, %4, %none : tensor<2x3x4x1xf32>
  %6 = tensor.collapse_shape %5 [[0], [1], [2, 3]] : tensor<2x3x4x1xi1> into tensor<2x3x4xi1>
  %7 = graph.broadcast %6 dims = [0, 1, 2] : tensor<2x3x4xi1> -> tensor<2x3x4x5xi1>
  %8 = arith.select %7, %zero, %2 : tensor<2x3x4x5xi1>, tensor<2x3x4x5xf32>
  %9 = graph.contract %8, %v batch = [0, 1] x [0, 1] contract = [3] x [2]
      : (tensor<2x3x4x5xf32>, tensor<2x3x5x2xf32>) -> tensor<2x3x4x2xf32>
  return %9 : tensor<2x3x4x2xf32>
}
