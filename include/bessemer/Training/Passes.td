// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of the Training stage: graph -> graph.

#ifndef BESSEMER_TRAINING_PASSES_TD
#define BESSEMER_TRAINING_PASSES_TD

include "mlir/Pass/PassBase.td"

def GraphBuildFunctions : Pass<"graph-build-functions", "::mlir::ModuleOp"> {
  let summary = "make @predict, @eval_step and @train_step from @model";
  let description = [{
    `@predict` is the model in inference mode. `@eval_step` adds the loss and
    returns sums over the rows below the step block's `valid_rows`.
    `@train_step` is the model in training mode with the loss: batch norm uses
    the batch's statistics and writes the running ones, dropout drops. A batch
    norm stays in inference mode when a freeze pattern matches one of its
    running statistics. `@model` is erased.

    ```mlir
    func.func @model(%x: tensor<8x10xf32> {graph.name = "x"}) -> (tensor<8x10xf32> {graph.name = "y"}) {
      %y = arith.negf %x : tensor<8x10xf32>
      return %y : tensor<8x10xf32>
    }
    ```
  }];
  let options = [
    Option<"inference", "inference", "bool", "false",
      "make only @predict: the model is not trained">,
    Option<"loss", "loss", "std::string", "\"cross_entropy\"",
      "cross_entropy, nll, mse, bce, bce_with_logits, output or output:NAME">,
    Option<"outputName", "output-name", "std::string", "",
      "output that is the prediction (default: the first)">,
    Option<"classAxis", "class-axis", "std::string", "",
      "dimension of the classes (default: 1, last for rank 3)">,
    Option<"ignoreIndex", "ignore-index", "int64_t", "-100",
      "label of rows that do not count">,
    Option<"labelSmoothing", "label-smoothing", "double", "0.0",
      "weight of the uniform distribution in the target">,
    ListOption<"freeze", "freeze", "std::string",
      "patterns of running statistics to leave as they are">,
    Option<"batchNormVariance", "batch-norm-variance", "std::string", "",
      "biased or unbiased running variance (default: by producer)">,
    Option<"accumulate", "accumulate", "int64_t", "1",
      "micro-batches of a batch; above 1 @train_step also returns what its "
      "loss is divided by, for graph-accumulate">
  ];
}

def GraphDifferentiate : Pass<"graph-differentiate", "::mlir::ModuleOp"> {
  let summary = "append the gradients of trainable states to @train_step";
  let description = [{
    Reverse-mode differentiation of the first result over
    `DifferentiableOpInterface`. Only what trainable states need is built;
    gradients of a value used several times are added in the reverse order of
    its uses.

    ```mlir
    graph.state @w parameter trainable : tensor<4xf32> = dense<1.0> : tensor<4xf32>
    func.func @train_step(%x: tensor<4xf32> {graph.name = "x"}, %step: !graph.step)
        -> (tensor<f32> {graph.name = "loss"}) {
      %w = graph.read @w : tensor<4xf32>
      %p = arith.mulf %w, %x : tensor<4xf32>
      %loss = graph.reduce sum %p dims = [0] : tensor<4xf32> -> tensor<f32>
      return %loss : tensor<f32>
    }
    ```
    becomes
    ```mlir
    graph.state @w parameter trainable : tensor<4xf32> = dense<1.0> : tensor<4xf32>
    func.func @train_step(%x: tensor<4xf32> {graph.name = "x"}, %step: !graph.step)
        -> (tensor<f32> {graph.name = "loss"}, tensor<4xf32> {graph.gradient = @w}) {
      %w = graph.read @w : tensor<4xf32>
      %p = arith.mulf %w, %x : tensor<4xf32>
      %loss = graph.reduce sum %p dims = [0] : tensor<4xf32> -> tensor<f32>
      %one = arith.constant dense<1.0> : tensor<f32>
      %dp = graph.broadcast %one dims = [] : tensor<f32> -> tensor<4xf32>
      %dw = arith.mulf %dp, %x : tensor<4xf32>
      return %loss, %dw : tensor<f32>, tensor<4xf32>
    }
    ```
  }];
}

