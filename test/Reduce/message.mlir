// An error with a text, inside a kernel: the body of the kernel shrinks, too.
// RUN: bessemer-reduce %s -o %t --fails-with='told to refuse' --pipeline='builtin.module(func.func(test-fail{op=kern.map}))'
// RUN: FileCheck %s < %t

// CHECK: kern.map
// CHECK-NEXT: ^bb0(%[[A:[^:]*]]: f32
// CHECK-NEXT: kern.yield %[[A]]

func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = kern.map(%x) bounds = [8] maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
  ^bb0(%a: f32):
    %0 = math.exp %a : f32
    %1 = arith.addf %0, %a : f32
    kern.yield %1 : f32
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}
