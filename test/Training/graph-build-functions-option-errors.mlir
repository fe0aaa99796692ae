// RUN: not bessemer-opt %s --graph-build-functions=loss=hinge 2>&1 | FileCheck %s --check-prefix=LOSS
// RUN: not bessemer-opt %s --graph-build-functions=output-name=z 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not bessemer-opt %s --graph-build-functions=loss=output 2>&1 | FileCheck %s --check-prefix=SCALAR
// RUN: not bessemer-opt %s --graph-build-functions="loss=mse output-name=s" 2>&1 | FileCheck %s --check-prefix=RANK0
// RUN: not bessemer-opt %s --graph-build-functions=class-axis=0 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not bessemer-opt %s --graph-build-functions=class-axis=last 2>&1 | FileCheck %s --check-prefix=INTEGER
// RUN: not bessemer-opt %s --graph-build-functions=label-smoothing=1.5 2>&1 | FileCheck %s --check-prefix=SMOOTHING
// RUN: not bessemer-opt %s --graph-build-functions="loss=mse label-smoothing=0.5" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SMOOTHLOSS
// RUN: not bessemer-opt %s --graph-build-functions=batch-norm-variance=both 2>&1 | FileCheck %s --check-prefix=VARIANCE
// RUN: not bessemer-opt %s "--graph-build-functions=freeze=[a" 2>&1 | FileCheck %s --check-prefix=GLOB

// LOSS: error: expected loss cross_entropy, nll, mse, bce, bce_with_logits, output or output:NAME, got 'hinge'
// NAME: error: the model has no output 'z'; its outputs are 'y', 's'
// SCALAR: error: output 'y' has shape [4, 3]: a loss must be a scalar
// RANK0: error: output 's': loss mse expects a prediction with a batch dimension, got a scalar
// AXIS: error: output 'y': expected class_axis between 1 and 1 (dimension 0 is the batch), got 0
// INTEGER: error: expected an integer class-axis, got 'last'
// SMOOTHING: error: expected label_smoothing between 0 and 1, got 1.5
// SMOOTHLOSS: error: label_smoothing works with the loss cross_entropy only, got mse
// VARIANCE: error: expected batch_norm_variance biased or unbiased, got 'both'
// GLOB: error: freeze pattern '[a':
func.func @model(%x: tensor<4x3xf32> {graph.name = "x"})
    -> (tensor<4x3xf32> {graph.name = "y"}, tensor<f32> {graph.name = "s"}) {
  %s = graph.reduce sum %x dims = [0, 1] : tensor<4x3xf32> -> tensor<f32>
  return %x, %s : tensor<4x3xf32>, tensor<f32>
}
