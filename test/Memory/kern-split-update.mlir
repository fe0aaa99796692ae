// Large parameters get an update of their own, small ones stay together.
// RUN: bessemer-opt %s --kern-split-update | FileCheck %s

// 64 + 2 + 2 = 68 elements; a sixteenth is 4.25, so only %w is large.
// CHECK-LABEL: func.func @split
// CHECK-SAME: %[[W:.*]]: tensor<8x8xf32>, %[[B:.*]]: tensor<2xf32>, %[[C:.*]]: tensor<2xf32>, %[[DW:.*]]: tensor<8x8xf32>, %[[DB:.*]]: tensor<2xf32>, %[[DC:.*]]: tensor<2xf32>, %[[MW:.*]]: tensor<8x8xf32>, %[[MB:.*]]: tensor<2xf32>, %[[MC:.*]]: tensor<2xf32>
// CHECK: %[[LARGE:.*]]:2 = kern.update parameters(%[[W]]) gradients(%[[DW]]) moments(%[[MW]])
// CHECK: %[[SMALL:.*]]:4 = kern.update parameters(%[[B]], %[[C]]) gradients(%[[DB]], %[[DC]]) moments(%[[MB]], %[[MC]])
// CHECK: return %[[LARGE]]#0, %[[SMALL]]#0, %[[SMALL]]#1, %[[LARGE]]#1, %[[SMALL]]#2, %[[SMALL]]#3
func.func @split(%w: tensor<8x8xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>, %dw: tensor<8x8xf32>,
                 %db: tensor<2xf32>, %dc: tensor<2xf32>, %mw: tensor<8x8xf32>, %mb: tensor<2xf32>,
                 %mc: tensor<2xf32>, %lr: tensor<f32>)
    -> (tensor<8x8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<8x8xf32>, tensor<2xf32>, tensor<2xf32>) {
  %r:6 = kern.update parameters(%w, %b, %c) gradients(%dw, %db, %dc) moments(%mw, %mb, %mc) scalars(%lr) {
  ^bb0(%p: f32, %g: f32, %m: f32, %l: f32):
    %m1 = arith.addf %m, %g : f32
    %s = arith.mulf %m1, %l : f32
    %p1 = arith.subf %p, %s : f32
    kern.yield %p1, %m1 : f32, f32
  } : (tensor<8x8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<8x8xf32>, tensor<2xf32>, tensor<2xf32>,
       tensor<8x8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<f32>)
    -> (tensor<8x8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<8x8xf32>, tensor<2xf32>, tensor<2xf32>)
  return %r#0, %r#1, %r#2, %r#3, %r#4, %r#5
      : tensor<8x8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<8x8xf32>, tensor<2xf32>, tensor<2xf32>
}

// The scale depends on all gradients: nothing is won by splitting.
// CHECK-LABEL: func.func @clipped
// CHECK: kern.update parameters(%{{.*}}, %{{.*}})
// CHECK-NOT: kern.update
func.func @clipped(%w: tensor<8x8xf32>, %b: tensor<2xf32>, %dw: tensor<8x8xf32>, %db: tensor<2xf32>)
    -> (tensor<8x8xf32>, tensor<2xf32>) {
  %n = kern.norm(%dw, %db) : (tensor<8x8xf32>, tensor<2xf32>) -> tensor<2xf32>
  %s = kern.rows(%n) bounds = [2] reduced = [0] maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>] {
  ^bb0(%a: f32):
    %f = kern.fold sum %a : f32
    kern.yield %f : f32
  } : (tensor<2xf32>) -> tensor<f32>
  %r:2 = kern.update parameters(%w, %b) gradients(%dw, %db) scalars(%s) {
  ^bb0(%p: f32, %g: f32, %l: f32):
    %m = arith.mulf %g, %l : f32
    %p1 = arith.subf %p, %m : f32
    kern.yield %p1 : f32
  } : (tensor<8x8xf32>, tensor<2xf32>, tensor<8x8xf32>, tensor<2xf32>, tensor<f32>) -> (tensor<8x8xf32>, tensor<2xf32>)
  return %r#0, %r#1 : tensor<8x8xf32>, tensor<2xf32>
}