def GraphAccumulate : Pass<"graph-accumulate", "::mlir::ModuleOp"> {
  let summary = "make @train_step a loop over the micro-batches of a batch";
  let description = [{
    The function computes loss and gradients of a micro-batch; in the result its
    inputs marked `graph.batch`, and its labels, are `count` times as large and a `graph.scan` runs the old body on one
    part after the other. Losses and gradients are summed, divided by the number
    of the whole batch's elements, so that they are those of the whole batch up
    to rounding. Running statistics go from micro-batch to micro-batch, and each
    draws its own part of the batch's random numbers. Random numbers that are of
    no row of the batch are the same in all parts, as in one step of the whole.
    Micro-batches of one row do not tell the two apart: there, numbers that meet
    the batch must be drawn for values of it, as a dropout is, or be marked
    `graph.batch`.

    ```mlir
    graph.state @w parameter trainable : tensor<4xf32> = dense<1.0> : tensor<4xf32>
    func.func @train_step(%x: tensor<3x4xf32> {graph.name = "x", graph.batch}, %step: !graph.step)
        -> (tensor<f32> {graph.name = "loss"}, tensor<f32> {graph.name = "count", graph.loss_count},
            tensor<4xf32> {graph.gradient = @w}) {
      %w = graph.read @w : tensor<4xf32>
      %s = graph.reduce sum %x dims = [0] : tensor<3x4xf32> -> tensor<4xf32>
      %p = arith.mulf %s, %w : tensor<4xf32>
      %loss = graph.reduce sum %p dims = [0] : tensor<4xf32> -> tensor<f32>
      %count = arith.constant dense<3.0> : tensor<f32>
      return %loss, %count, %s : tensor<f32>, tensor<f32>, tensor<4xf32>
    }
    ```
  }];
  let options = [
    Option<"count", "count", "int64_t", "1", "number of micro-batches">
  ];
}

def GraphBuildUpdate : Pass<"graph-build-update", "::mlir::ModuleOp"> {
  let summary = "turn the gradients of @train_step into an optimizer step";
  let description = [{
    Adds the optimizer's states, `updates` (applied updates) and
    `nonfinite_step` (the first step whose loss was not finite, or -1), and
    writes them. With a clip norm `@train_step` also returns `grad_norm`.

    With `lazy-embeddings`, AdamW updates only those entries of a table that
    the step looks up (`touched` of `graph.adamw`), if nothing else reads it.

    ```mlir
    graph.state @w parameter trainable : tensor<4xf32> = dense<1.0> : tensor<4xf32>
    func.func @train_step(%x: tensor<4xf32> {graph.name = "x"}, %step: !graph.step)
        -> (tensor<f32> {graph.name = "loss"}, tensor<4xf32> {graph.gradient = @w}) {
      %w = graph.read @w : tensor<4xf32>
      %p = arith.mulf %w, %x : tensor<4xf32>
      %loss = graph.reduce sum %p dims = [0] : tensor<4xf32> -> tensor<f32>
      %one = arith.constant dense<1.0> : tensor<f32>
      %dp = graph.broadcast %one dims = [] : tensor<f32> -> tensor<4xf32>
      %dw = arith.mulf %dp, %x : tensor<4xf32>
      return %loss, %dw : tensor<f32>, tensor<4xf32>
    }
    ```
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", "\"sgd\"", "sgd or adamw">,
    Option<"momentum", "momentum", "double", "0.0", "sgd">,
    Option<"dampening", "dampening", "double", "0.0", "sgd">,
    Option<"nesterov", "nesterov", "bool", "false", "sgd">,
    Option<"beta1", "beta1", "double", "0.9", "adamw">,
    Option<"beta2", "beta2", "double", "0.999", "adamw">,
    Option<"epsilon", "epsilon", "double", "1.0e-8", "adamw">,
    Option<"lazyEmbeddings", "lazy-embeddings", "bool", "false", "adamw">,
    Option<"weightDecay", "weight-decay", "std::string", "",
      "default: 0 for sgd, 0.01 for adamw">,
    Option<"clipNorm", "clip-norm", "std::string", "",
      "largest norm of all gradients together (default: none)">
  ];
}

def GraphVerify : Pass<"graph-verify", "::mlir::ModuleOp"> {
  let summary = "check what must hold at the end of the graph level";
  let description = [{
    The functions are `predict`, `eval_step` and `train_step`; their last
    argument is the step block, every other argument and every result has a
    name. Only graph, arith and math ops, reshapes and ops that can be
    decomposed are left; `@predict` and `@eval_step` have no effects and no
    random numbers; a state is written at most once per function; no gradient
    is among the results.

    ```mlir
    func.func @predict(%x: tensor<8xf32> {graph.name = "x"}, %step: !graph.step) -> (tensor<8xf32> {graph.name = "y"}) {
      %y = arith.negf %x : tensor<8xf32>
      return %y : tensor<8xf32>
    }
    ```
  }];
}

#endif // BESSEMER_TRAINING_PASSES_TD
