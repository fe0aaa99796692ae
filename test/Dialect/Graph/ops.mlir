// Every graph op parses what it prints.
// RUN: bessemer-opt %s | bessemer-opt | FileCheck %s

// CHECK: graph.state @fc.weight parameter trainable : tensor<10x84xf32> = dense<5.000000e-01> : tensor<10x84xf32> {why = "marked PARAMETER"}
graph.state @fc.weight parameter trainable : tensor<10x84xf32> = dense<0.5> : tensor<10x84xf32> {why = "marked PARAMETER"}
// CHECK: graph.state @conv.weight parameter : tensor<2x1x3x3x16x16xf32> = dense<0.000000e+00> : tensor<32x16x3x3xf32> {layout = "OIhw16i16o"}
graph.state @conv.weight parameter : tensor<2x1x3x3x16x16xf32> = dense<0.0> : tensor<32x16x3x3xf32> {layout = "OIhw16i16o"}
// CHECK: graph.state @updates counter : tensor<i64> = dense<0> : tensor<i64>
graph.state @updates counter : tensor<i64> = dense<0> : tensor<i64>

// CHECK-LABEL: func.func @state
func.func @state(%step: !graph.step) {
  // CHECK: %[[W:.*]] = graph.read @fc.weight : tensor<10x84xf32>
  %w = graph.read @fc.weight : tensor<10x84xf32>
  // CHECK: graph.write @fc.weight, %[[W]] : tensor<10x84xf32>
  graph.write @fc.weight, %w : tensor<10x84xf32>
  // CHECK: graph.step_value learning_rate %{{.*}} : tensor<f32>
  %lr = graph.step_value learning_rate %step : tensor<f32>
  // CHECK: graph.step_value valid_rows %{{.*}} : tensor<i64>
  %rows = graph.step_value valid_rows %step : tensor<i64>
  return
}

// CHECK-LABEL: func.func @shape
func.func @shape(%a: tensor<10xf32>, %x: tensor<2x3xf32>, %step: !graph.step) {
  // CHECK: graph.broadcast %{{.*}} dims = [1] : tensor<10xf32> -> tensor<32x10xf32>
  %0 = graph.broadcast %a dims = [1] : tensor<10xf32> -> tensor<32x10xf32>
  // CHECK: graph.transpose %{{.*}} permutation = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %1 = graph.transpose %x permutation = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  // CHECK: graph.iota dim = 1 : tensor<32x10xi64>
  %2 = graph.iota dim = 1 : tensor<32x10xi64>
  // CHECK: graph.random %{{.*}} id = 3 : tensor<32x84xf32>
  %3 = graph.random %step id = 3 : tensor<32x84xf32>
  return
}

// CHECK-LABEL: func.func @reduce
func.func @reduce(%x: tensor<32x10xf32>, %w: tensor<256x10xf32>) {
  // CHECK: graph.reduce sum %{{.*}} dims = [1] : tensor<32x10xf32> -> tensor<32xf32>
  %0 = graph.reduce sum %x dims = [1] : tensor<32x10xf32> -> tensor<32xf32>
  // CHECK: graph.reduce max %{{.*}} dims = [0, 1] : tensor<32x10xf32> -> tensor<f32>
  %1 = graph.reduce max %x dims = [0, 1] : tensor<32x10xf32> -> tensor<f32>
  // CHECK: graph.contract %{{.*}}, %{{.*}} batch = [] x [] contract = [1] x [1] : (tensor<32x10xf32>, tensor<256x10xf32>) -> tensor<32x256xf32>
  %2 = graph.contract %x, %w batch = [] x [] contract = [1] x [1] : (tensor<32x10xf32>, tensor<256x10xf32>) -> tensor<32x256xf32>
  return
}

// CHECK-LABEL: func.func @convolution
func.func @convolution(%x: tensor<8x3x32x32xf32>, %w: tensor<16x3x3x3xf32>, %b: tensor<16xf32>, %dy: tensor<8x16x32x32xf32>) {
  // CHECK: graph.conv %{{.*}}, %{{.*}} bias %{{.*}} {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>}
  %0 = graph.conv %x, %w bias %b {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>}
      : (tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32>, tensor<16xf32>) -> tensor<8x16x32x32xf32>
  // CHECK: graph.conv_input_grad %{{.*}}, %{{.*}} {
  %1 = graph.conv_input_grad %dy, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>}
      : (tensor<8x16x32x32xf32>, tensor<16x3x3x3xf32>) -> tensor<8x3x32x32xf32>
  // CHECK: graph.conv_weight_grad %{{.*}}, %{{.*}} {
  %2 = graph.conv_weight_grad %x, %dy {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>}
      : (tensor<8x3x32x32xf32>, tensor<8x16x32x32xf32>) -> tensor<16x3x3x3xf32>
  return
}

// CHECK-LABEL: func.func @pooling
func.func @pooling(%x: tensor<8x6x28x28xf32>, %dy: tensor<8x6x14x14xf32>) {
  // CHECK: graph.pool max %{{.*}} {
  %0 = graph.pool max %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<8x6x28x28xf32>) -> tensor<8x6x14x14xf32>
  // CHECK: graph.pool average %{{.*}} {count_include_pad,
  %1 = graph.pool average %x {count_include_pad, window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<8x6x28x28xf32>) -> tensor<8x6x14x14xf32>
  // CHECK: graph.max_pool_grad %{{.*}}, %{{.*}} {
  %2 = graph.max_pool_grad %x, %dy {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<8x6x28x28xf32>, tensor<8x6x14x14xf32>) -> tensor<8x6x28x28xf32>
  // CHECK: graph.average_pool_grad %{{.*}} {
  %3 = graph.average_pool_grad %dy {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<8x6x14x14xf32>) -> tensor<8x6x28x28xf32>
  return
}

