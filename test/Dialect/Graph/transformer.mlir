// Norms, gelu and attention parse what they print.
// RUN: bessemer-opt %s | bessemer-opt | FileCheck %s

// CHECK-LABEL: func.func @norms
func.func @norms(%x: tensor<4x6x8xf32>, %s: tensor<8xf32>, %s2: tensor<6x8xf32>, %m: tensor<4x6xf32>) {
  // CHECK: graph.layer_norm %{{.*}}, %{{.*}} bias %{{.*}} {epsilon = 1.000000e-05 : f64} : (tensor<4x6x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x6x8xf32>, tensor<4x6xf32>, tensor<4x6xf32>)
  %0:3 = graph.layer_norm %x, %s bias %s {epsilon = 1.0e-5 : f64}
      : (tensor<4x6x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x6x8xf32>, tensor<4x6xf32>, tensor<4x6xf32>)
  // CHECK: graph.layer_norm %{{.*}}, %{{.*}} {epsilon = 1.000000e-05 : f64} : (tensor<4x6x8xf32>, tensor<6x8xf32>) -> (tensor<4x6x8xf32>, tensor<4xf32>, tensor<4xf32>)
  %1:3 = graph.layer_norm %x, %s2 {epsilon = 1.0e-5 : f64}
      : (tensor<4x6x8xf32>, tensor<6x8xf32>) -> (tensor<4x6x8xf32>, tensor<4xf32>, tensor<4xf32>)
  // CHECK: graph.layer_norm_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} :
  %2:3 = graph.layer_norm_grad %x, %s, %m, %m, %x
      : (tensor<4x6x8xf32>, tensor<8xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6x8xf32>)
      -> (tensor<4x6x8xf32>, tensor<8xf32>, tensor<8xf32>)
  // CHECK: graph.rms_norm %{{.*}}, %{{.*}} {epsilon = {{.*}}E-7 : f64} :
  %3:2 = graph.rms_norm %x, %s {epsilon = 1.0e-6 : f64}
      : (tensor<4x6x8xf32>, tensor<8xf32>) -> (tensor<4x6x8xf32>, tensor<4x6xf32>)
  // CHECK: graph.rms_norm_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} :
  %4:2 = graph.rms_norm_grad %x, %s, %m, %x
      : (tensor<4x6x8xf32>, tensor<8xf32>, tensor<4x6xf32>, tensor<4x6x8xf32>) -> (tensor<4x6x8xf32>, tensor<8xf32>)
  return
}

// CHECK-LABEL: func.func @gelu
func.func @gelu(%x: tensor<4xf32>) {
  // CHECK: graph.gelu none %{{.*}} : tensor<4xf32>
  %0 = graph.gelu none %x : tensor<4xf32>
  // CHECK: graph.gelu_grad tanh %{{.*}}, %{{.*}} : tensor<4xf32>
  %1 = graph.gelu_grad tanh %x, %x : tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @sigmoid
func.func @sigmoid(%x: tensor<4xf32>) {
  // CHECK: graph.sigmoid %{{.*}} : tensor<4xf32>
  %0 = graph.sigmoid %x : tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @silu
func.func @silu(%x: tensor<4xf32>) {
  // CHECK: graph.silu %{{.*}} : tensor<4xf32>
  %0 = graph.silu %x : tensor<4xf32>
  // CHECK: graph.silu_grad %{{.*}}, %{{.*}} : tensor<4xf32>
  %1 = graph.silu_grad %x, %x : tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x7x8xf32>, %v: tensor<2x2x7x6xf32>,
    %m: tensor<2x1x1x7xf32>, %step: !graph.step, %y: tensor<2x4x5x6xf32>, %lse: tensor<2x4x5xf32>) {
  // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}} {causal, scale = 1.250000e-01 : f64} :
  %0:2 = graph.attention %q, %k, %v {scale = 0.125 : f64, causal}
      : (tensor<2x4x5x8xf32>, tensor<2x2x7x8xf32>, tensor<2x2x7x6xf32>) -> (tensor<2x4x5x6xf32>, tensor<2x4x5xf32>)
  // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} step %{{.*}} {id = 3 : i64, ratio = 1.000000e-01 : f64, scale = 1.250000e-01 : f64} :
  %1:2 = graph.attention %q, %k, %v mask %m step %step {scale = 0.125 : f64, ratio = 0.1 : f64, id = 3 : i64}
      : (tensor<2x4x5x8xf32>, tensor<2x2x7x8xf32>, tensor<2x2x7x6xf32>, tensor<2x1x1x7xf32>, !graph.step)
      -> (tensor<2x4x5x6xf32>, tensor<2x4x5xf32>)
  // CHECK: graph.attention_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} {scale = 1.250000e-01 : f64} :
  %2:3 = graph.attention_grad %q, %k, %v, %y, %lse, %y mask %m {scale = 0.125 : f64}
      : (tensor<2x4x5x8xf32>, tensor<2x2x7x8xf32>, tensor<2x2x7x6xf32>, tensor<2x4x5x6xf32>, tensor<2x4x5xf32>,
         tensor<2x4x5x6xf32>, tensor<2x1x1x7xf32>)
      -> (tensor<2x4x5x8xf32>, tensor<2x2x7x8xf32>, tensor<2x2x7x6xf32>)
  return
}
