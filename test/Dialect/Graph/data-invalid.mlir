// Every error of the ops that move elements.
// RUN: bessemer-opt %s --verify-diagnostics --split-input-file

func.func @f(%t: tensor<8x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{expected at most 1 batch dimensions, got 2}}
  %0 = graph.gather %t, %i dim = 0 batch = 2 : (tensor<8x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%t: tensor<8x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{expected dim in [0, 2), got 2}}
  %0 = graph.gather %t, %i dim = 2 : (tensor<8x3xf32>, tensor<2xi64>) -> tensor<8x3x2xf32>
  return
}

// -----

func.func @f(%t: tensor<8x3xf32>, %i: tensor<8xi64>) {
  // expected-error @+1 {{expected dim in [1, 2), got 0}}
  %0 = graph.gather %t, %i dim = 0 batch = 1 : (tensor<8x3xf32>, tensor<8xi64>) -> tensor<8x3xf32>
  return
}

// -----

func.func @f(%t: tensor<8x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{expected the first 1 dimensions of the table and the indices to be equal, got 'tensor<8x3xf32>' and 'tensor<2xi64>'}}
  %0 = graph.gather %t, %i dim = 1 batch = 1 : (tensor<8x3xf32>, tensor<2xi64>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%t: tensor<8x3xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{expected looked up elements of type 'tensor<2x3xf32>', got 'tensor<3x2xf32>'}}
  %0 = graph.gather %t, %i dim = 0 : (tensor<8x3xf32>, tensor<2xi64>) -> tensor<3x2xf32>
  return
}

// -----

func.func @f(%u: tensor<2x4xf32>, %i: tensor<2xi64>) {
  // expected-error @+1 {{expected looked up elements of type 'tensor<2x3xf32>', got 'tensor<2x4xf32>'}}
  %0 = graph.scatter_add %u, %i dim = 0 : (tensor<2x4xf32>, tensor<2xi64>) -> tensor<8x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x6xf32>) {
  // expected-error @+1 {{expected equal element types and ranks, got 'tensor<4xf32>' and 'tensor<4x6xf32>'}}
  %0 = graph.slice %x offsets = [0, 0] : tensor<4x6xf32> -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x6xf32>) {
  // expected-error @+1 {{expected 2 offsets, got 1}}
  %0 = graph.slice %x offsets = [0] : tensor<4x6xf32> -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x6xf32>) {
  // expected-error @+1 {{expected dimension 1 of size 3 at 4 to lie within size 6}}
  %0 = graph.slice %x offsets = [0, 4] : tensor<4x6xf32> -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x6xf32>) {
  // expected-error @+1 {{expected dimension 0 of size 3 at -1 to lie within size 4}}
  %0 = graph.slice %x offsets = [-1, 0] : tensor<4x6xf32> -> tensor<3x6xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{expected 2 sizes of low padding, got 3}}
  %0 = graph.pad %x low = [0, 0, 0] : tensor<4x3xf32> -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{expected dimension 1 of size 3 at 4 to lie within size 6}}
  %0 = graph.pad %x low = [0, 4] : tensor<4x3xf32> -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{expected dim below 2, got 2}}
  %0 = graph.concat %x, %x dim = 2 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>, %y: tensor<5x3xf32>) {
  // expected-error @+1 {{expected inputs that differ from 'tensor<4x6xf32>' in dimension 1 only, got 'tensor<5x3xf32>'}}
  %0 = graph.concat %x, %y dim = 1 : (tensor<4x3xf32>, tensor<5x3xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{expected dimension 1 of the inputs to add up to 7, got 6}}
  %0 = graph.concat %x, %x dim = 1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x7xf32>
  return
}