// CHECK-LABEL: func.func @composites
func.func @composites(%x: tensor<32x10xf32>, %i: tensor<8x16x4x4xf32>, %c: tensor<16xf32>, %labels: tensor<32xi64>, %row: tensor<32xf32>, %step: !graph.step) {
  // CHECK: graph.softmax %{{.*}} dim = 1 : tensor<32x10xf32>
  %0 = graph.softmax %x dim = 1 : tensor<32x10xf32>
  // CHECK: graph.log_softmax %{{.*}} dim = 1 : tensor<32x10xf32>
  %1 = graph.log_softmax %x dim = 1 : tensor<32x10xf32>
  // CHECK: graph.batch_norm %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {epsilon = 1.000000e-05 : f64, momentum = 9.000000e-01 : f64}
  %2 = graph.batch_norm %i, %c, %c, %c, %c {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64}
      : (tensor<8x16x4x4xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<8x16x4x4xf32>
  // CHECK: %{{.*}}, %{{.*}}, %{{.*}} = graph.batch_norm_train %{{.*}}, %{{.*}}, %{{.*}} {epsilon = 1.000000e-05 : f64}
  %3, %m, %v = graph.batch_norm_train %i, %c, %c {epsilon = 1.0e-5 : f64}
      : (tensor<8x16x4x4xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<8x16x4x4xf32>, tensor<16xf32>, tensor<16xf32>)
  // CHECK: graph.batch_norm_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {epsilon = 1.000000e-05 : f64}
  %4, %ds, %db = graph.batch_norm_grad %i, %c, %m, %v, %3 {epsilon = 1.0e-5 : f64}
      : (tensor<8x16x4x4xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<8x16x4x4xf32>)
      -> (tensor<8x16x4x4xf32>, tensor<16xf32>, tensor<16xf32>)
  // CHECK: graph.dropout %{{.*}}, %{{.*}} {id = 3 : i64, ratio = 5.000000e-01 : f64}
  %5 = graph.dropout %x, %step {ratio = 0.5 : f64, id = 3 : i64} : (tensor<32x10xf32>, !graph.step) -> tensor<32x10xf32>
  // CHECK: graph.cross_entropy %{{.*}}, %{{.*}} {ignore_index = -100 : i64}
  %loss, %lse = graph.cross_entropy %x, %labels {ignore_index = -100 : i64}
      : (tensor<32x10xf32>, tensor<32xi64>) -> (tensor<32xf32>, tensor<32xf32>)
  // CHECK: graph.cross_entropy_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {ignore_index = -100 : i64, label_smoothing = 1.000000e-01 : f64}
  %6 = graph.cross_entropy_grad %x, %labels, %lse, %row {ignore_index = -100 : i64, label_smoothing = 0.1 : f64}
      : (tensor<32x10xf32>, tensor<32xi64>, tensor<32xf32>, tensor<32xf32>) -> tensor<32x10xf32>
  return
}

// CHECK-LABEL: func.func @optimizers
func.func @optimizers(%p: tensor<10x84xf32>, %g: tensor<10x84xf32>, %s: tensor<f32>, %i: tensor<4x3xi64>) {
  // CHECK: graph.square_sum %{{.*}}, %{{.*}} : (tensor<10x84xf32>, tensor<10x84xf32>) -> tensor<f32>
  %n = graph.square_sum %p, %g : (tensor<10x84xf32>, tensor<10x84xf32>) -> tensor<f32>
  // CHECK: graph.sgd %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {weight_decay = 1.000000e-02 : f64}
  %p0 = graph.sgd %p, %g, %s, %s, %s {weight_decay = 0.01 : f64}
      : (tensor<10x84xf32>, tensor<10x84xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<10x84xf32>
  // CHECK: graph.sgd %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} buffer %{{.*}} {momentum = 9.000000e-01 : f64, nesterov}
  %p1, %b1 = graph.sgd %p, %g, %s, %s, %s buffer %g {momentum = 0.9 : f64, nesterov}
      : (tensor<10x84xf32>, tensor<10x84xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<10x84xf32>)
      -> (tensor<10x84xf32>, tensor<10x84xf32>)
  // CHECK: graph.adamw %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {beta1 = 9.000000e-01 : f64
  %p2, %m2, %v2 = graph.adamw %p, %g, %g, %g, %s, %s, %s, %s
      {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.01 : f64}
      : (tensor<10x84xf32>, tensor<10x84xf32>, tensor<10x84xf32>, tensor<10x84xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
      -> (tensor<10x84xf32>, tensor<10x84xf32>, tensor<10x84xf32>)
  // CHECK: graph.adamw %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} touched(%{{.*}}, %{{.*}}) {beta1 = 9.000000e-01 : f64
  %p3, %m3, %v3 = graph.adamw %p, %g, %g, %g, %s, %s, %s, %s touched(%i, %i)
      {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.01 : f64}
      : (tensor<10x84xf32>, tensor<10x84xf32>, tensor<10x84xf32>, tensor<10x84xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<4x3xi64>, tensor<4x3xi64>)
      -> (tensor<10x84xf32>, tensor<10x84xf32>, tensor<10x84xf32>)
  return
}

// Folders.
// CHECK-LABEL: func.func @kept
func.func @kept(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // CHECK: graph.transpose %{{.*}} permutation = [0, 1]
  %0 = graph.transpose %x permutation = [0, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
