// RUN: bessemer-opt %s --verify-diagnostics --split-input-file

// expected-error @+1 {{expected init of type 'tensor<2xf32>', got 'tensor<3xf32>'}}
graph.state @w parameter : tensor<2xf32> = dense<0.0> : tensor<3xf32>

// -----

// expected-error @+1 {{expected layout OIhw16i16o, got nChw16c}}
graph.state @w parameter : tensor<2xf32> = dense<0.0> : tensor<2xf32> {layout = "nChw16c"}

// -----

// expected-error @+1 {{expected init of type 'tensor<2x1x3x3x16x16xf32>' when in its layout, got 'tensor<16x32x3x3xf32>'}}
graph.state @w parameter : tensor<2x1x3x3x16x16xf32> = dense<0.0> : tensor<16x32x3x3xf32> {layout = "OIhw16i16o"}

// -----

// expected-error @+1 {{expected init of type 'tensor<24x16x3x3xf32>' when in its layout, got 'tensor<24x16x3x3xf32>'}}
graph.state @w parameter : tensor<24x16x3x3xf32> = dense<0.0> : tensor<24x16x3x3xf32> {layout = "OIhw16i16o"}

// -----

// expected-error @+1 {{expected role parameter of a trainable state, got statistic}}
graph.state @w statistic trainable : tensor<2xf32> = dense<0.0> : tensor<2xf32>

// -----

func.func @f() {
  // expected-error @+1 {{expected a graph.state named @w}}
  %0 = graph.read @w : tensor<2xf32>
  return
}

// -----

graph.state @w parameter : tensor<2xf32> = dense<0.0> : tensor<2xf32>
func.func @f() {
  // expected-error @+1 {{expected type 'tensor<2xf32>' of state @w, got 'tensor<3xf32>'}}
  %0 = graph.read @w : tensor<3xf32>
  return
}

// -----

graph.state @w parameter : tensor<2xf32> = dense<0.0> : tensor<2xf32>
func.func @f(%x: tensor<3xf32>) {
  // expected-error @+1 {{expected type 'tensor<2xf32>' of state @w, got 'tensor<3xf32>'}}
  graph.write @w, %x : tensor<3xf32>
  return
}

// -----

func.func @f(%step: !graph.step) {
  // expected-error @+1 {{expected result type 'tensor<f32>', got 'tensor<i64>'}}
  %0 = graph.step_value learning_rate %step : tensor<i64>
  return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error @+1 {{expected element type 'f32', got 'f64'}}
  %0 = graph.broadcast %x dims = [1] : tensor<3xf32> -> tensor<2x3xf64>
  return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error @+1 {{expected one entry of dims per input dimension (1), got 0}}
  %0 = graph.broadcast %x dims = [] : tensor<3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected strictly increasing dims below 3, got 0 at 1}}
  %0 = graph.broadcast %x dims = [1, 0] : tensor<2x3xf32> -> tensor<3x2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error @+1 {{expected result dimension 0 of size 3, got 2}}
  %0 = graph.broadcast %x dims = [0] : tensor<3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected a permutation of 2 dimensions}}
  %0 = graph.transpose %x permutation = [1, 1] : tensor<2x3xf32> -> tensor<3x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected a result of rank and element type of 'tensor<2x3xf32>', got 'tensor<3xf32>'}}
  %0 = graph.transpose %x permutation = [1, 0] : tensor<2x3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected result dimension 0 of size 3, got 2}}
  %0 = graph.transpose %x permutation = [1, 0] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{expected dim below 1, got 1}}
  %0 = graph.iota dim = 1 : tensor<2xi64>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected strictly increasing dims below 2, got 0}}
  %0 = graph.reduce sum %x dims = [0, 0] : tensor<2x3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected result type 'tensor<3xf32>', got 'tensor<2xf32>'}}
  %0 = graph.reduce sum %x dims = [0] : tensor<2x3xf32> -> tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected as many left as right batch and contract dimensions}}
  %0 = graph.contract %x, %x batch = [0] x [] contract = [1] x [1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected contract dimensions inside the operands, got 2 and 1}}
  %0 = graph.contract %x, %x batch = [] x [] contract = [2] x [1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected equal sizes of contract dimensions 1 and 0, got 3 and 2}}
  %0 = graph.contract %x, %x batch = [] x [] contract = [1] x [0] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected result type 'tensor<2x2xf32>', got 'tensor<2x3xf32>'}}
  %0 = graph.contract %x, %x batch = [] x [] contract = [1] x [1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<8x3x32xf32>, %w: tensor<16x3x3x3xf32>) {
  // expected-error @+1 {{expected tensors of rank 4, got}}
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<8x3x32xf32>, tensor<16x3x3x3xf32>) -> tensor<8x16x30x30xf32>
  return
}

