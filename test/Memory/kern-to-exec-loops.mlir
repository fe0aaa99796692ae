// RUN: bessemer-opt %s --kern-schedule-order --kern-to-exec --exec-verify | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// The carried value is worked on in its output, the start value copied there;
// the temporary has the work arena in every step; the step's output is a copy
// of 64 bytes to the next place from the back, as the loop runs in reverse:
// 2 x 64 = 128 first, then 64 bytes less each time.

// CHECK-LABEL: exec.program @sums
// CHECK: exec.arena @work work bytes = 64 {bound = 64 : i64}
// CHECK: exec.copy <@in1[0, 64]> to <@out0[0, 64]>
// CHECK-NEXT: exec.repeat 3 scratch = [#exec.slice<@work[0, 64]>] carried = [#exec.slice<@out0[0, 64]>] {
// CHECK-NEXT: exec.launch @map_16_neg operands = [#exec.slice<@in0[128, 64] by[-64]>, #exec.slice<@work[0, 64]>]
// CHECK-NEXT: exec.launch @map_16_add operands = [#exec.slice<@out0[0, 64]>, #exec.slice<@work[0, 64]>, #exec.slice<@out0[0, 64]>]
// CHECK-NEXT: exec.copy <@out0[0, 64]> to <@out1[128, 64] by[-64]>
// CHECK-NEXT: } {values = array<i64: [[SUM:[0-9]+]], [[SUM]], {{[0-9]+}}>}
func.func @sums(%x: tensor<3x16xf32>, %init: tensor<16xf32>) -> (tensor<16xf32>, tensor<3x16xf32>) {
  %total, %sums = graph.scan 3 reverse inits(%init) sequences(%x) invariants() {
  ^bb0(%sum: tensor<16xf32>, %element: tensor<16xf32>):
    %t = kern.map(%element) bounds = [16] maps = [#id, #id] {
    ^bb0(%a: f32):
      %r = arith.negf %a : f32
      kern.yield %r : f32
    } : (tensor<16xf32>) -> tensor<16xf32>
    %n = kern.map(%sum, %t) bounds = [16] maps = [#id, #id, #id] {
    ^bb0(%a: f32, %b: f32):
      %r = arith.addf %a, %b : f32
      kern.yield %r : f32
    } : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    graph.yield %n, %n : tensor<16xf32>, tensor<16xf32>
  } : (tensor<16xf32>, tensor<3x16xf32>) -> (tensor<16xf32>, tensor<3x16xf32>)
  return %total, %sums : tensor<16xf32>, tensor<3x16xf32>
}

// A constant start is filled in and lies in no arena. Two carried values change
// places through one temporary: the old value of one is saved, the other copied
// there, and what was saved copied in the end.

// CHECK-LABEL: exec.program @swap
// CHECK-NOT: constant
// CHECK: exec.fill <@out0[0, 64]> pattern = 1065353216 width = 4
// CHECK: exec.copy <@in0[0, 64]> to <@out1[0, 64]>
// CHECK-NEXT: exec.repeat 5 scratch = [#exec.slice<@work[0, 64]>] carried = [#exec.slice<@out0[0, 64]>, #exec.slice<@out1[0, 64]>] {
// CHECK-NEXT: exec.copy <@out1[0, 64]> to <@work[0, 64]> {values = array<i64: [[OLD1:[0-9]+]], [[SAVED1:[0-9]+]]>}
// CHECK-NEXT: exec.copy <@out0[0, 64]> to <@out1[0, 64]> {values = array<i64: [[OLD0:[0-9]+]], [[SAVED0:[0-9]+]]>}
// CHECK-NEXT: exec.copy <@work[0, 64]> to <@out0[0, 64]>
// CHECK-NEXT: } {values = array<i64: [[OLD0]], [[OLD0]], [[SAVED1]], [[OLD1]], [[OLD1]], [[SAVED0]]>}
func.func @swap(%b: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %one = arith.constant dense<1.0> : tensor<16xf32>
  %r:2 = graph.scan 5 inits(%one, %b) sequences() invariants() {
  ^bb0(%x: tensor<16xf32>, %y: tensor<16xf32>):
    graph.yield %y, %x : tensor<16xf32>, tensor<16xf32>
  } : (tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  return %r#0, %r#1 : tensor<16xf32>, tensor<16xf32>
}
