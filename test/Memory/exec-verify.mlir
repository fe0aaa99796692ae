// RUN: bessemer-opt %s --exec-verify | FileCheck %s
// RUN: bessemer-opt %s | bessemer-opt | FileCheck %s

// A level that is right passes unchanged, and prints as it parses.

#id = affine_map<(d0) -> (d0)>
// CHECK: exec.state @s at 0 : tensor<16xf32> = dense<0.000000e+00> : tensor<16xf32> {role = "statistic"}
exec.state @s at 0 : tensor<16xf32> = dense<0.0> : tensor<16xf32> {role = "statistic"}
exec.kernel @neg {
^bb0(%x: tensor<16xf32>):
  %y = kern.map(%x) bounds = [16] maps = [#id, #id] {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kern.yield %n : f32
  } : (tensor<16xf32>) -> tensor<16xf32>
}
// CHECK: exec.program @f
// CHECK-NEXT: exec.arena @state state bytes = 64
// CHECK-NEXT: exec.arena @work work bytes = 64 {bound = 64 : i64}
// CHECK-NEXT: exec.arena @out0 output bytes = 64
// CHECK-NEXT: exec.copy <@state[0, 64]> to <@out0[0, 64]> {values = array<i64: 0, 0>}
// CHECK-NEXT: exec.launch @neg operands = [#exec.slice<@state[0, 64]>, #exec.slice<@state[0, 64]>] {label = "neg1 (model.py:3)", values = array<i64: 0, 1>}
// CHECK-NEXT: exec.launch @neg operands = [#exec.slice<@state[0, 64]>, #exec.slice<@work[0, 64]>] {values = array<i64: 1, 2>}
// CHECK-NEXT: exec.fill <@work[0, 64]> pattern = 1065353216 width = 4
exec.program @f inputs = [] outputs = [{name = "y", type = tensor<16xf32>}] {
  exec.arena @state state bytes = 64
  exec.arena @work work bytes = 64 {bound = 64 : i64}
  exec.arena @out0 output bytes = 64
  exec.copy <@state[0, 64]> to <@out0[0, 64]> {values = array<i64: 0, 0>}
  exec.launch @neg operands = [#exec.slice<@state[0, 64]>, #exec.slice<@state[0, 64]>] {values = array<i64: 0, 1>, label = "neg1 (model.py:3)"}
  exec.launch @neg operands = [#exec.slice<@state[0, 64]>, #exec.slice<@work[0, 64]>] {values = array<i64: 1, 2>}
  exec.fill <@work[0, 64]> pattern = 1065353216 width = 4
}
