// Every kern op parses what it prints.
// RUN: bessemer-opt %s | bessemer-opt | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>
#none = affine_map<(d0, d1) -> ()>

// CHECK-LABEL: func.func @map
func.func @map(%x: tensor<32x10xf32>, %bias: tensor<10xf32>, %step: !graph.step) {
  // CHECK: %{{.*}}:2 = kern.map(%{{.*}}, %{{.*}}, %{{.*}}) bounds = [32, 10]
  // CHECK-SAME: schedule = <generated, [16, 10]>
  %0:2 = kern.map(%x, %bias, %step) bounds = [32, 10] maps = [#id, #col, #none, #id, #id] schedule = #kern.schedule<generated, [16, 10]> {
  ^bb0(%a: f32, %b: f32, %s: !graph.step):
    // CHECK: kern.index 1 : i64
    %i = kern.index 1 : i64
    // CHECK: kern.random %{{.*}}, %{{.*}} id = 3 : f32
    %u = kern.random %s, %i id = 3 : f32
    %r = arith.addf %a, %b : f32
    // CHECK: kern.yield %{{.*}}, %{{.*}} : f32, f32
    kern.yield %r, %u : f32, f32
  } : (tensor<32x10xf32>, tensor<10xf32>, !graph.step) -> (tensor<32x10xf32>, tensor<32x10xf32>)
  return
}

// CHECK-LABEL: func.func @rows
func.func @rows(%x: tensor<32x10xf32>) {
  // CHECK: %{{.*}}:2 = kern.rows(%{{.*}}) bounds = [32, 10] reduced = [1] maps = [
  %0:2 = kern.rows(%x) bounds = [32, 10] reduced = [1] maps = [#id, #id, #row] {
  ^bb0(%a: f32):
    // CHECK: kern.fold max %{{.*}} : f32
    %m = kern.fold max %a : f32
    %d = arith.subf %a, %m : f32
    kern.yield %d, %m : f32, f32
  } : (tensor<32x10xf32>) -> (tensor<32x10xf32>, tensor<32xf32>)
  return
}

// CHECK-LABEL: func.func @columns
func.func @columns(%x: tensor<32x10xf32>) {
  // CHECK: kern.columns(%{{.*}}) bounds = [32, 10] reduced = [0] maps = [
  %0 = kern.columns(%x) bounds = [32, 10] reduced = [0] maps = [#id, #col] {
  ^bb0(%a: f32):
    %s = kern.fold sum %a : f32
    kern.yield %s : f32
  } : (tensor<32x10xf32>) -> tensor<10xf32>
  return
}

// CHECK-LABEL: func.func @gemm
func.func @gemm(%x: tensor<32x784xf32>, %w: tensor<256x784xf32>, %bias: tensor<256xf32>,
                %p: tensor<4x8x16xf32>, %q: tensor<4x8x24xf32>) {
  // CHECK: kern.gemm %{{.*}}, %{{.*}} trans_b extras(%{{.*}}) maps = [
  %0 = kern.gemm %x, %w trans_b extras(%bias) maps = [#col, #id] {
  ^bb0(%acc: f32, %b: f32):
    %s = arith.addf %acc, %b : f32
    kern.yield %s : f32
  } : (tensor<32x784xf32>, tensor<256x784xf32>, tensor<256xf32>) -> tensor<32x256xf32>
  // CHECK: kern.gemm %{{.*}}, %{{.*}} trans_a maps = [
  %1 = kern.gemm %p, %q trans_a maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>] {
  ^bb0(%acc: f32):
    kern.yield %acc : f32
  } : (tensor<4x8x16xf32>, tensor<4x8x24xf32>) -> tensor<4x16x24xf32>
  return
}

