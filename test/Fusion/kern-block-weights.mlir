// Which states of weights lie in blocks, and what follows them.
// RUN: bessemer-opt %s -split-input-file -kern-block-weights | FileCheck %s

#id4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#none = affine_map<(d0, d1, d2, d3) -> ()>

// The weights, their moment and their gradient, which a map scales and a norm
// reads; in the function that only predicts, too.
// CHECK: graph.state @w parameter trainable : tensor<2x1x3x3x16x16xf32> = dense<5.000000e-01> : tensor<32x16x3x3xf32> {layout = "OIhw16i16o"}
graph.state @w parameter trainable : tensor<32x16x3x3xf32> = dense<0.5> : tensor<32x16x3x3xf32>
// CHECK: graph.state @m moment : tensor<2x1x3x3x16x16xf32> = dense<0.000000e+00> : tensor<32x16x3x3xf32> {layout = "OIhw16i16o"}
graph.state @m moment : tensor<32x16x3x3xf32> = dense<0.0> : tensor<32x16x3x3xf32>
// CHECK-LABEL: func.func @train
func.func @train(%x: tensor<8x1x7x7x16xf32>, %dy: tensor<8x2x7x7x16xf32>, %s: tensor<f32>)
    -> (tensor<8x1x7x7x16xf32>, tensor<1xf32>) {
  // CHECK: %[[W:.*]] = graph.read @w : tensor<2x1x3x3x16x16xf32>
  %w = graph.read @w : tensor<32x16x3x3xf32>
  %m = graph.read @m : tensor<32x16x3x3xf32>
  // CHECK: kern.conv input_grad(%{{.*}}, %[[W]]) layouts = [#kern.layout<"nChw16c">, #kern.layout<"OIhw16i16o">, #kern.layout<"nChw16c">]
  %dx = kern.conv input_grad(%dy, %w) layouts = [#kern.layout<"nChw16c">, #kern.layout<"row">, #kern.layout<"nChw16c">]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
       schedule = #kern.schedule<library>}
      : (tensor<8x2x7x7x16xf32>, tensor<32x16x3x3xf32>) -> tensor<8x1x7x7x16xf32>
  // CHECK: %[[G:.*]] = kern.conv weight_grad({{.*}}) layouts = [#kern.layout<"nChw16c">, #kern.layout<"nChw16c">, #kern.layout<"OIhw16i16o">]
  // CHECK-SAME: -> tensor<2x1x3x3x16x16xf32>
  %g = kern.conv weight_grad(%x, %dy) layouts = [#kern.layout<"nChw16c">, #kern.layout<"nChw16c">, #kern.layout<"row">]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
       schedule = #kern.schedule<library>}
      : (tensor<8x1x7x7x16xf32>, tensor<8x2x7x7x16xf32>) -> tensor<32x16x3x3xf32>
  // CHECK: kern.norm(%[[G]]) : (tensor<2x1x3x3x16x16xf32>) -> tensor<1xf32>
  %n = kern.norm(%g) : (tensor<32x16x3x3xf32>) -> tensor<1xf32>
  // CHECK: %[[H:.*]] = kern.map(%[[G]], %{{.*}}) bounds = [2, 1, 3, 3, 16, 16]
  // CHECK-SAME: maps = [#[[ID:.*]], #[[NONE:.*]], #[[ID]]]
  %h = kern.map(%g, %s) bounds = [32, 16, 3, 3] maps = [#id4, #none, #id4] {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    kern.yield %p : f32
  } : (tensor<32x16x3x3xf32>, tensor<f32>) -> tensor<32x16x3x3xf32>
  // CHECK: kern.update parameters(%[[W]]) gradients(%[[H]])
  %u:2 = kern.update parameters(%w) gradients(%h) moments(%m) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.addf %b, %c : f32
    %q = arith.subf %a, %p : f32
    kern.yield %q, %p : f32, f32
  } : (tensor<32x16x3x3xf32>, tensor<32x16x3x3xf32>, tensor<32x16x3x3xf32>)
      -> (tensor<32x16x3x3xf32>, tensor<32x16x3x3xf32>)
  // CHECK: graph.write @w, %{{.*}} : tensor<2x1x3x3x16x16xf32>
  graph.write @w, %u#0 : tensor<32x16x3x3xf32>
  graph.write @m, %u#1 : tensor<32x16x3x3xf32>
  return %dx, %n : tensor<8x1x7x7x16xf32>, tensor<1xf32>
}
// CHECK-LABEL: func.func @predict
func.func @predict(%x: tensor<8x1x7x7x16xf32>) -> tensor<8x2x7x7x16xf32> {
  %w = graph.read @w : tensor<32x16x3x3xf32>
  // CHECK: kern.conv forward{{.*}} layouts = [#kern.layout<"nChw16c">, #kern.layout<"OIhw16i16o">, #kern.layout<"nChw16c">]
  %y = kern.conv forward(%x, %w) layouts = [#kern.layout<"nChw16c">, #kern.layout<"row">, #kern.layout<"nChw16c">]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
       schedule = #kern.schedule<library>}
      : (tensor<8x1x7x7x16xf32>, tensor<32x16x3x3xf32>) -> tensor<8x2x7x7x16xf32>
  return %y : tensor<8x2x7x7x16xf32>
}

// -----

#id4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>

// A loop passes the weights in and the sum of their gradients on; the zeros that
// the sum starts from are those of its type.
// CHECK: graph.state @w parameter : tensor<1x1x3x3x16x16xf32>
graph.state @w parameter : tensor<16x16x3x3xf32> = dense<0.5> : tensor<16x16x3x3xf32>
// CHECK-LABEL: func.func @accumulate
func.func @accumulate(%xs: tensor<2x8x1x7x7x16xf32>) {
  %w = graph.read @w : tensor<16x16x3x3xf32>
  %zero = arith.constant dense<0.0> : tensor<16x16x3x3xf32>
  // CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<1x1x3x3x16x16xf32>
  // CHECK: graph.scan 2 inits(%[[ZERO]])
  %sum = graph.scan 2 inits(%zero) sequences(%xs) invariants(%w) {
  ^bb0(%acc: tensor<16x16x3x3xf32>, %x: tensor<8x1x7x7x16xf32>, %v: tensor<16x16x3x3xf32>):
    // CHECK: kern.conv forward{{.*}} layouts = [#kern.layout<"nChw16c">, #kern.layout<"OIhw16i16o">, #kern.layout<"nChw16c">]
    %y = kern.conv forward(%x, %v) layouts = [#kern.layout<"nChw16c">, #kern.layout<"row">, #kern.layout<"nChw16c">]
        {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
         schedule = #kern.schedule<library>}
        : (tensor<8x1x7x7x16xf32>, tensor<16x16x3x3xf32>) -> tensor<8x1x7x7x16xf32>
    %g = kern.conv weight_grad(%x, %y) layouts = [#kern.layout<"nChw16c">, #kern.layout<"nChw16c">, #kern.layout<"row">]
        {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
         schedule = #kern.schedule<library>}
        : (tensor<8x1x7x7x16xf32>, tensor<8x1x7x7x16xf32>) -> tensor<16x16x3x3xf32>
    // CHECK: kern.map(%{{.*}}, %{{.*}}) bounds = [1, 1, 3, 3, 16, 16]
    %next = kern.map(%acc, %g) bounds = [16, 16, 3, 3] maps = [#id4, #id4, #id4] {
    ^bb0(%a: f32, %b: f32):
      %p = arith.addf %a, %b : f32
      kern.yield %p : f32
    } : (tensor<16x16x3x3xf32>, tensor<16x16x3x3xf32>) -> tensor<16x16x3x3xf32>
    graph.yield %next : tensor<16x16x3x3xf32>
  } : (tensor<16x16x3x3xf32>, tensor<2x8x1x7x7x16xf32>, tensor<16x16x3x3xf32>) -> tensor<16x16x3x3xf32>
  graph.write @w, %sum : tensor<16x16x3x3xf32>
  return
}

// -----

// Row-major: what another kernel reads by rows (@read, in either function), what
// meets row-major images only (@images), and 24 filters (@odd).
// CHECK-COUNT-3: tensor<{{16|24}}x16x3x3xf32> =
// CHECK-NOT: OIhw16i16o
graph.state @read parameter : tensor<16x16x3x3xf32> = dense<0.5> : tensor<16x16x3x3xf32>
graph.state @images parameter : tensor<16x16x3x3xf32> = dense<0.5> : tensor<16x16x3x3xf32>
graph.state @odd parameter : tensor<24x16x3x3xf32> = dense<0.5> : tensor<24x16x3x3xf32>
func.func @f(%x: tensor<8x1x7x7x16xf32>, %row: tensor<8x16x7x7xf32>)
    -> (tensor<8x1x7x7x16xf32>, tensor<8x16x7x7xf32>, tensor<8x24x7x7xf32>) {
  %read = graph.read @read : tensor<16x16x3x3xf32>
  %images = graph.read @images : tensor<16x16x3x3xf32>
  %odd = graph.read @odd : tensor<24x16x3x3xf32>
  %a = kern.conv forward(%x, %read) layouts = [#kern.layout<"nChw16c">, #kern.layout<"row">, #kern.layout<"nChw16c">]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
       schedule = #kern.schedule<library>}
      : (tensor<8x1x7x7x16xf32>, tensor<16x16x3x3xf32>) -> tensor<8x1x7x7x16xf32>
  %b = kern.conv forward(%row, %images) layouts = [#kern.layout<"row">, #kern.layout<"row">, #kern.layout<"row">]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
       schedule = #kern.schedule<library>}
      : (tensor<8x16x7x7xf32>, tensor<16x16x3x3xf32>) -> tensor<8x16x7x7xf32>
  %c = kern.conv forward(%x, %odd) layouts = [#kern.layout<"nChw16c">, #kern.layout<"row">, #kern.layout<"row">]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
       schedule = #kern.schedule<library>}
      : (tensor<8x1x7x7x16xf32>, tensor<24x16x3x3xf32>) -> tensor<8x24x7x7xf32>
  return %a, %b, %c : tensor<8x1x7x7x16xf32>, tensor<8x16x7x7xf32>, tensor<8x24x7x7xf32>
}
func.func @other() -> tensor<16x144xf32> {
  %read = graph.read @read : tensor<16x16x3x3xf32>
  %flat = tensor.collapse_shape %read [[0], [1, 2, 3]] : tensor<16x16x3x3xf32> into tensor<16x144xf32>
  return %flat : tensor<16x144xf32>
}

// -----

// Weights that are the same everywhere stay as they are.
// CHECK-LABEL: func.func @splat
// CHECK: kern.conv forward({{.*}}) layouts = [#kern.layout<"nChw16c">, #kern.layout<"row">, #kern.layout<"nChw16c">]
func.func @splat(%x: tensor<8x1x7x7x16xf32>) -> tensor<8x1x7x7x16xf32> {
  %w = arith.constant dense<0.5> : tensor<16x16x3x3xf32>
  %y = kern.conv forward(%x, %w) layouts = [#kern.layout<"nChw16c">, #kern.layout<"row">, #kern.layout<"nChw16c">]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
       schedule = #kern.schedule<library>}
      : (tensor<8x1x7x7x16xf32>, tensor<16x16x3x3xf32>) -> tensor<8x1x7x7x16xf32>
  return %y : tensor<8x1x7x7x16xf32>
}
