// RUN: bessemer-opt %s --split-input-file --kern-to-exec --exec-verify | FileCheck %s

// States lie one after the other at multiples of 64: @w has 840 floats = 3360
// bytes at 0, rounded up 3392; @updates 8 bytes at 3392; together 3456.

// CHECK: exec.state @w at 0 : tensor<10x84xf32> = dense<5.000000e-01> : tensor<10x84xf32> {role = "parameter", trainable, why = "marked PARAMETER"}
// CHECK: exec.state @updates at 3392 : tensor<i64> = dense<0> : tensor<i64> {role = "counter"}
graph.state @w parameter trainable : tensor<10x84xf32> = dense<0.5> : tensor<10x84xf32> {why = "marked PARAMETER"}
graph.state @updates counter : tensor<i64> = dense<0> : tensor<i64>

// CHECK: exec.kernel @gemm_32x10x84 {
// CHECK: exec.kernel @map_32x10_neg {
// CHECK: exec.kernel @rows_32x10_sum {
// CHECK: exec.kernel @gemm_10x84x32 {
// CHECK: exec.kernel @update_1_mul_sub {
// CHECK: exec.kernel @map_add {

// Work: %y (32 x 10 floats = 1280 bytes) lives from 0 to 1 and %z takes its
// place to 3; %g (3360 bytes) lives from 3 to 4. Both live at 3: the bound is
// 4640. The larger is placed first, at 0 (3392 rounded up), then 1280 bytes at
// 3392: 4672 in all. The loss is computed in its output, the update in the
// state, the learning rate read at byte 20 of the step block.

// CHECK: exec.program @train_step
// CHECK-SAME: inputs = [{name = "x", type = tensor<32x84xf32>}]
// CHECK-SAME: outputs = [{name = "loss", type = tensor<f32>}]
// CHECK-NEXT: exec.arena @state state bytes = 3456
// CHECK-NEXT: exec.arena @work work bytes = 4672 {bound = 4640 : i64}
// CHECK-NEXT: exec.arena @in0 input bytes = 10752
// CHECK-NEXT: exec.arena @step step bytes = 64
// CHECK-NEXT: exec.arena @out0 output bytes = 4
// CHECK-NEXT: exec.launch @gemm_32x10x84 operands = [#exec.slice<@in0[0, 10752]>, #exec.slice<@state[0, 3360]>, #exec.slice<@work[3392, 1280]>]
// CHECK-NEXT: exec.launch @map_32x10_neg operands = [#exec.slice<@work[3392, 1280]>, #exec.slice<@work[3392, 1280]>] {label = "neg1 (model.py:12)"
// CHECK-NEXT: exec.launch @rows_32x10_sum operands = [#exec.slice<@work[3392, 1280]>, #exec.slice<@out0[0, 4]>]
// CHECK-NEXT: exec.launch @gemm_10x84x32 operands = [#exec.slice<@work[3392, 1280]>, #exec.slice<@in0[0, 10752]>, #exec.slice<@work[0, 3360]>]
// CHECK-NEXT: exec.launch @update_1_mul_sub operands = [#exec.slice<@state[0, 3360]>, #exec.slice<@work[0, 3360]>, #exec.slice<@step[20, 4]>, #exec.slice<@state[0, 3360]>]
// CHECK-NEXT: exec.launch @map_add operands = [#exec.slice<@state[3392, 8]>, #exec.slice<@state[3392, 8]>]
// CHECK-NEXT: {{^ *[}]$}}
func.func @train_step(%x: tensor<32x84xf32> {graph.name = "x"}, %step: !graph.step) -> (tensor<f32> {graph.name = "loss"}) {
  %w = graph.read @w : tensor<10x84xf32>
  %lr = graph.step_value learning_rate %step : tensor<f32>
  %y = kern.gemm %x, %w trans_b maps = [affine_map<(d0, d1) -> (d0, d1)>] {
  ^bb0(%acc: f32):
    kern.yield %acc : f32
  } : (tensor<32x84xf32>, tensor<10x84xf32>) -> tensor<32x10xf32>
  %z = kern.map(%y) bounds = [32, 10] maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kern.yield %n : f32
  } : (tensor<32x10xf32>) -> tensor<32x10xf32> loc("neg1"("model.py":12:0))
  %l = kern.rows(%z) bounds = [32, 10] reduced = [0, 1] maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>] {
  ^bb0(%a: f32):
    %s = kern.fold sum %a : f32
    kern.yield %s : f32
  } : (tensor<32x10xf32>) -> tensor<f32>
  %g = kern.gemm %z, %x trans_a maps = [affine_map<(d0, d1) -> (d0, d1)>] {
  ^bb0(%acc: f32):
    kern.yield %acc : f32
  } : (tensor<32x10xf32>, tensor<32x84xf32>) -> tensor<10x84xf32>
  %w1 = kern.update parameters(%w) gradients(%g) scalars(%lr) {
  ^bb0(%a: f32, %d: f32, %r: f32):
    %s = arith.mulf %d, %r : f32
    %n = arith.subf %a, %s : f32
    kern.yield %n : f32
  } : (tensor<10x84xf32>, tensor<10x84xf32>, tensor<f32>) -> tensor<10x84xf32>
  graph.write @w, %w1 : tensor<10x84xf32>
  %u = graph.read @updates : tensor<i64>
  %u1 = kern.map(%u) bounds = [] maps = [affine_map<() -> ()>, affine_map<() -> ()>] {
  ^bb0(%a: i64):
    %one = arith.constant 1 : i64
    %n = arith.addi %a, %one : i64
    kern.yield %n : i64
  } : (tensor<i64>) -> tensor<i64>
  graph.write @updates, %u1 : tensor<i64>
  return %l : tensor<f32>
}

