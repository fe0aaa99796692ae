// Errors of shifted reads and of lookups.
// RUN: bessemer-opt %s --verify-diagnostics --split-input-file

#id = affine_map<(d0, d1) -> (d0, d1)>
#twice = affine_map<(d0, d1) -> (d0, d0 + 1)>
func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{expected the map of input 0 to be a projected permutation of 2 dimensions, each plus a constant or not, got}}
  %0 = kern.map(%x) bounds = [4, 4] maps = [#twice, #id] {
  ^bb0(%a: f32):
    kern.yield %a : f32
  } : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%table: tensor<2x3x8x5xf32>, %i: tensor<3x4xi64>) {
  // expected-error @+1 {{expected a table [batch, outer, k, inner] and indices [batch, j], got 'tensor<2x3x8x5xf32>' and 'tensor<3x4xi64>'}}
  %0 = kern.gather %table, %i : (tensor<2x3x8x5xf32>, tensor<3x4xi64>) -> tensor<2x3x4x5xf32>
  return
}

// -----

func.func @f(%rows: tensor<2x3x4x5xf32>, %i: tensor<2x4xi64>) {
  // expected-error @+1 {{expected rows of type 'tensor<2x3x4x6xf32>', got 'tensor<2x3x4x5xf32>'}}
  %0 = kern.scatter %rows, %i : (tensor<2x3x4x5xf32>, tensor<2x4xi64>) -> tensor<2x3x8x6xf32>
  return
}

// -----

func.func @f(%table: tensor<1x1x8x5xf32>, %rows: tensor<1x1x4x6xf32>, %i: tensor<1x4xi64>, %m: tensor<1x1x8x5xf32>) {
  // expected-error @+1 {{expected rows of type 'tensor<1x1x4x5xf32>', got 'tensor<1x1x4x6xf32>'}}
  %0:2 = kern.table_update %table, %rows, %i moments(%m) {
  ^bb0(%a: f32, %d: f32, %n: f32):
    kern.yield %a, %n : f32, f32
  } : (tensor<1x1x8x5xf32>, tensor<1x1x4x6xf32>, tensor<1x4xi64>, tensor<1x1x8x5xf32>) -> (tensor<1x1x8x5xf32>, tensor<1x1x8x5xf32>)
  return
}

// -----

func.func @f(%table: tensor<1x1x8x5xf32>, %rows: tensor<1x1x4x5xf32>, %i: tensor<1x4xi64>, %m: tensor<1x1x7x5xf32>) {
  // expected-error @+1 {{expected moments and results to have the table's type 'tensor<1x1x8x5xf32>', got 'tensor<1x1x7x5xf32>'}}
  %0:2 = kern.table_update %table, %rows, %i moments(%m) {
  ^bb0(%a: f32, %d: f32, %n: f32):
    kern.yield %a, %n : f32, f32
  } : (tensor<1x1x8x5xf32>, tensor<1x1x4x5xf32>, tensor<1x4xi64>, tensor<1x1x7x5xf32>) -> (tensor<1x1x8x5xf32>, tensor<1x1x8x5xf32>)
  return
}

// -----

func.func @f(%table: tensor<1x1x8x5xf32>, %rows: tensor<1x1x4x5xf32>, %i: tensor<1x4xi64>, %m: tensor<1x1x8x5xf32>) {
  // expected-error @+1 {{expected 2 results (the table, then moments), got 1}}
  %0 = kern.table_update %table, %rows, %i moments(%m) {
  ^bb0(%a: f32, %d: f32, %n: f32):
    kern.yield %a, %n : f32, f32
  } : (tensor<1x1x8x5xf32>, tensor<1x1x4x5xf32>, tensor<1x4xi64>, tensor<1x1x8x5xf32>) -> tensor<1x1x8x5xf32>
  return
}

// -----

func.func @f(%table: tensor<1x1x8x5xf32>, %rows: tensor<1x1x4x5xf32>, %i: tensor<1x4xi64>, %m: tensor<1x1x8x5xf32>, %s: tensor<1xf32>) {
  // expected-error @+1 {{expected scalars of rank 0, got 'tensor<1xf32>'}}
  %0:2 = kern.table_update %table, %rows, %i moments(%m) scalars(%s) {
  ^bb0(%a: f32, %d: f32, %n: f32):
    kern.yield %a, %n : f32, f32
  } : (tensor<1x1x8x5xf32>, tensor<1x1x4x5xf32>, tensor<1x4xi64>, tensor<1x1x8x5xf32>, tensor<1xf32>) -> (tensor<1x1x8x5xf32>, tensor<1x1x8x5xf32>)
  return
}
