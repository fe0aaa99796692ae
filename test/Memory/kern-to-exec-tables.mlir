// A table's update needs no memory for its gradient: it is in place, and the
// rows of the batch are all that lies in the work arena.
// RUN: bessemer-opt %s --kern-to-exec --exec-verify | FileCheck %s

// CHECK: exec.state @t at 0 : tensor<1000x16xf32>
graph.state @t parameter trainable : tensor<1000x16xf32> = dense<0.5> : tensor<1000x16xf32> {why = "marked PARAMETER"}
// CHECK: exec.state @m at 64000 : tensor<1000x16xf32>
graph.state @m moment : tensor<1000x16xf32> = dense<0.0> : tensor<1000x16xf32>

// 4 rows of 16 floats are 256 bytes, the table 64000.
// CHECK: exec.program @train_step
// CHECK: exec.arena @work work bytes = 256
// CHECK: exec.launch @gather_1000x16_by_1x4 operands = [#exec.slice<@state[0, 64000]>, #exec.slice<@in0[0, 32]>, #exec.slice<@work[0, 256]>]
// CHECK: exec.launch @table_update_1000x16_by_1x4_add_mul_sub operands = [#exec.slice<@state[0, 64000]>, #exec.slice<@work[0, 256]>, #exec.slice<@in0[0, 32]>,
// CHECK-SAME: #exec.slice<@state[64000, 64000]>, #exec.slice<@step[20, 4]>, #exec.slice<@state[0, 64000]>, #exec.slice<@state[64000, 64000]>]
func.func @train_step(%x: tensor<4xi64> {graph.name = "x"}, %step: !graph.step) -> (tensor<f32> {graph.name = "loss"}) {
  %t = graph.read @t : tensor<1000x16xf32>
  %m = graph.read @m : tensor<1000x16xf32>
  %lr = graph.step_value learning_rate %step : tensor<f32>
  %t4 = tensor.expand_shape %t [[0, 1, 2], [3]] output_shape [1, 1, 1000, 16] : tensor<1000x16xf32> into tensor<1x1x1000x16xf32>
  %m4 = tensor.expand_shape %m [[0, 1, 2], [3]] output_shape [1, 1, 1000, 16] : tensor<1000x16xf32> into tensor<1x1x1000x16xf32>
  %x2 = tensor.expand_shape %x [[0, 1]] output_shape [1, 4] : tensor<4xi64> into tensor<1x4xi64>
  %y = kern.gather %t4, %x2 : (tensor<1x1x1000x16xf32>, tensor<1x4xi64>) -> tensor<1x1x4x16xf32>
  %l = kern.rows(%y) bounds = [1, 1, 4, 16] reduced = [0, 1, 2, 3] maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>] {
  ^bb0(%a: f32):
    %s = kern.fold sum %a : f32
    kern.yield %s : f32
  } : (tensor<1x1x4x16xf32>) -> tensor<f32>
  %n:2 = kern.table_update %t4, %y, %x2 moments(%m4) scalars(%lr) {
  ^bb0(%a: f32, %d: f32, %b: f32, %r: f32):
    %s = arith.addf %b, %d : f32
    %u = arith.mulf %s, %r : f32
    %v = arith.subf %a, %u : f32
    kern.yield %v, %s : f32, f32
  } : (tensor<1x1x1000x16xf32>, tensor<1x1x4x16xf32>, tensor<1x4xi64>, tensor<1x1x1000x16xf32>, tensor<f32>)
      -> (tensor<1x1x1000x16xf32>, tensor<1x1x1000x16xf32>)
  %t1 = tensor.collapse_shape %n#0 [[0, 1, 2], [3]] : tensor<1x1x1000x16xf32> into tensor<1000x16xf32>
  %m1 = tensor.collapse_shape %n#1 [[0, 1, 2], [3]] : tensor<1x1x1000x16xf32> into tensor<1000x16xf32>
  graph.write @t, %t1 : tensor<1000x16xf32>
  graph.write @m, %m1 : tensor<1000x16xf32>
  return %l : tensor<f32>
}
