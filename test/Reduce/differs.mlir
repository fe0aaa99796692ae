// A pass that makes additions subtractions: what is left is the addition.
// RUN: bessemer-reduce %s -o %t --differs-at=test-break-numerics --pipeline='builtin.module(canonicalize,test-break-numerics{function=f},cse)'
// RUN: FileCheck %s < %t

// CHECK: func.func @f
// CHECK-NEXT: %[[S:.*]] = arith.addf
// CHECK-NEXT: return %[[S]]

func.func @f(%x: tensor<4x8xf32> {graph.name = "x"}, %step: !graph.step) -> (tensor<4x8xf32> {graph.name = "y"}) {
  %e = math.exp %x : tensor<4x8xf32>
  %s = arith.addf %e, %x : tensor<4x8xf32>
  %y = arith.mulf %s, %s : tensor<4x8xf32>
  %z = math.tanh %y : tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}
