// Attention kernels parse what they print.
// RUN: bessemer-opt %s | bessemer-opt | FileCheck %s

#q = affine_map<(d0, d1, d2, d3) -> (d0 * 96 + d2 * 12 + d1 * 4 + d3)>
#k = affine_map<(d0, d1, d2, d3) -> (d0 * 96 + d2 * 12 + d1 * 4 + d3 + 4)>
#v = affine_map<(d0, d1, d2, d3) -> (d0 * 96 + d2 * 12 + d1 * 4 + d3 + 8)>
#y = affine_map<(d0, d1, d2, d3) -> (d0 * 32 + d2 * 4 + d1 * 4 + d3)>
#m = affine_map<(d0, d1, d2, d3) -> (d2 * 8 + d3)>

// CHECK-DAG: #[[V:.*]] = affine_map<(d0, d1, d2, d3) -> (d0 * 96 + d2 * 12 + d1 * 4 + d3 + 8)>
// CHECK-LABEL: func.func @packed
func.func @packed(%x: tensor<16x12xf32>, %m: tensor<8x8xf32>, %step: !graph.step, %y: tensor<2x8x4xf32>, %lse: tensor<2x1x8xf32>) {
  // CHECK: kern.attention %{{.*}}, %{{.*}}, %{{.*}} bounds = [2, 1, 1, 8, 8, 4, 4] views = [#{{.*}}, #{{.*}}, #[[V]], #{{.*}}] {causal, scale = 5.000000e-01 : f64} :
  %0:2 = kern.attention %x, %x, %x bounds = [2, 1, 1, 8, 8, 4, 4] views = [#q, #k, #v, #y] {scale = 0.5 : f64, causal}
      : (tensor<16x12xf32>, tensor<16x12xf32>, tensor<16x12xf32>) -> (tensor<2x8x4xf32>, tensor<2x1x8xf32>)
  // CHECK: kern.attention_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} step %{{.*}} bounds = [2, 1, 1, 8, 8, 4, 4]
  // CHECK-SAME: into = [0, 0, 0] {id = 3 : i64, ratio = 1.000000e-01 : f64, scale = 5.000000e-01 : f64} :
  %1 = kern.attention_grad %x, %x, %x, %y, %lse, %y mask %m step %step bounds = [2, 1, 1, 8, 8, 4, 4]
      views = [#q, #k, #v, #y, #y, #m, #q, #k, #v] into = [0, 0, 0] {scale = 0.5 : f64, ratio = 0.1 : f64, id = 3 : i64}
      : (tensor<16x12xf32>, tensor<16x12xf32>, tensor<16x12xf32>, tensor<2x8x4xf32>, tensor<2x1x8xf32>, tensor<2x8x4xf32>,
         tensor<8x8xf32>, !graph.step) -> tensor<16x12xf32>
  return
}