// -----

func.func @f(%x: tensor<8x3x32x32xf32>, %w: tensor<16x3x3x3xf32>) {
  // expected-error @+1 {{expected 2 strides, 2 dilations and 4 pads}}
  %0 = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32>) -> tensor<8x16x30x30xf32>
  return
}

// -----

func.func @f(%x: tensor<8x3x32x32xf32>, %w: tensor<16x2x3x3xf32>) {
  // expected-error @+1 {{expected 3 input channels in 1 groups to match weights 'tensor<16x2x3x3xf32>'}}
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<8x3x32x32xf32>, tensor<16x2x3x3xf32>) -> tensor<8x16x30x30xf32>
  return
}

// -----

func.func @f(%x: tensor<8x3x32x32xf32>, %w: tensor<16x3x3x3xf32>) {
  // expected-error @+1 {{expected batch and channels of y to be 8 and 16, got 8 and 15}}
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32>) -> tensor<8x15x30x30xf32>
  return
}

// -----

func.func @f(%x: tensor<8x3x32x32xf32>, %w: tensor<16x3x3x3xf32>) {
  // expected-error @+1 {{expected positive strides and dilations and pads of at least 0}}
  %0 = graph.conv %x, %w {strides = array<i64: 0, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32>) -> tensor<8x16x30x30xf32>
  return
}

// -----

func.func @f(%x: tensor<8x3x32x32xf32>, %w: tensor<16x3x3x3xf32>) {
  // expected-error @+1 {{expected spatial dimension 1 of y to be 30, got 31}}
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32>) -> tensor<8x16x30x31xf32>
  return
}

// -----

func.func @f(%x: tensor<8x3x32x32xf32>, %w: tensor<16x3x3x3xf32>, %b: tensor<15xf32>) {
  // expected-error @+1 {{expected a bias of 16 elements, got 'tensor<15xf32>'}}
  %0 = graph.conv %x, %w bias %b {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32>, tensor<15xf32>) -> tensor<8x16x30x30xf32>
  return
}

// -----

func.func @f(%dy: tensor<8x16x30x30xf32>, %w: tensor<16x3x3x3xf32>) {
  // expected-error @+1 {{expected spatial dimension 0 of y to be 29, got 30}}
  %0 = graph.conv_input_grad %dy, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<8x16x30x30xf32>, tensor<16x3x3x3xf32>) -> tensor<8x3x31x32xf32>
  return
}

// -----

func.func @f(%x: tensor<8x3x32x32xf32>, %dy: tensor<8x16x30x30xf32>) {
  // expected-error @+1 {{expected spatial dimension 0 of y to be 28, got 30}}
  %0 = graph.conv_weight_grad %x, %dy {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<8x3x32x32xf32>, tensor<8x16x30x30xf32>) -> tensor<16x3x5x3xf32>
  return
}

// -----

func.func @f(%x: tensor<8x6x28x28xf32>) {
  // expected-error @+1 {{expected rank 4 and equal batch and channels, got}}
  %0 = graph.pool max %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<8x6x28x28xf32>) -> tensor<8x5x14x14xf32>
  return
}

// -----

func.func @f(%x: tensor<8x6x28x28xf32>) {
  // expected-error @+1 {{expected 2 window sizes, 2 strides, 2 dilations and 4 pads}}
  %0 = graph.pool max %x {window = array<i64: 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<8x6x28x28xf32>) -> tensor<8x6x14x14xf32>
  return
}

// -----

func.func @f(%x: tensor<8x6x28x28xf32>) {
  // expected-error @+1 {{expected positive window, strides and dilations and pads of at least 0}}
  %0 = graph.pool max %x {window = array<i64: 2, 2>, strides = array<i64: 2, 0>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<8x6x28x28xf32>) -> tensor<8x6x14x14xf32>
  return
}

// -----

func.func @f(%x: tensor<8x6x28x28xf32>) {
  // expected-error @+1 {{expected the last window of spatial dimension 0 to start inside the input, got offset 28}}
  %0 = graph.pool max %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<8x6x28x28xf32>) -> tensor<8x6x15x14xf32>
  return
}

