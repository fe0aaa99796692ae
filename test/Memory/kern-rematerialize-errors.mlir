// What cannot fit is refused with the bytes that are missing.
//
// RUN: bessemer-opt %s --kern-rematerialize=memory-limit=600 --verify-diagnostics

// x and y take 256 bytes each, the step block 64, %a 256.

// expected-error @unknown {{memory limit: expected at least 832 bytes (576 of parameters, other state, inputs and outputs, and 256 of temporaries of 'predict', recomputing what can be), got 600: 232 bytes short}}
func.func @predict(%x: tensor<64xf32> {graph.name = "x"}, %step: !graph.step) -> (tensor<64xf32> {graph.name = "y"}) {
  %a = kern.rows(%x) bounds = [1, 64] reduced = [1] maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>] {
  ^bb0(%e: f32):
    %s = kern.fold sum %e : f32
    %0 = arith.divf %e, %s : f32
    kern.yield %0 : f32
  } : (tensor<64xf32>) -> tensor<64xf32>
  %b = kern.rows(%a) bounds = [1, 64] reduced = [1] maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>] {
  ^bb0(%e: f32):
    %s = kern.fold max %e : f32
    %0 = arith.subf %e, %s : f32
    kern.yield %0 : f32
  } : (tensor<64xf32>) -> tensor<64xf32>
  return %b : tensor<64xf32>
}
