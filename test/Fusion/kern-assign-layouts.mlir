// Which images are laid out in blocks of channels, and how kernels follow.
// RUN: bessemer-opt %s -kern-assign-layouts | FileCheck %s

#id4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#channel = affine_map<(d0, d1, d2, d3) -> (d1)>

// A convolution, batch norm's sums, and a convolution: the image between them
// is in blocks, the function's own input and result are not.
// CHECK-LABEL: func.func @between
// CHECK-SAME: %[[X:.*]]: tensor<2x3x8x8xf32>
func.func @between(%x: tensor<2x3x8x8xf32>, %w: tensor<32x3x3x3xf32>, %v: tensor<48x32x3x3xf32>)
    -> (tensor<2x48x8x8xf32>, tensor<32xf32>) {
  // CHECK: %[[Y:.*]] = kern.conv forward(%[[X]], %{{.*}}) layouts = [#kern.layout<"row">, #kern.layout<"row">, #kern.layout<"nChw16c">]
  // CHECK-NOT: winograd
  // CHECK-SAME: -> tensor<2x2x8x8x16xf32>
  %y = kern.conv forward(%x, %w) layouts = [#kern.layout<"row">, #kern.layout<"row">, #kern.layout<"row">]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
       schedule = #kern.schedule<library>}
      : (tensor<2x3x8x8xf32>, tensor<32x3x3x3xf32>) -> tensor<2x32x8x8xf32>
  // Vectors run along the block: columns, whose innermost dimension is kept.
  // CHECK: %[[Z:.*]]:2 = kern.columns(%[[Y]]) bounds = [2, 2, 8, 8, 16] reduced = [0, 2, 3]
  // CHECK-SAME: maps = [#[[ID:.*]], #[[ID]], #[[C:.*]]]
  // CHECK: (tensor<2x2x8x8x16xf32>) -> (tensor<2x2x8x8x16xf32>, tensor<2x16xf32>)
  %z:2 = kern.rows(%y) bounds = [2, 32, 8, 8] reduced = [0, 2, 3] maps = [#id4, #id4, #channel] {
  ^bb0(%a: f32):
    %s = kern.fold sum %a : f32
    %d = arith.subf %a, %s : f32
    kern.yield %d, %s : f32, f32
  } : (tensor<2x32x8x8xf32>) -> (tensor<2x32x8x8xf32>, tensor<32xf32>)
  // CHECK: %[[S:.*]] = tensor.collapse_shape %[[Z]]#1 {{.*}} into tensor<32xf32>
  // 2 images of 2x2 tiles are too few for Winograd's algorithm.
  // CHECK: %[[R:.*]] = kern.conv forward(%[[Z]]#0, %{{.*}}) layouts = [#kern.layout<"nChw16c">, #kern.layout<"row">, #kern.layout<"row">]
  // CHECK-NOT: winograd
  // CHECK: return %[[R]], %[[S]]
  %r = kern.conv forward(%z#0, %v) layouts = [#kern.layout<"row">, #kern.layout<"row">, #kern.layout<"row">]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
       schedule = #kern.schedule<library>}
      : (tensor<2x32x8x8xf32>, tensor<48x32x3x3xf32>) -> tensor<2x48x8x8xf32>
  return %r, %z#1 : tensor<2x48x8x8xf32>, tensor<32xf32>
}

// A pool between follows; the image that a reshape needs as it is does not, and
// neither does one of 24 channels.
// CHECK-LABEL: func.func @pool
func.func @pool(%x: tensor<8x16x16x16xf32>, %w: tensor<16x16x3x3xf32>, %v: tensor<24x16x3x3xf32>)
    -> (tensor<8x1024xf32>, tensor<8x24x8x8xf32>) {
  // 16 * 16 * 9 * 8 * 16 * 16 = 4.7e6 multiply-adds are too few for Winograd's.
  // CHECK: kern.conv forward{{.*}} layouts = [#kern.layout<"row">, #kern.layout<"row">, #kern.layout<"nChw16c">]
  // CHECK-NOT: winograd
  %y = kern.conv forward(%x, %w) layouts = [#kern.layout<"row">, #kern.layout<"row">, #kern.layout<"row">]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
       schedule = #kern.schedule<library>}
      : (tensor<8x16x16x16xf32>, tensor<16x16x3x3xf32>) -> tensor<8x16x16x16xf32>
  // CHECK: %[[P:.*]] = kern.window max({{.*}}) {{.*}} : (tensor<8x1x16x16x16xf32>) -> tensor<8x1x8x8x16xf32>
  %p = kern.window max(%y) {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>,
      dilations = array<i64: 1, 1>} : (tensor<8x16x16x16xf32>) -> tensor<8x16x8x8xf32>
  // CHECK: %[[N:.*]] = kern.map(%[[P]]) bounds = [8, 1, 8, 8, 16]
  // CHECK: (tensor<8x1x8x8x16xf32>) -> tensor<8x1x16x8x8xf32>
  // CHECK: %[[M:.*]] = tensor.collapse_shape %[[N]] {{.*}} into tensor<8x16x8x8xf32>
  // CHECK: tensor.collapse_shape %[[M]]
  %n = kern.map(%p) bounds = [8, 16, 8, 8] maps = [#id4, #id4] {
  ^bb0(%a: f32):
    %d = arith.negf %a : f32
    kern.yield %d : f32
  } : (tensor<8x16x8x8xf32>) -> tensor<8x16x8x8xf32>
  %flat = tensor.collapse_shape %n [[0], [1, 2, 3]] : tensor<8x16x8x8xf32> into tensor<8x1024xf32>
  // CHECK: kern.conv forward(%[[P]], %{{.*}}) layouts = [#kern.layout<"nChw16c">, #kern.layout<"row">, #kern.layout<"row">]
  // CHECK-SAME: -> tensor<8x24x8x8xf32>
  %r = kern.conv forward(%p, %v) layouts = [#kern.layout<"row">, #kern.layout<"row">, #kern.layout<"row">]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
       schedule = #kern.schedule<library>}
      : (tensor<8x16x8x8xf32>, tensor<24x16x3x3xf32>) -> tensor<8x24x8x8xf32>
  return %flat, %r : tensor<8x1024xf32>, tensor<8x24x8x8xf32>
}

// A pool of which one image stays row-major stays so as a whole.
// CHECK-LABEL: func.func @torn
func.func @torn(%x: tensor<2x16x8x8xf32>, %w: tensor<16x16x1x1xf32>) -> tensor<2x16x4x4xf32> {
  // CHECK: kern.conv forward{{.*}} -> tensor<2x16x8x8xf32>
  %y = kern.conv forward(%x, %w) layouts = [#kern.layout<"row">, #kern.layout<"row">, #kern.layout<"row">]
      {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
       schedule = #kern.schedule<library>}
      : (tensor<2x16x8x8xf32>, tensor<16x16x1x1xf32>) -> tensor<2x16x8x8xf32>
  // CHECK: kern.window max{{.*}} -> tensor<2x16x4x4xf32>
  %p = kern.window max(%y) {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>,
      dilations = array<i64: 1, 1>} : (tensor<2x16x8x8xf32>) -> tensor<2x16x4x4xf32>
  return %p : tensor<2x16x4x4xf32>
}

// 32 * 32 * 9 * 32 * 32 * 32 = 3e8 multiply-adds pay for Winograd's algorithm.
// CHECK-LABEL: func.func @winograd
func.func @winograd(%x: tensor<32x32x32x32xf32>, %w: tensor<32x32x3x3xf32>) -> tensor<32x32x32x32xf32> {
  // CHECK: kern.conv forward{{.*}}winograd
  %y = kern.conv forward(%x, %w) layouts = [#kern.layout<"row">, #kern.layout<"row">, #kern.layout<"row">]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
       schedule = #kern.schedule<library>}
      : (tensor<32x32x32x32xf32>, tensor<32x32x3x3xf32>) -> tensor<32x32x32x32xf32>
  return %y : tensor<32x32x32x32xf32>
}

// In the body of a loop, of which the images that it is given and passes on stay
// row-major.
// CHECK-LABEL: func.func @loop
func.func @loop(%xs: tensor<4x2x16x8x8xf32>, %w: tensor<32x16x3x3xf32>, %v: tensor<16x32x3x3xf32>)
    -> tensor<4x2x16x8x8xf32> {
  // CHECK: graph.scan 4
  %ys = graph.scan 4 inits() sequences(%xs) invariants(%w, %v) {
  ^bb0(%x: tensor<2x16x8x8xf32>, %wi: tensor<32x16x3x3xf32>, %vi: tensor<16x32x3x3xf32>):
    // CHECK: kern.conv forward{{.*}} layouts = [#kern.layout<"row">, #kern.layout<"row">, #kern.layout<"nChw16c">]
    %a = kern.conv forward(%x, %wi) layouts = [#kern.layout<"row">, #kern.layout<"row">, #kern.layout<"row">]
        {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
         schedule = #kern.schedule<library>}
        : (tensor<2x16x8x8xf32>, tensor<32x16x3x3xf32>) -> tensor<2x32x8x8xf32>
    // CHECK: kern.map({{.*}}) bounds = [2, 2, 8, 8, 16]
    %b = kern.map(%a) bounds = [2, 32, 8, 8] maps = [#id4, #id4] {
    ^bb0(%e: f32):
      %t = math.tanh %e : f32
      kern.yield %t : f32
    } : (tensor<2x32x8x8xf32>) -> tensor<2x32x8x8xf32>
    // CHECK: kern.conv forward{{.*}} layouts = [#kern.layout<"nChw16c">, #kern.layout<"row">, #kern.layout<"row">]
    %y = kern.conv forward(%b, %vi) layouts = [#kern.layout<"row">, #kern.layout<"row">, #kern.layout<"row">]
        {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
         schedule = #kern.schedule<library>}
        : (tensor<2x32x8x8xf32>, tensor<16x32x3x3xf32>) -> tensor<2x16x8x8xf32>
    graph.yield %y : tensor<2x16x8x8xf32>
  } : (tensor<4x2x16x8x8xf32>, tensor<32x16x3x3xf32>, tensor<16x32x3x3xf32>) -> tensor<4x2x16x8x8xf32>
  return %ys : tensor<4x2x16x8x8xf32>
}