// -----

func.func @f(%x: tensor<8x6x28x28xf32>, %dy: tensor<8x6x14x14xf32>) {
  // expected-error @+1 {{expected a result of the type of x}}
  %0 = graph.max_pool_grad %x, %dy {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<8x6x28x28xf32>, tensor<8x6x14x14xf32>) -> tensor<8x6x28x29xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected dim below 2, got 2}}
  %0 = graph.softmax %x dim = 2 : tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expected dim below 2, got -1}}
  %0 = graph.log_softmax %x dim = -1 : tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %labels: tensor<3xi64>) {
  // expected-error @+1 {{expected logits [rows, classes] and labels [rows], got}}
  %0, %1 = graph.cross_entropy %x, %labels {ignore_index = -100 : i64} : (tensor<2x3xf32>, tensor<3xi64>) -> (tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @f(%x: tensor<3xf32>) {
  // expected-error @+1 {{expected x [batch, channels, ...], got}}
  %0 = graph.batch_norm %x, %x, %x, %x, %x {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64}
      : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %c: tensor<3xf32>, %d: tensor<4xf32>) {
  // expected-error @+1 {{expected mean of type 'tensor<3xf32>', got 'tensor<4xf32>'}}
  %0 = graph.batch_norm %x, %c, %c, %d, %c {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64}
      : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %c: tensor<3xf32>, %d: tensor<4xf32>) {
  // expected-error @+1 {{expected epsilon of at least 0, got -1}}
  %0 = graph.batch_norm %x, %c, %c, %c, %c {epsilon = -1.0 : f64, momentum = 0.9 : f64}
      : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %c: tensor<3xf32>, %d: tensor<4xf32>) {
  // expected-error @+1 {{expected momentum in [0, 1], got 2}}
  %0 = graph.batch_norm %x, %c, %c, %c, %c {epsilon = 1.0e-5 : f64, momentum = 2.0 : f64}
      : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %c: tensor<3xf32>, %d: tensor<4xf32>) {
  // expected-error @+1 {{expected variance of type 'tensor<3xf32>', got 'tensor<4xf32>'}}
  %0:3 = graph.batch_norm_train %x, %c, %c {epsilon = 1.0e-5 : f64}
      : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %c: tensor<3xf32>, %d: tensor<4xf32>) {
  // expected-error @+1 {{expected dx of type 'tensor<2x3x4xf32>', got 'tensor<2x3x5xf32>'}}
  %0:3 = graph.batch_norm_grad %x, %c, %c, %c, %x {epsilon = 1.0e-5 : f64}
      : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x5xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %s: !graph.step) {
  // expected-error @+1 {{expected ratio in [0, 1], got 1.5}}
  %0 = graph.dropout %x, %s {ratio = 1.5 : f64, id = 0 : i64} : (tensor<2x3xf32>, !graph.step) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %s: !graph.step) {
  // expected-error @+1 {{expected the result of type 'tensor<2x3xf32>', got 'tensor<2x4xf32>'}}
  %0 = graph.dropout %x, %s {ratio = 0.5 : f64, id = 0 : i64} : (tensor<2x3xf32>, !graph.step) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %l: tensor<2xi64>) {
  // expected-error @+1 {{expected lse of type 'tensor<2xf32>', got 'tensor<3xf32>'}}
  %0:2 = graph.cross_entropy %x, %l {ignore_index = -100 : i64} : (tensor<2x3xf32>, tensor<2xi64>) -> (tensor<2xf32>, tensor<3xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %l: tensor<2xi64>, %d: tensor<2xf32>) {
  // expected-error @+1 {{expected label_smoothing in [0, 1], got 1.5}}
  %0 = graph.cross_entropy_grad %x, %l, %d, %d {ignore_index = -100 : i64, label_smoothing = 1.5 : f64}
      : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3xf32>, %l: tensor<2xi64>, %d: tensor<2xf32>) {
  // expected-error @+1 {{expected the result of type 'tensor<2x3xf32>', got 'tensor<2x4xf32>'}}
  %0 = graph.cross_entropy_grad %x, %l, %d, %d {ignore_index = -100 : i64}
      : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%g: tensor<4xf32>) {
  // expected-error @+1 {{expected a result of rank 0, got 'tensor<1xf32>'}}
  %0 = graph.square_sum %g : (tensor<4xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%g: tensor<4xf64>) {
  // expected-error @+1 {{expected gradients of element type 'f32', got 'tensor<4xf64>'}}
  %0 = graph.square_sum %g : (tensor<4xf64>) -> tensor<f32>
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %q: tensor<5xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{expected a buffer and a new buffer with momentum and neither without, got momentum 0.9}}
  %0 = graph.sgd %p, %p, %s, %s, %s {momentum = 0.9 : f64}
      : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %q: tensor<5xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{expected gradient of type 'tensor<4xf32>', got 'tensor<5xf32>'}}
  %0 = graph.sgd %p, %q, %s, %s, %s : (tensor<4xf32>, tensor<5xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %q: tensor<5xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{expected beta1 in [0, 1), got 1}}
  %0:3 = graph.adamw %p, %p, %p, %p, %s, %s, %s, %s {beta1 = 1.0 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.01 : f64}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %q: tensor<5xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{expected gradient of type 'tensor<4xf32>', got 'tensor<5xf32>'}}
  %0:3 = graph.adamw %p, %q, %p, %p, %s, %s, %s, %s {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.01 : f64}
      : (tensor<4xf32>, tensor<5xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %q: tensor<5xf32>, %s: tensor<f32>) {
  // expected-error @+1 {{expected learning_rate of type 'tensor<f32>', got 'tensor<4xf32>'}}
  %0:3 = graph.adamw %p, %p, %p, %p, %p, %s, %s, %s {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.01 : f64}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<f32>)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%p: tensor<f32>, %i: tensor<4xi64>) {
  // expected-error @+1 {{expected a parameter with dimensions to be touched in part, got 'tensor<f32>'}}
  %0, %1, %2 = graph.adamw %p, %p, %p, %p, %p, %p, %p, %p touched(%i)
      {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.01 : f64}
      : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<4xi64>)
      -> (tensor<f32>, tensor<f32>, tensor<f32>)
  return
}

