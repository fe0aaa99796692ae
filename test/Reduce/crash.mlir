// A pass that crashes on tanh: what is left is a tanh.
// RUN: bessemer-reduce %s -o %t --crashes --pipeline='builtin.module(func.func(test-fail{op=math.tanh how=crash}))' | FileCheck %s --check-prefix=SAYS
// RUN: FileCheck %s < %t
// RUN: not bessemer-opt %t --pass-pipeline='builtin.module(func.func(test-fail{op=math.tanh}))' 2>&1 | FileCheck %s --check-prefix=STILL

// The module, the function, the tanh, the sum that alone keeps it and the return.
// SAYS: ops -> {{.*}}: 5 ops
// STILL: 'math.tanh' op is what this pass was told to refuse

// CHECK: module
// CHECK-NEXT: func.func @train_step(%[[A:.*]]: tensor<4x8xf32>
// CHECK-NEXT: %[[T:.*]] = math.tanh %[[A]]
// CHECK-NEXT: graph.reduce sum %[[T]]
// CHECK-NEXT: return
// CHECK-NOT: {{graph|arith|predict}}

graph.state @w parameter trainable : tensor<8x8xf32> = dense<0.5> : tensor<8x8xf32>
func.func @predict(%x: tensor<4x8xf32> {graph.name = "x"}, %step: !graph.step) -> (tensor<4x8xf32> {graph.name = "y"}) {
  %y = arith.negf %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
func.func @train_step(%x: tensor<4x8xf32> {graph.name = "x"}, %step: !graph.step)
    -> (tensor<f32> {graph.name = "loss"}, tensor<4x8xf32> {graph.name = "h"}) {
  %w = graph.read @w : tensor<8x8xf32>
  %a = graph.contract %x, %w batch = [] x [] contract = [1] x [0]
      : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %b = arith.addf %a, %x : tensor<4x8xf32>
  %h = math.tanh %b : tensor<4x8xf32>
  %loss = graph.reduce sum %h dims = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  %new = arith.negf %w : tensor<8x8xf32>
  graph.write @w, %new : tensor<8x8xf32>
  return %loss, %h : tensor<f32>, tensor<4x8xf32>
}
