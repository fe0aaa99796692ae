// RUN: bessemer-opt %s --verify-diagnostics --split-input-file

#id = affine_map<(d0) -> (d0)>
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected 2 indexing maps (inputs, then results), got 1}}
  %0 = kern.map(%x) bounds = [4] maps = [#id] {
  ^bb0(%a: f32):
    kern.yield %a : f32
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

#id = affine_map<(d0) -> (d0)>
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected 1 region arguments, got 2}}
  %0 = kern.map(%x) bounds = [4] maps = [#id, #id] {
  ^bb0(%a: f32, %b: f32):
    kern.yield %a : f32
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

#id = affine_map<(d0) -> (d0)>
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected the region to yield 1 values}}
  %0 = kern.map(%x) bounds = [4] maps = [#id, #id] {
  ^bb0(%a: f32):
    kern.yield %a, %a : f32, f32
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

#id = affine_map<(d0) -> (d0)>
#shifted = affine_map<(d0) -> (d0 + 1)>
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected the map of result 0 to be a projected permutation of 1 dimensions, got}}
  %0 = kern.map(%x) bounds = [4] maps = [#id, #shifted] {
  ^bb0(%a: f32):
    kern.yield %a : f32
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

#id = affine_map<(d0) -> (d0)>
func.func @f(%x: tensor<4x1xf32>) {
  // expected-error @+1 {{expected rank 1 of input 0, got 'tensor<4x1xf32>'}}
  %0 = kern.map(%x) bounds = [4] maps = [#id, #id] {
  ^bb0(%a: f32):
    kern.yield %a : f32
  } : (tensor<4x1xf32>) -> tensor<4xf32>
  return
}

// -----

#id = affine_map<(d0) -> (d0)>
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected dimension 0 of result 0 to be 4, got 5}}
  %0 = kern.map(%x) bounds = [4] maps = [#id, #id] {
  ^bb0(%a: f32):
    kern.yield %a : f32
  } : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

#id = affine_map<(d0) -> (d0)>
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected region type 'f32' for input 0, got 'f64'}}
  %0 = kern.map(%x) bounds = [4] maps = [#id, #id] {
  ^bb0(%a: f64):
    kern.yield %a : f64
  } : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

#id = affine_map<(d0) -> (d0)>
func.func @f() {
  %0 = kern.map() bounds = [4] maps = [#id] {
    // expected-error @+1 {{expected dim below 1, got 1}}
    %i = kern.index 1 : i64
    kern.yield %i : i64
  } : () -> tensor<4xi64>
  return
}

// -----

