// RUN: bessemer-opt %s --split-input-file --kern-schedule-order | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// Two branches of 4096 bytes each, of which 4 bytes remain. In program order
// both large values live at once (8192 bytes); one branch after the other
// needs 4096 and a rounded 64.

// CHECK-LABEL: func.func @branches
// CHECK: %[[A:.*]] = kern.map(%arg0)
// CHECK: %[[B:.*]] = kern.rows(%[[A]])
// CHECK: %[[C:.*]] = kern.map(%arg1)
// CHECK: %[[D:.*]] = kern.rows(%[[C]])
// CHECK: kern.map(%[[B]], %[[D]])
func.func @branches(%x: tensor<1024xf32>, %y: tensor<1024xf32>) -> tensor<f32> {
  %a = kern.map(%x) bounds = [1024] maps = [#id, #id] {
  ^bb0(%e: f32):
    %n = arith.negf %e : f32
    kern.yield %n : f32
  } : (tensor<1024xf32>) -> tensor<1024xf32>
  %c = kern.map(%y) bounds = [1024] maps = [#id, #id] {
  ^bb0(%e: f32):
    %n = math.absf %e : f32
    kern.yield %n : f32
  } : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = kern.rows(%a) bounds = [1024] reduced = [0] maps = [#id, affine_map<(d0) -> ()>] {
  ^bb0(%e: f32):
    %s = kern.fold sum %e : f32
    kern.yield %s : f32
  } : (tensor<1024xf32>) -> tensor<f32>
  %d = kern.rows(%c) bounds = [1024] reduced = [0] maps = [#id, affine_map<(d0) -> ()>] {
  ^bb0(%e: f32):
    %s = kern.fold sum %e : f32
    kern.yield %s : f32
  } : (tensor<1024xf32>) -> tensor<f32>
  %r = kern.map(%b, %d) bounds = [] maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>] {
  ^bb0(%e: f32, %f: f32):
    %s = arith.addf %e, %f : f32
    kern.yield %s : f32
  } : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// -----

// The update of @w would overwrite what the gemm reads: it goes behind it, so
// that no copy is needed. The reshape stays with what it reshapes, the write
// goes to the end.

#id2 = affine_map<(d0, d1) -> (d0, d1)>
graph.state @w parameter trainable : tensor<16x16xf32> = dense<0.0> : tensor<16x16xf32>

// CHECK-LABEL: func.func @update_last
// CHECK-NEXT: %[[W:.*]] = graph.read @w
// CHECK-NEXT: %[[LR:.*]] = graph.step_value
// CHECK-NEXT: %[[DY:.*]] = kern.map
// CHECK: %[[DX:.*]] = kern.gemm %[[DY]], %[[W]]
// CHECK: %[[FLAT:.*]] = tensor.collapse_shape %[[DX]]
// CHECK-NEXT: %[[NEW:.*]] = kern.update parameters(%[[W]])
// CHECK: graph.write @w, %[[NEW]]
// CHECK-NEXT: return %[[FLAT]]
func.func @update_last(%x: tensor<16x16xf32>, %step: !graph.step) -> tensor<256xf32> {
  %dy = kern.map(%x) bounds = [16, 16] maps = [#id2, #id2] {
  ^bb0(%e: f32):
    %n = arith.negf %e : f32
    kern.yield %n : f32
  } : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %w = graph.read @w : tensor<16x16xf32>
  %lr = graph.step_value learning_rate %step : tensor<f32>
  %new = kern.update parameters(%w) gradients(%dy) scalars(%lr) {
  ^bb0(%a: f32, %d: f32, %r: f32):
    %s = arith.mulf %d, %r : f32
    %n = arith.subf %a, %s : f32
    kern.yield %n : f32
  } : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<f32>) -> tensor<16x16xf32>
  graph.write @w, %new : tensor<16x16xf32>
  %dx = kern.gemm %dy, %w maps = [#id2] {
  ^bb0(%acc: f32):
    kern.yield %acc : f32
  } : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %flat = tensor.collapse_shape %dx [[0, 1]] : tensor<16x16xf32> into tensor<256xf32>
  return %flat : tensor<256xf32>
}
