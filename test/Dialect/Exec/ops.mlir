// Every exec op parses what it prints.
// RUN: bessemer-opt %s | bessemer-opt | FileCheck %s

// CHECK: exec.state @w at 128 : tensor<64xf32> = dense<0.000000e+00> : tensor<64xf32> {role = "parameter", trainable}
exec.state @w at 128 : tensor<64xf32> = dense<0.0> : tensor<64xf32> {role = "parameter", trainable}
// CHECK: exec.state @v at 384 : tensor<16x16x1x1xf32> = dense<0.000000e+00> : tensor<16x16x1x1xf32> {layout = "OIhw16i16o", role = "parameter"}
exec.state @v at 384 : tensor<16x16x1x1xf32> = dense<0.0> : tensor<16x16x1x1xf32> {layout = "OIhw16i16o", role = "parameter"}

// CHECK: exec.kernel @map_0
exec.kernel @map_0 {
^bb0(%x: tensor<64xf32>):
  // CHECK: kern.map(
  %y = kern.map(%x) bounds = [64] maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
  ^bb0(%a: f32):
    %n = arith.negf %a : f32
    kern.yield %n : f32
  } : (tensor<64xf32>) -> tensor<64xf32>
}

// CHECK: exec.program @predict inputs = [{name = "x", type = tensor<64xf32>}] outputs = [{name = "y", type = tensor<64xf32>}] {
exec.program @predict inputs = [{name = "x", type = tensor<64xf32>}] outputs = [{name = "y", type = tensor<64xf32>}] {
  // CHECK: exec.arena @in0 input bytes = 256
  exec.arena @in0 input bytes = 256 {value = 0 : i64}
  // CHECK: exec.arena @out0 output bytes = 256
  exec.arena @out0 output bytes = 256 {value = 0 : i64}
  // CHECK: exec.arena @work work bytes = 512 {bound = 256 : i64}
  exec.arena @work work bytes = 512 {bound = 256 : i64}
  // CHECK: exec.launch @map_0 operands = [#exec.slice<@in0[0, 256]>, #exec.slice<@work[0, 256]>] {label = "neg"}
  exec.launch @map_0 operands = [#exec.slice<@in0[0, 256]>, #exec.slice<@work[0, 256]>] {label = "neg"}
  // CHECK: exec.copy <@work[0, 256]> to <@out0[0, 256]>
  exec.copy <@work[0, 256]> to <@out0[0, 256]>
  // CHECK: exec.fill <@work[0, 256]> pattern = 0 width = 4
  exec.fill <@work[0, 256]> pattern = 0 width = 4
  // CHECK: exec.library "onednn.convolution" operands = [#exec.slice<@in0[0, 256]>, #exec.slice<@work[256, 256]>] descriptor = {kind = "forward"}
  exec.library "onednn.convolution" operands = [#exec.slice<@in0[0, 256]>, #exec.slice<@work[256, 256]>] descriptor = {kind = "forward"}
}
