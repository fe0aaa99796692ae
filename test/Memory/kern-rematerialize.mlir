// A value that waits for a late use is computed again before it, when a
// session would not fit otherwise.
//
// RUN: bessemer-opt %s --kern-rematerialize=memory-limit=17216 | FileCheck %s
// RUN: bessemer-opt %s --kern-rematerialize=memory-limit=21312 | FileCheck %s --check-prefix=ROOM
// RUN: bessemer-opt %s --kern-rematerialize=free-share=0.1 | FileCheck %s --check-prefix=ROOM
// RUN: bessemer-opt %s --kern-rematerialize=free-share=0.3 | FileCheck %s

// Bytes: %a 4096, %u and %c 256, %b 16384. While %b is made or read, %a, %b and
// one of the small ones are live: 20736; without %a 16640. x and y take 256
// each, the step block 64: 21312 and 17216 bytes. The five kernels cost about
// the same (a launch counts as 65536 bytes): one is a fifth.

// CHECK-LABEL: func.func @predict
// CHECK: %[[A:.*]] = kern.map(%{{.*}}) bounds = [64, 16]
// CHECK: %[[U:.*]] = kern.rows(%[[A]])
// CHECK: %[[B:.*]] = kern.map(%[[U]])
// CHECK: %[[C:.*]] = kern.rows(%[[B]])
// CHECK: %[[AGAIN:.*]] = kern.map(%{{.*}}) bounds = [64, 16]
// CHECK: %[[CUBE:.*]] = tensor.expand_shape %[[AGAIN]]
// CHECK: kern.rows(%[[CUBE]], %[[C]])

// ROOM-LABEL: func.func @predict
// ROOM-COUNT-2: kern.map
// ROOM-NOT: kern.map
func.func @predict(%x: tensor<64xf32> {graph.name = "x"}, %step: !graph.step) -> (tensor<64xf32> {graph.name = "y"}) {
  %a = kern.map(%x) bounds = [64, 16] maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>] {
  ^bb0(%e: f32):
    %0 = math.exp %e : f32
    kern.yield %0 : f32
  } : (tensor<64xf32>) -> tensor<64x16xf32>
  %cube = tensor.expand_shape %a [[0], [1, 2]] output_shape [64, 4, 4] : tensor<64x16xf32> into tensor<64x4x4xf32>
  %u = kern.rows(%a) bounds = [64, 16] reduced = [1] maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>] {
  ^bb0(%e: f32):
    %0 = kern.fold sum %e : f32
    kern.yield %0 : f32
  } : (tensor<64x16xf32>) -> tensor<64xf32>
  %b = kern.map(%u) bounds = [64, 64] maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>] {
  ^bb0(%e: f32):
    %0 = arith.negf %e : f32
    kern.yield %0 : f32
  } : (tensor<64xf32>) -> tensor<64x64xf32>
  %c = kern.rows(%b) bounds = [64, 64] reduced = [1] maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>] {
  ^bb0(%e: f32):
    %0 = kern.fold sum %e : f32
    kern.yield %0 : f32
  } : (tensor<64x64xf32>) -> tensor<64xf32>
  %d = kern.rows(%cube, %c) bounds = [64, 4, 4] reduced = [1, 2] maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>,
      affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0)>] {
  ^bb0(%e: f32, %f: f32):
    %0 = arith.mulf %e, %f : f32
    %1 = kern.fold sum %0 : f32
    kern.yield %1 : f32
  } : (tensor<64x4x4xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %d : tensor<64xf32>
}
