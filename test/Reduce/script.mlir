// A program says what is interesting.
// RUN: bessemer-reduce %s -o %t --test=%S/Inputs/has-exp.sh
// RUN: FileCheck %s < %t

// CHECK: func.func @f(%[[X:.*]]: tensor<8xf32>
// CHECK-NEXT: %[[E:.*]] = math.exp %[[X]]
// CHECK-NEXT: return

func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = arith.negf %x : tensor<8xf32>
  %e = math.exp %a : tensor<8xf32>
  %y = arith.addf %e, %x : tensor<8xf32>
  return %y : tensor<8xf32>
}