// -----

// Equal kernels are one, also across functions; other arithmetic, other
// shapes and the name of a state are not. Unnamed values are numbered. A
// reshape costs nothing.

#id = affine_map<(d0) -> (d0)>
// CHECK: exec.state @map_16_neg at 0
graph.state @map_16_neg statistic : tensor<16xf32> = dense<0.0> : tensor<16xf32>

// CHECK: exec.kernel @map_16_neg_1 {
// CHECK: exec.kernel @map_16_absf {
// CHECK: exec.program @predict inputs = [{name = "arg0", type = tensor<4x4xf32>}] outputs = [{name = "result0", type = tensor<4x4xf32>}]
// CHECK: exec.arena @out0 output
// CHECK-NEXT: exec.launch @map_16_neg_1 operands = [#exec.slice<@in0[0, 64]>, #exec.slice<@out0[0, 64]>]
// CHECK-NEXT: exec.launch @map_16_absf operands = [#exec.slice<@out0[0, 64]>, #exec.slice<@out0[0, 64]>]
// CHECK-NEXT: exec.launch @map_16_neg_1 operands = [#exec.slice<@out0[0, 64]>, #exec.slice<@out0[0, 64]>]
// CHECK-NEXT: {{^ *[}]$}}
func.func @predict(%x: tensor<4x4xf32>, %step: !graph.step) -> tensor<4x4xf32> {
  %f = tensor.collapse_shape %x [[0, 1]] : tensor<4x4xf32> into tensor<16xf32>
  %a = kern.map(%f) bounds = [16] maps = [#id, #id] {
  ^bb0(%e: f32):
    %n = arith.negf %e : f32
    kern.yield %n : f32
  } : (tensor<16xf32>) -> tensor<16xf32>
  %b = kern.map(%a) bounds = [16] maps = [#id, #id] {
  ^bb0(%e: f32):
    %n = math.absf %e : f32
    kern.yield %n : f32
  } : (tensor<16xf32>) -> tensor<16xf32>
  %c = kern.map(%b) bounds = [16] maps = [#id, #id] {
  ^bb0(%e: f32):
    %n = arith.negf %e : f32
    kern.yield %n : f32
  } : (tensor<16xf32>) -> tensor<16xf32>
  %y = tensor.expand_shape %c [[0, 1]] output_shape [4, 4] : tensor<16xf32> into tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// CHECK: exec.program @eval_step
// CHECK: exec.launch @map_16_neg_1
func.func @eval_step(%x: tensor<16xf32>) -> tensor<16xf32> {
  %a = kern.map(%x) bounds = [16] maps = [#id, #id] {
  ^bb0(%other: f32):
    %n = arith.negf %other : f32
    kern.yield %n : f32
  } : (tensor<16xf32>) -> tensor<16xf32>
  return %a : tensor<16xf32>
}

// -----

// Results that exist at entry are copied first, so that @s can be overwritten
// in place all the same; equal constants have one arena. A constant written to
// a state is copied last.

#id = affine_map<(d0) -> (d0)>
graph.state @s statistic : tensor<16xf32> = dense<0.0> : tensor<16xf32>
graph.state @t statistic : tensor<4xf32> = dense<0.0> : tensor<4xf32>

// CHECK: exec.program @predict
// CHECK: exec.arena @constant0 constant bytes = 16 {data = dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>}
// CHECK-NEXT: exec.copy <@in0[0, 64]> to <@out1[0, 64]>
// CHECK-NEXT: exec.copy <@state[0, 64]> to <@out0[0, 64]>
// CHECK-NEXT: exec.copy <@constant0[0, 16]> to <@out2[0, 16]>
// CHECK-NEXT: exec.launch @map_16_neg operands = [#exec.slice<@state[0, 64]>, #exec.slice<@state[0, 64]>]
// CHECK-NEXT: exec.copy <@constant0[0, 16]> to <@state[64, 16]>
// CHECK-NEXT: {{^ *[}]$}}
func.func @predict(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<4xf32>) {
  %old = graph.read @s : tensor<16xf32>
  %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %d = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %new = kern.map(%old) bounds = [16] maps = [#id, #id] {
  ^bb0(%e: f32):
    %n = arith.negf %e : f32
    kern.yield %n : f32
  } : (tensor<16xf32>) -> tensor<16xf32>
  graph.write @s, %new : tensor<16xf32>
  graph.write @t, %d : tensor<4xf32>
  return %old, %x, %c : tensor<16xf32>, tensor<16xf32>, tensor<4xf32>
}

// -----

// Two states exchanged: each new value is the other's old one. The first is
// saved in work memory, the second goes at once, then the saved one.

graph.state @a statistic : tensor<16xf32> = dense<0.0> : tensor<16xf32>
graph.state @b statistic : tensor<16xf32> = dense<0.0> : tensor<16xf32>

// CHECK: exec.program @exchange
// CHECK: exec.copy <@state[64, 64]> to <@work[0, 64]>
// CHECK-NEXT: exec.copy <@state[0, 64]> to <@state[64, 64]>
// CHECK-NEXT: exec.copy <@work[0, 64]> to <@state[0, 64]>
// CHECK-NEXT: {{^ *[}]$}}
func.func @exchange(%step: !graph.step) {
  %a = graph.read @a : tensor<16xf32>
  %b = graph.read @b : tensor<16xf32>
  graph.write @a, %b : tensor<16xf32>
  graph.write @b, %a : tensor<16xf32>
  return
}

// -----

// An operand that another element of the result needs (a transpose by map) is
// not overwritten: two buffers, and a copy to the state at the end.

#t = affine_map<(d0, d1) -> (d1, d0)>
#i = affine_map<(d0, d1) -> (d0, d1)>
graph.state @m statistic : tensor<4x4xf32> = dense<0.0> : tensor<4x4xf32>

// CHECK: exec.program @turn
// CHECK: exec.arena @work work bytes = 64 {bound = 64 : i64}
// CHECK: exec.launch @map_4x4 operands = [#exec.slice<@state[0, 64]>, #exec.slice<@work[0, 64]>]
// CHECK-NEXT: exec.copy <@work[0, 64]> to <@state[0, 64]>
func.func @turn() {
  %m = graph.read @m : tensor<4x4xf32>
  %r = kern.map(%m) bounds = [4, 4] maps = [#t, #i] {
  ^bb0(%e: f32):
    kern.yield %e : f32
  } : (tensor<4x4xf32>) -> tensor<4x4xf32>
  graph.write @m, %r : tensor<4x4xf32>
  return
}

// -----

// The three convolutions go to the library; x, w and y of the descriptor are
// the same roles for each. @model is not a program.

// CHECK: exec.program @convolutions
// CHECK: exec.library "onednn.convolution" operands = [#exec.slice<@in0[0, 1024]>, #exec.slice<@in1[0, 144]>, #exec.slice<@in2[0, 8]>, #exec.slice<@out0[0, 1024]>]
// CHECK-SAME: descriptor = {dilations = array<i64: 1, 1>, groups = 1 : i64, has_bias = true, kind = "forward", pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>, w = array<i64: 2, 2, 3, 3>, w_layout = "row", winograd = false, x = array<i64: 2, 2, 8, 8>, x_layout = "row", y = array<i64: 2, 2, 8, 8>, y_layout = "row"}
// CHECK-NEXT: exec.library "onednn.convolution" operands = [#exec.slice<@out0[0, 1024]>, #exec.slice<@in1[0, 144]>, #exec.slice<@out1[0, 1024]>]
// CHECK-SAME: has_bias = false, kind = "input_grad"
// CHECK-SAME: w = array<i64: 2, 2, 3, 3>{{.*}} x = array<i64: 2, 2, 8, 8>{{.*}} y = array<i64: 2, 2, 8, 8>
// CHECK-NEXT: exec.library "onednn.convolution" operands = [#exec.slice<@in0[0, 1024]>, #exec.slice<@out0[0, 1024]>, #exec.slice<@out2[0, 144]>]
// CHECK-SAME: kind = "weight_grad"
// CHECK-NOT: @model
#row = #kern.layout<"row">
func.func @convolutions(%x: tensor<2x2x8x8xf32>, %w: tensor<2x2x3x3xf32>, %bias: tensor<2xf32>)
    -> (tensor<2x2x8x8xf32>, tensor<2x2x8x8xf32>, tensor<2x2x3x3xf32>) {
  %y = kern.conv forward(%x, %w, %bias) layouts = [#row, #row, #row, #row]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, schedule = #kern.schedule<library>}
      : (tensor<2x2x8x8xf32>, tensor<2x2x3x3xf32>, tensor<2xf32>) -> tensor<2x2x8x8xf32>
  %dx = kern.conv input_grad(%y, %w) layouts = [#row, #row, #row]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, schedule = #kern.schedule<library>}
      : (tensor<2x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<2x2x8x8xf32>
  %dw = kern.conv weight_grad(%x, %y) layouts = [#row, #row, #row]
      {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, schedule = #kern.schedule<library>}
      : (tensor<2x2x8x8xf32>, tensor<2x2x8x8xf32>) -> tensor<2x2x3x3xf32>
  return %y, %dx, %dw : tensor<2x2x8x8xf32>, tensor<2x2x8x8xf32>, tensor<2x2x3x3xf32>
}
func.func @model(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = arith.negf %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