#id = affine_map<(d0) -> (d0)>
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected no kern.fold in its region}}
  %0 = kern.map(%x) bounds = [4] maps = [#id, #id] {
  ^bb0(%a: f32):
    %s = kern.fold sum %a : f32
    kern.yield %s : f32
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @f(%x: tensor<4x5xf32>) {
  // expected-error @+1 {{expected result 0 to have each of its 2 iteration dimensions}}
  %0 = kern.map(%x) bounds = [4, 5] maps = [#id, #row] {
  ^bb0(%a: f32):
    kern.yield %a : f32
  } : (tensor<4x5xf32>) -> tensor<4xf32>
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @f(%x: tensor<4x5xf32>) {
  // expected-error @+1 {{expected increasing reduced dimensions below 2}}
  %0 = kern.rows(%x) bounds = [4, 5] reduced = [2] maps = [#id, #row] {
  ^bb0(%a: f32):
    %s = kern.fold sum %a : f32
    kern.yield %s : f32
  } : (tensor<4x5xf32>) -> tensor<4xf32>
  return
}

// -----

#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#part = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @f(%x: tensor<4x5x6xf32>) {
  // expected-error @+1 {{expected result 0 to have all reduced dimensions or none}}
  %0 = kern.rows(%x) bounds = [4, 5, 6] reduced = [1, 2] maps = [#id, #part] {
  ^bb0(%a: f32):
    %s = kern.fold sum %a : f32
    kern.yield %s : f32
  } : (tensor<4x5x6xf32>) -> tensor<4x5xf32>
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @f(%x: tensor<4x5xf32>) {
  // expected-error @+1 {{expected result 0, which lacks the reduced dimensions, to be uniform along them}}
  %0 = kern.rows(%x) bounds = [4, 5] reduced = [1] maps = [#id, #row] {
  ^bb0(%a: f32):
    kern.yield %a : f32
  } : (tensor<4x5xf32>) -> tensor<4xf32>
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @f(%a: tensor<4x5x6xf32>, %b: tensor<5x6xf32>) {
  // expected-error @+1 {{expected a and b of rank 2, or 3 with a batch, got}}
  %0 = kern.gemm %a, %b maps = [#id] {
  ^bb0(%acc: f32):
    kern.yield %acc : f32
  } : (tensor<4x5x6xf32>, tensor<5x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
func.func @f(%a: tensor<4x5x6xf32>, %b: tensor<3x6x7xf32>) {
  // expected-error @+1 {{expected equal batch, got 4 and 3}}
  %0 = kern.gemm %a, %b maps = [#id] {
  ^bb0(%acc: f32):
    kern.yield %acc : f32
  } : (tensor<4x5x6xf32>, tensor<3x6x7xf32>) -> tensor<4x5x7xf32>
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @f(%a: tensor<4x5xf32>, %b: tensor<6x7xf32>) {
  // expected-error @+1 {{expected equal k, got 5 and 6}}
  %0 = kern.gemm %a, %b maps = [#id] {
  ^bb0(%acc: f32):
    kern.yield %acc : f32
  } : (tensor<4x5xf32>, tensor<6x7xf32>) -> tensor<4x7xf32>
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @f(%a: tensor<4x5xf32>, %b: tensor<5x7xf32>) {
  // expected-error @+1 {{expected the accumulator as first region argument}}
  %0 = kern.gemm %a, %b maps = [#id] {
  ^bb0(%acc: f64):
    kern.yield %acc : f64
  } : (tensor<4x5xf32>, tensor<5x7xf32>) -> tensor<4x7xf64>
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @f(%a: tensor<4x5xf32>, %b: tensor<5x7xf32>) {
  // expected-error @+1 {{expected no kern.fold in its region}}
  %0 = kern.gemm %a, %b maps = [#id] {
  ^bb0(%acc: f32):
    %s = kern.fold sum %acc : f32
    kern.yield %s : f32
  } : (tensor<4x5xf32>, tensor<5x7xf32>) -> tensor<4x7xf32>
  return
}

// -----

func.func @f(%x: tensor<8x3x32x32xf32>) {
  // expected-error @+1 {{expected 2 operands (or a bias too when forward), got 1}}
  %0 = kern.conv forward(%x) layouts = [#kern.layout<"row">, #kern.layout<"row">]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, schedule = #kern.schedule<library>}
      : (tensor<8x3x32x32xf32>) -> tensor<8x16x32x32xf32>
  return
}

// -----

func.func @f(%x: tensor<8x3x32x32xf32>, %w: tensor<16x3x3x3xf32>) {
  // expected-error @+1 {{expected a layout per operand and result, got 2}}
  %0 = kern.conv forward(%x, %w) layouts = [#kern.layout<"row">, #kern.layout<"row">]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, schedule = #kern.schedule<library>}
      : (tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32>) -> tensor<8x16x32x32xf32>
  return
}

// -----

func.func @f(%x: tensor<8x3x32xf32>, %w: tensor<16x3x3x3xf32>) {
  // expected-error @+1 {{expected tensors of rank 4, got 'tensor<8x3x32xf32>', 'tensor<16x3x3x3xf32>' and 'tensor<8x16x32x32xf32>'}}
  %0 = kern.conv forward(%x, %w) layouts = [#kern.layout<"row">, #kern.layout<"row">, #kern.layout<"row">]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, schedule = #kern.schedule<library>}
      : (tensor<8x3x32xf32>, tensor<16x3x3x3xf32>) -> tensor<8x16x32x32xf32>
  return
}

// -----

func.func @f(%x: tensor<8x6x28x28xf32>) {
  // expected-error @+1 {{expected 2 operands, got 1}}
  %0 = kern.window max_grad(%x) {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<8x6x28x28xf32>) -> tensor<8x6x14x14xf32>
  return
}

// -----

func.func @f(%x: tensor<8x6x28xf32>) {
  // expected-error @+1 {{expected rank 4 and equal batch and channels, got 'tensor<8x6x28xf32>' and 'tensor<8x6x14x14xf32>'}}
  %0 = kern.window max(%x) {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<8x6x28xf32>) -> tensor<8x6x14x14xf32>
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %lr: tensor<f32>) {
  // expected-error @+1 {{expected one gradient and equally many moments for each parameter}}
  %0 = kern.update parameters(%p) gradients(%p, %p) scalars(%lr) {
  ^bb0(%a: f32, %g: f32, %l: f32):
    kern.yield %a : f32
  } : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %lr: tensor<f32>) {
  // expected-error @+1 {{expected 2 results (parameters, then moments), got 1}}
  %0 = kern.update parameters(%p) gradients(%p) moments(%p) scalars(%lr) {
  ^bb0(%a: f32, %g: f32, %m: f32, %l: f32):
    kern.yield %a, %m : f32, f32
  } : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %g: tensor<5xf32>, %lr: tensor<f32>) {
  // expected-error @+1 {{expected gradient, moments and results of parameter 0 to have its type 'tensor<4xf32>'}}
  %0 = kern.update parameters(%p) gradients(%g) scalars(%lr) {
  ^bb0(%a: f32, %b: f32, %l: f32):
    kern.yield %a : f32
  } : (tensor<4xf32>, tensor<5xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %lr: tensor<1xf32>) {
  // expected-error @+1 {{expected scalars of rank 0, got 'tensor<1xf32>'}}
  %0 = kern.update parameters(%p) gradients(%p) scalars(%lr) {
  ^bb0(%a: f32, %g: f32, %l: f32):
    kern.yield %a : f32
  } : (tensor<4xf32>, tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%p: tensor<4xf32>, %lr: tensor<f32>) {
  // expected-error @+1 {{expected 3 region arguments, got 2}}
  %0 = kern.update parameters(%p) gradients(%p) scalars(%lr) {
  ^bb0(%a: f32, %g: f32):
    kern.yield %a : f32
  } : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%p: tensor<4xf32>) {
  // expected-error @+1 {{expected the region to yield 1 values}}
  %0 = kern.update parameters(%p) gradients(%p) {
  ^bb0(%a: f32, %g: f32):
    kern.yield %a, %g : f32, f32
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%p: tensor<100xf32>) {
  // expected-error @+1 {{expected a result of 2 partial sums, got 'tensor<3xf32>'}}
  %0 = kern.norm(%p) {chunk = 64 : i64} : (tensor<100xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%a: tensor<8x3x32x32xf32>, %b: tensor<16x3x3x3xf32>) {
  // expected-error @+1 {{expected 2 strides, 2 dilations and 4 pads}}
  %0 = kern.conv forward(%a, %b) layouts = [#kern.layout<"row">, #kern.layout<"row">, #kern.layout<"row">]
      {strides = array<i64: 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, schedule = #kern.schedule<library>}
      : (tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32>) -> tensor<8x16x32x32xf32>
  return
}

// -----

func.func @f(%a: tensor<8x3x32x32xf32>, %b: tensor<16x4x3x3xf32>) {
  // expected-error @+1 {{expected 3 input channels in 1 groups to match weights 'tensor<16x4x3x3xf32>'}}
  %0 = kern.conv forward(%a, %b) layouts = [#kern.layout<"row">, #kern.layout<"row">, #kern.layout<"row">]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, schedule = #kern.schedule<library>}
      : (tensor<8x3x32x32xf32>, tensor<16x4x3x3xf32>) -> tensor<8x16x32x32xf32>
  return
}

// -----

func.func @f(%a: tensor<8x3x32x32xf32>, %b: tensor<16x3x3x3xf32>) {
  // expected-error @+1 {{expected spatial dimension 0 of y to be 32, got 30}}
  %0 = kern.conv forward(%a, %b) layouts = [#kern.layout<"row">, #kern.layout<"row">, #kern.layout<"row">]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, schedule = #kern.schedule<library>}
      : (tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32>) -> tensor<8x16x30x32xf32>
  return
}

// -----

func.func @f(%a: tensor<8x3x32x32xf32>, %b: tensor<16x3x3x3xf32>, %c: tensor<15xf32>) {
  // expected-error @+1 {{expected a bias of 16 elements, got 'tensor<15xf32>'}}
  %0 = kern.conv forward(%a, %b, %c) layouts = [#kern.layout<"row">, #kern.layout<"row">, #kern.layout<"row">, #kern.layout<"row">]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, schedule = #kern.schedule<library>}
      : (tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32>, tensor<15xf32>) -> tensor<8x16x32x32xf32>
  return
}

// -----

func.func @f(%a: tensor<8x16x32x32xf32>, %b: tensor<16x3x3x3xf32>) {
  // expected-error @+1 {{expected spatial dimension 1 of y to be 30, got 32}}
  %0 = kern.conv input_grad(%a, %b) layouts = [#kern.layout<"row">, #kern.layout<"row">, #kern.layout<"row">]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, schedule = #kern.schedule<library>}
      : (tensor<8x16x32x32xf32>, tensor<16x3x3x3xf32>) -> tensor<8x3x32x30xf32>
  return
}

// -----

func.func @f(%a: tensor<8x3x32x32xf32>, %b: tensor<8x16x32x32xf32>) {
  // expected-error @+1 {{expected spatial dimension 0 of y to be 30, got 32}}
  %0 = kern.conv weight_grad(%a, %b) layouts = [#kern.layout<"row">, #kern.layout<"row">, #kern.layout<"row">]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, schedule = #kern.schedule<library>}
      : (tensor<8x3x32x32xf32>, tensor<8x16x32x32xf32>) -> tensor<16x3x5x3xf32>
  return
}

// -----

func.func @f(%a: tensor<8x6x28x28xf32>) {
  // expected-error @+1 {{expected 2 window sizes, 2 strides, 2 dilations and 4 pads}}
  %0 = kern.window max(%a) {window = array<i64: 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<8x6x28x28xf32>) -> tensor<8x6x14x14xf32>
  return
}

// -----

func.func @f(%a: tensor<8x6x28x28xf32>, %b: tensor<8x6x14x14xf32>) {
  // expected-error @+1 {{expected a result of the type of x, 'tensor<8x6x28x28xf32>', got 'tensor<8x6x28x27xf32>'}}
  %0 = kern.window max_grad(%a, %b) {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<8x6x28x28xf32>, tensor<8x6x14x14xf32>) -> tensor<8x6x28x27xf32>
  return
}

// -----

func.func @f(%a: tensor<8x6x15x14xf32>) {
  // expected-error @+1 {{expected the last window of spatial dimension 0 to start inside the input, got offset 28}}
  %0 = kern.window average_grad(%a) {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<8x6x15x14xf32>) -> tensor<8x6x28x28xf32>
  return
}

// -----

func.func @f(%a: tensor<8x6x28x28xf32>) {
  // expected-error @+1 {{expected count_include_pad of averages only}}
  %0 = kern.window max(%a) {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, count_include_pad}
      : (tensor<8x6x28x28xf32>) -> tensor<8x6x14x14xf32>
  return
}

// -----

func.func @conv_layout_unknown(%a: tensor<8x3x32x32xf32>, %b: tensor<16x3x3x3xf32>) {
  // expected-error @below {{'kern.conv' op expected layout row or OIhw16i16o, got nChw16c}}
  %0 = kern.conv forward(%a, %b) layouts = [#kern.layout<"row">, #kern.layout<"nChw16c">, #kern.layout<"row">]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, schedule = #kern.schedule<library>}
      : (tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32>) -> tensor<8x16x32x32xf32>
  return
}

// -----

func.func @conv_block(%a: tensor<8x3x32x32xf32>, %b: tensor<16x3x3x3xf32>) {
  // expected-error @below {{'kern.conv' op expected [n, c, h, w, 16] of layout nChw16c, got 'tensor<8x2x32x32x8xf32>'}}
  %0 = kern.conv forward(%a, %b) layouts = [#kern.layout<"row">, #kern.layout<"row">, #kern.layout<"nChw16c">]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, schedule = #kern.schedule<library>}
      : (tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32>) -> tensor<8x2x32x32x8xf32>
  return
}

// -----

func.func @conv_bias_layout(%a: tensor<8x3x32x32xf32>, %b: tensor<16x3x3x3xf32>, %c: tensor<16xf32>) {
  // expected-error @below {{'kern.conv' op expected layout row, got OIhw16i16o}}
  %0 = kern.conv forward(%a, %b, %c)
      layouts = [#kern.layout<"row">, #kern.layout<"row">, #kern.layout<"OIhw16i16o">, #kern.layout<"row">]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, schedule = #kern.schedule<library>}
      : (tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32>, tensor<16xf32>) -> tensor<8x16x32x32xf32>
  return
}

// -----

func.func @conv_weight_block(%a: tensor<8x16x32x32xf32>, %b: tensor<2x2x3x3x16x8xf32>) {
  // expected-error @below {{'kern.conv' op expected [o, i, h, w, 16, 16] of layout OIhw16i16o, got 'tensor<2x2x3x3x16x8xf32>'}}
  %0 = kern.conv forward(%a, %b) layouts = [#kern.layout<"row">, #kern.layout<"OIhw16i16o">, #kern.layout<"row">]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, schedule = #kern.schedule<library>}
      : (tensor<8x16x32x32xf32>, tensor<2x2x3x3x16x8xf32>) -> tensor<8x16x32x32xf32>
  return
}

// -----

func.func @conv_weight_groups(%a: tensor<8x32x8x8xf32>, %b: tensor<1x1x3x3x16x16xf32>) {
  // expected-error @below {{'kern.conv' op expected groups of whole blocks of 16 output channels, got 2 groups of 8}}
  %0 = kern.conv forward(%a, %b) layouts = [#kern.layout<"row">, #kern.layout<"OIhw16i16o">, #kern.layout<"row">]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 2, schedule = #kern.schedule<library>}
      : (tensor<8x32x8x8xf32>, tensor<1x1x3x3x16x16xf32>) -> tensor<8x16x8x8xf32>
  return
}

// -----

func.func @window_block(%a: tensor<8x1x32x32x16xf32>) {
  // expected-error @below {{'kern.window' op expected equal blocks, a multiple of 16 channels, got 'tensor<8x1x32x32x16xf32>' and 'tensor<8x2x16x16x8xf32>'}}
  %0 = kern.window max(%a) {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<8x1x32x32x16xf32>) -> tensor<8x2x16x16x8xf32>
  return
}