// -----

// expected-error @+1 {{expected a range that is not empty, got 3 to 2}}
func.func private @f(tensor<4xi64> {graph.ranges = [#graph.input_range<"a label", 3 to 2>]})

// -----

// expected-error @+1 {{expected a part of [dim, begin, end], got [0, 1]}}
func.func private @f(tensor<4xi64> {graph.ranges = [#graph.input_range<"a label", 0 to 2 in[0, 1]>]})

// -----

// expected-error @+1 {{expected a part of 0 <= dim and 0 <= begin <= end, got [0, 3, 2]}}
func.func private @f(tensor<4xi64> {graph.ranges = [#graph.input_range<"a label", 0 to 2 in[0, 3, 2]>]})

// -----

// expected-error @+1 {{argument 1: expected ranges to be an array of #graph.input_range, got [2]}}
func.func private @f(tensor<4xi64>, tensor<4xi64> {graph.ranges = [2]})

// -----

// expected-error @+1 {{argument 0: expected ranges to be an array of #graph.input_range, got #graph.input_range<"a label", 0 to 2>}}
func.func private @f(tensor<4xi64> {graph.ranges = #graph.input_range<"a label", 0 to 2>})

// -----

// expected-error @+1 {{argument 0: expected ranges of an i32 or i64 tensor, got 'tensor<4xf32>'}}
func.func private @f(tensor<4xf32> {graph.ranges = [#graph.input_range<"a label", 0 to 2>]})

// -----

// expected-error @+1 {{argument 0: expected ranges of an i32 or i64 tensor, got 'tensor<4xi8>'}}
func.func private @f(tensor<4xi8> {graph.ranges = [#graph.input_range<"a label", 0 to 2>]})

// -----

// expected-error @+1 {{argument 0: expected ranges of parts of 'tensor<4xi64>', got #graph.input_range<"a label", 0 to 2 in[1, 0, 2]>}}
func.func private @f(tensor<4xi64> {graph.ranges = [#graph.input_range<"a label", 0 to 2 in[1, 0, 2]>]})

// -----

// expected-error @+1 {{argument 0: expected ranges of parts of 'tensor<4xi32>', got #graph.input_range<"a label", 0 to 2 in[0, 0, 5]>}}
func.func private @f(tensor<4xi32> {graph.ranges = [#graph.input_range<"a label", 0 to 2 in[0, 0, 5]>]})
