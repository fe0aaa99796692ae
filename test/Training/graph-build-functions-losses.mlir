// RUN: bessemer-opt %s --graph-build-functions=loss=mse | FileCheck %s --check-prefix=MSE
// RUN: bessemer-opt %s --graph-build-functions=loss=nll | FileCheck %s --check-prefix=NLL
// RUN: bessemer-opt %s --graph-build-functions=loss=bce | FileCheck %s --check-prefix=BCE
// RUN: bessemer-opt %s --graph-build-functions=loss=bce_with_logits | FileCheck %s --check-prefix=LOGITS
// RUN: bessemer-opt %s --graph-build-functions=loss=output:scalar | FileCheck %s --check-prefix=OUTPUT
// RUN: bessemer-opt %s --graph-build-functions="output-name=deep class-axis=1" | FileCheck %s --check-prefix=AXIS
// RUN: bessemer-opt %s --graph-build-functions="ignore-index=0 label-smoothing=0.1" \
// RUN:   | FileCheck %s --check-prefix=SMOOTH

// MSE-LABEL: func.func @train_step(
// MSE-SAME: %{{.*}}: tensor<4x3xf32> {graph.name = "labels"}
// MSE: %[[D:.*]] = arith.subf
// MSE: %[[S:.*]] = arith.mulf %[[D]], %[[D]]
// MSE: %[[SUM:.*]] = graph.reduce sum %[[S]] dims = [0, 1]
// MSE: %[[N:.*]] = arith.constant dense<1.200000e+01>
// MSE: arith.divf %[[SUM]], %[[N]]

// NLL-LABEL: func.func @train_step(
// NLL-SAME: tensor<4xi64> {graph.name = "labels", graph.ranges = [#graph.input_range<"a label", 0 to 2 or[-100]>]}
// NLL-NOT: graph.cross_entropy
// NLL: %[[INDEX:.*]] = graph.iota dim = 1 : tensor<4x3xi64>
// NLL: arith.cmpi eq, %[[INDEX]]

// BCE-LABEL: func.func @train_step(
// BCE: math.log
// BCE: arith.maximumf

// LOGITS-LABEL: func.func @train_step(
// LOGITS: math.log1p

// The graph computes the loss: no labels, and the batch stands for the count.
// OUTPUT-LABEL: func.func @eval_step(
// OUTPUT-SAME: %{{.*}}: tensor<4x3xf32> {graph.name = "x"}, %{{.*}}: !graph.step)
// OUTPUT: %[[COUNT:.*]] = arith.constant dense<4.000000e+00> : tensor<f32>
// OUTPUT: %[[SUM:.*]] = arith.mulf %{{.*}}, %[[COUNT]]
// OUTPUT: return %[[SUM]], %[[COUNT]]
// OUTPUT-LABEL: func.func @train_step(
// OUTPUT-SAME: %{{.*}}: tensor<4x3xf32> {graph.name = "x"}, %{{.*}}: !graph.step) -> (tensor<f32> {graph.name = "loss"})
// OUTPUT: %[[LOSS:.*]] = tensor.collapse_shape %{{.*}} [] : tensor<1xf32> into tensor<f32>
// OUTPUT: return %[[LOSS]]

// AXIS-LABEL: func.func @train_step(
// AXIS-SAME: tensor<2x3xi64> {graph.name = "labels", graph.ranges = [#graph.input_range<"a label", 0 to 1 or[-100]>]}
// AXIS: graph.transpose %{{.*}} permutation = [0, 2, 1]
// AXIS: graph.cross_entropy %{{.*}} (tensor<6x2xf32>, tensor<6xi64>)

// SMOOTH-LABEL: func.func @train_step(
// SMOOTH: graph.cross_entropy %{{.*}} {ignore_index = 0 : i64, label_smoothing = 1.000000e-01 : f64}
func.func @model(%x: tensor<4x3xf32> {graph.name = "x"})
    -> (tensor<4x3xf32> {graph.name = "y"}, tensor<1xf32> {graph.name = "scalar"},
        tensor<2x2x3xf32> {graph.name = "deep"}) {
  %y = arith.negf %x : tensor<4x3xf32>
  %s = graph.reduce sum %y dims = [0, 1] : tensor<4x3xf32> -> tensor<f32>
  %scalar = tensor.expand_shape %s [] output_shape [1] : tensor<f32> into tensor<1xf32>
  %deep = tensor.expand_shape %y [[0, 1], [2]] output_shape [2, 2, 3] : tensor<4x3xf32> into tensor<2x2x3xf32>
  return %y, %scalar, %deep : tensor<4x3xf32>, tensor<1xf32>, tensor<2x2x3xf32>
}
