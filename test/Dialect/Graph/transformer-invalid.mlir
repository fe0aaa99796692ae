// RUN: bessemer-opt %s --verify-diagnostics --split-input-file

func.func @f(%x: tensor<4x8xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{expected a scale of the last dimensions of 'tensor<4x8xf32>', got 'tensor<4xf32>'}}
  %0:3 = graph.layer_norm %x, %s {epsilon = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %s: tensor<8xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{expected bias of type 'tensor<8xf32>', got 'tensor<4xf32>'}}
  %0:3 = graph.layer_norm %x, %s bias %b {epsilon = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %s: tensor<8xf32>, %r: tensor<8xf32>) {
  // expected-error @+1 {{expected rstd of type 'tensor<4xf32>', got 'tensor<8xf32>'}}
  %0:2 = graph.rms_norm_grad %x, %s, %r, %x : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x4x5x8xf32>, %k: tensor<2x4x7x6xf32>) {
  // expected-error @+1 {{expected k of the batch and depth of q, 'tensor<2x4x5x8xf32>', got 'tensor<2x4x7x6xf32>'}}
  %0:2 = graph.attention %q, %k, %k {scale = 1.0 : f64} : (tensor<2x4x5x8xf32>, tensor<2x4x7x6xf32>, tensor<2x4x7x6xf32>) -> (tensor<2x4x5x6xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x4x5x8xf32>, %k: tensor<2x3x7x8xf32>) {
  // expected-error @+1 {{expected the groups of k to divide the heads of q (4), got 3}}
  %0:2 = graph.attention %q, %k, %k {scale = 1.0 : f64} : (tensor<2x4x5x8xf32>, tensor<2x3x7x8xf32>, tensor<2x3x7x8xf32>) -> (tensor<2x4x5x8xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x4x5x8xf32>, %m: tensor<2x1x1x4xf32>) {
  // expected-error @+1 {{expected a mask that broadcasts to 'tensor<2x4x5x5xf32>', got 'tensor<2x1x1x4xf32>'}}
  %0:2 = graph.attention %q, %q, %q mask %m {scale = 1.0 : f64} : (tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>, tensor<2x1x1x4xf32>) -> (tensor<2x4x5x8xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x4x5x8xf32>) {
  // expected-error @+1 {{expected a step block with a ratio above 0, and only then}}
  %0:2 = graph.attention %q, %q, %q {scale = 1.0 : f64, ratio = 0.5 : f64} : (tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>) -> (tensor<2x4x5x8xf32>, tensor<2x4x5xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x4x5x8xf32>, %lse: tensor<2x4xf32>) {
  // expected-error @+1 {{expected lse of type 'tensor<2x4x5xf32>', got 'tensor<2x4xf32>'}}
  %0:3 = graph.attention_grad %q, %q, %q, %q, %lse, %q {scale = 1.0 : f64} : (tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4xf32>, tensor<2x4x5x8xf32>) -> (tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>)
  return
}