// CHECK-LABEL: func.func @conv
func.func @conv(%x: tensor<8x3x32x32xf32>, %w: tensor<16x3x3x3xf32>, %dy: tensor<8x16x32x32xf32>) {
  // CHECK: kern.conv forward(%{{.*}}, %{{.*}}) layouts = [#kern.layout<"row">, #kern.layout<"row">, #kern.layout<"row">]
  %0 = kern.conv forward(%x, %w) layouts = [#kern.layout<"row">, #kern.layout<"row">, #kern.layout<"row">]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, schedule = #kern.schedule<library>}
      : (tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32>) -> tensor<8x16x32x32xf32>
  // CHECK: kern.conv input_grad(
  %1 = kern.conv input_grad(%dy, %w) layouts = [#kern.layout<"row">, #kern.layout<"row">, #kern.layout<"row">]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, schedule = #kern.schedule<library>}
      : (tensor<8x16x32x32xf32>, tensor<16x3x3x3xf32>) -> tensor<8x3x32x32xf32>
  // CHECK: kern.conv weight_grad(
  %2 = kern.conv weight_grad(%x, %dy) layouts = [#kern.layout<"row">, #kern.layout<"row">, #kern.layout<"row">]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, schedule = #kern.schedule<library>}
      : (tensor<8x3x32x32xf32>, tensor<8x16x32x32xf32>) -> tensor<16x3x3x3xf32>
  return
}

// CHECK-LABEL: func.func @blocked
func.func @blocked(%x: tensor<8x2x32x32x16xf32>, %w: tensor<16x32x3x3xf32>) {
  // CHECK: kern.conv forward(%{{.*}}, %{{.*}}) layouts = [#kern.layout<"nChw16c">, #kern.layout<"row">, #kern.layout<"nChw16c">] {{.*}}winograd
  %0 = kern.conv forward(%x, %w) layouts = [#kern.layout<"nChw16c">, #kern.layout<"row">, #kern.layout<"nChw16c">]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, winograd,
       schedule = #kern.schedule<library>}
      : (tensor<8x2x32x32x16xf32>, tensor<16x32x3x3xf32>) -> tensor<8x1x32x32x16xf32>
  // CHECK: kern.window max(%{{.*}}) {{.*}} -> tensor<8x1x16x16x16xf32>
  %1 = kern.window max(%0) {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<8x1x32x32x16xf32>) -> tensor<8x1x16x16x16xf32>
  return
}

// CHECK-LABEL: func.func @window
func.func @window(%x: tensor<8x6x28x28xf32>, %dy: tensor<8x6x14x14xf32>) {
  // CHECK: kern.window max(%{{.*}}) {
  %0 = kern.window max(%x) {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<8x6x28x28xf32>) -> tensor<8x6x14x14xf32>
  // CHECK: kern.window average(%{{.*}}) {count_include_pad
  %1 = kern.window average(%x) {count_include_pad, window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<8x6x28x28xf32>) -> tensor<8x6x14x14xf32>
  // CHECK: kern.window max_grad(%{{.*}}, %{{.*}}) {
  %2 = kern.window max_grad(%x, %dy) {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<8x6x28x28xf32>, tensor<8x6x14x14xf32>) -> tensor<8x6x28x28xf32>
  // CHECK: kern.window average_grad(%{{.*}}) {
  %3 = kern.window average_grad(%dy) {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
      : (tensor<8x6x14x14xf32>) -> tensor<8x6x28x28xf32>
  return
}

// CHECK-LABEL: func.func @update
func.func @update(%p: tensor<10x84xf32>, %q: tensor<10xf32>, %lr: tensor<f32>) {
  // CHECK: %{{.*}}:4 = kern.update parameters(%{{.*}}, %{{.*}}) gradients(%{{.*}}, %{{.*}}) moments(%{{.*}}, %{{.*}}) scalars(%{{.*}}) attributes {chunk = 64 : i64} {
  %0:4 = kern.update parameters(%p, %q) gradients(%p, %q) moments(%p, %q) scalars(%lr) attributes {chunk = 64 : i64} {
  ^bb0(%a: f32, %g: f32, %m: f32, %l: f32):
    %s = arith.mulf %g, %l : f32
    %n = arith.subf %a, %s : f32
    kern.yield %n, %m : f32, f32
  } : (tensor<10x84xf32>, tensor<10xf32>, tensor<10x84xf32>, tensor<10xf32>, tensor<10x84xf32>, tensor<10xf32>, tensor<f32>)
      -> (tensor<10x84xf32>, tensor<10xf32>, tensor<10x84xf32>, tensor<10xf32>)
  // CHECK: kern.norm(%{{.*}}, %{{.*}}) {chunk = 64 : i64} : (tensor<10x84xf32>, tensor<10xf32>) -> tensor<15xf32>
  %1 = kern.norm(%p, %q) {chunk = 64 : i64} : (tensor<10x84xf32>, tensor<10xf32>) -> tensor<15xf32>
  return
}

// CHECK-LABEL: func.func @shifted
func.func @shifted(%x: tensor<4x6xf32>, %y: tensor<2xf32>) {
  // CHECK: kern.map(%{{.*}}, %{{.*}}) bounds = [4, 3]
  %0 = kern.map(%x, %y) bounds = [4, 3] maps = [affine_map<(d0, d1) -> (d0, d1 + 2)>, affine_map<(d0, d1) -> (d1 - 1)>, #id] {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    kern.yield %s : f32
  } : (tensor<4x6xf32>, tensor<2xf32>) -> tensor<4x3xf32>
  return
}

// CHECK-LABEL: func.func @lookup
func.func @lookup(%table: tensor<2x3x8x5xf32>, %i: tensor<2x4xi64>, %lr: tensor<f32>) {
  // CHECK: %[[G:.*]] = kern.gather %{{.*}}, %{{.*}} : (tensor<2x3x8x5xf32>, tensor<2x4xi64>) -> tensor<2x3x4x5xf32>
  %0 = kern.gather %table, %i : (tensor<2x3x8x5xf32>, tensor<2x4xi64>) -> tensor<2x3x4x5xf32>
  // CHECK: kern.scatter %[[G]], %{{.*}} : (tensor<2x3x4x5xf32>, tensor<2x4xi64>) -> tensor<2x3x8x5xf32>
  %1 = kern.scatter %0, %i : (tensor<2x3x4x5xf32>, tensor<2x4xi64>) -> tensor<2x3x8x5xf32>
  // CHECK: kern.table_update %{{.*}}, %[[G]], %{{.*}} moments(%{{.*}}) scalars(%{{.*}}) touched_only {
  %2:2 = kern.table_update %table, %0, %i moments(%1) scalars(%lr) touched_only {
  ^bb0(%a: f32, %d: f32, %m: f32, %l: f32):
    %s = arith.addf %m, %d : f32
    %t = arith.mulf %s, %l : f32
    %n = arith.subf %a, %t : f32
    kern.yield %n, %s : f32, f32
  } : (tensor<2x3x8x5xf32>, tensor<2x3x4x5xf32>, tensor<2x4xi64>, tensor<2x3x8x5xf32>, tensor<f32>)
      -> (tensor<2x3x8x5xf32>, tensor<2x3x8x5xf32>)
  return
}
