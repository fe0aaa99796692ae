// RUN: bessemer-opt %s --verify-diagnostics --split-input-file

#all = affine_map<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2 * 4 + d3)>

func.func @f(%x: tensor<2x1x8x4xf32>) {
  // expected-error @+1 {{expected 4 views, got 3}}
  %0:2 = kern.attention %x, %x, %x bounds = [2, 1, 1, 8, 8, 4, 4] views = [#all, #all, #all] {scale = 0.5 : f64}
      : (tensor<2x1x8x4xf32>, tensor<2x1x8x4xf32>, tensor<2x1x8x4xf32>) -> (tensor<2x1x8x4xf32>, tensor<2x1x8xf32>)
  return
}

// -----

#all = affine_map<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2 * 4 + d3)>

func.func @f(%x: tensor<2x1x8x4xf32>) {
  // expected-error @+1 {{expected positive bounds [batch, heads, groups, queries, keys, depth, width] with groups that divide heads}}
  %0:2 = kern.attention %x, %x, %x bounds = [2, 1, 2, 8, 8, 4, 4] views = [#all, #all, #all, #all] {scale = 0.5 : f64}
      : (tensor<2x1x8x4xf32>, tensor<2x1x8x4xf32>, tensor<2x1x8x4xf32>) -> (tensor<2x1x8x4xf32>, tensor<2x1x8xf32>)
  return
}

// -----

#all = affine_map<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2 * 4 + d3)>
#beyond = affine_map<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2 * 4 + d3 + 1)>

func.func @f(%x: tensor<2x1x8x4xf32>) {
  // expected-error @+1 {{expected the view of k to stay inside of 'tensor<2x1x8x4xf32>', got index 64}}
  %0:2 = kern.attention %x, %x, %x bounds = [2, 1, 1, 8, 8, 4, 4] views = [#all, #beyond, #all, #all] {scale = 0.5 : f64}
      : (tensor<2x1x8x4xf32>, tensor<2x1x8x4xf32>, tensor<2x1x8x4xf32>) -> (tensor<2x1x8x4xf32>, tensor<2x1x8xf32>)
  return
}

// -----

#all = affine_map<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2 * 4 + d3)>
#apart = affine_map<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2 + d3 * 8)>

func.func @f(%x: tensor<2x1x8x4xf32>) {
  // expected-error @+1 {{expected the last dimension of v to be contiguous, got stride 8}}
  %0:2 = kern.attention %x, %x, %x bounds = [2, 1, 1, 8, 8, 4, 4] views = [#all, #all, #apart, #all] {scale = 0.5 : f64}
      : (tensor<2x1x8x4xf32>, tensor<2x1x8x4xf32>, tensor<2x1x8x4xf32>) -> (tensor<2x1x8x4xf32>, tensor<2x1x8xf32>)
  return
}

// -----

#all = affine_map<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2 * 4 + d3)>
#odd = affine_map<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + (d2 floordiv 2) * 4 + d3)>

func.func @f(%x: tensor<2x1x8x4xf32>) {
  // expected-error @+1 {{expected the view of q to be a linear form of four dimensions without negative coefficients}}
  %0:2 = kern.attention %x, %x, %x bounds = [2, 1, 1, 8, 8, 4, 4] views = [#odd, #all, #all, #all] {scale = 0.5 : f64}
      : (tensor<2x1x8x4xf32>, tensor<2x1x8x4xf32>, tensor<2x1x8x4xf32>) -> (tensor<2x1x8x4xf32>, tensor<2x1x8xf32>)
  return
}

// -----

#all = affine_map<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2 * 4 + d3)>

func.func @f(%x: tensor<2x1x8x4xf32>, %lse: tensor<2x1x8xf32>) {
  // expected-error @+1 {{expected result 0 of 128 elements, got 'tensor<2x1x8x4xf32>'}}
  %0:2 = kern.attention_grad %x, %x, %x, %x, %lse, %x bounds = [2, 1, 1, 8, 8, 4, 4]
      views = [#all, #all, #all, #all, #all, #all, #all, #all] into = [0, 0, 1] {scale = 0.5 : f64}
      : (tensor<2x1x8x4xf32>, tensor<2x1x8x4xf32>, tensor<2x1x8x4xf32>, tensor<2x1x8x4xf32>, tensor<2x1x8xf32>, tensor<2x1x8x4xf32>)
      -> (tensor<2x1x8x4xf32>, tensor<2x1x8x4xf32>)
  return
}

// -----

#all = affine_map<(d0, d1, d2, d3) -> (d0 * 32 + d1 * 32 + d2 * 4 + d3)>

func.func @f(%x: tensor<2x1x8x4xf32>, %lse: tensor<2x1x8xf32>) {
  // expected-error @+1 {{expected result numbers below 1, got 2}}
  %0 = kern.attention_grad %x, %x, %x, %x, %lse, %x bounds = [2, 1, 1, 8, 8, 4, 4]
      views = [#all, #all, #all, #all, #all, #all, #all, #all] into = [0, 0, 2] {scale = 0.5 : f64}
      : (tensor<2x1x8x4xf32>, tensor<2x1x8x4xf32>, tensor<2x1x8x4xf32>, tensor<2x1x8x4xf32>, tensor<2x1x8xf32>, tensor<2x1x8x4xf32>)
      -> tensor<2x1x8x4xf32>
  return
}
