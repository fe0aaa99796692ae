// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Composites of the `graph` dialect: ops kept whole because their gradient or
// their kernel is better whole. Each can be decomposed.

#ifndef BESSEMER_DIALECT_GRAPH_IR_GRAPHCOMPOSITES_TD
#define BESSEMER_DIALECT_GRAPH_IR_GRAPHCOMPOSITES_TD

/// A composite with a gradient of its own.
class Graph_CompositeOp<string mnemonic, list<Trait> traits = []>
    : Graph_PureOp<mnemonic, !listconcat([
        DeclareOpInterfaceMethods<DecomposableOpInterface>], traits)>;

/// A composite that only occurs in backward code or the update.
class Graph_BackwardCompositeOp<string mnemonic, list<Trait> traits = []>
    : Graph_Op<mnemonic, !listconcat([Pure,
        DeclareOpInterfaceMethods<DecomposableOpInterface>], traits)>;

def Graph_SoftmaxOp : Graph_CompositeOp<"softmax", [SameOperandsAndResultType]> {
  let summary = "exp(x - max) / sum(exp(x - max)) along one dimension";
  let description = [{
    ```mlir
    %p = graph.softmax %x dim = 1 : tensor<32x10xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, I64Attr:$dim);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `dim` `=` $dim attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def Graph_LogSoftmaxOp : Graph_CompositeOp<"log_softmax", [SameOperandsAndResultType]> {
  let summary = "x - max - log(sum(exp(x - max))) along one dimension";
  let description = [{
    ```mlir
    %p = graph.log_softmax %x dim = 1 : tensor<32x10xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, I64Attr:$dim);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `dim` `=` $dim attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def Graph_BatchNormOp : Graph_CompositeOp<"batch_norm"> {
  let summary = "batch normalisation with given statistics";
  let description = [{
    y = (x - mean) / sqrt(variance + epsilon) * scale + bias over dimension 1.
    This is what every imported BatchNormalization becomes; in `@train_step`
    the Training stage turns those that are not frozen into `batch_norm_train`
    and writes the running statistics, updated with `momentum` (the weight of
    the old value).

    ```mlir
    %y = graph.batch_norm %x, %scale, %bias, %mean, %var {epsilon = 1.0e-5 : f64, momentum = 0.9 : f64}
        : (tensor<8x16x32x32xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<8x16x32x32xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$scale,
    Graph_FloatTensor:$bias, Graph_FloatTensor:$mean, Graph_FloatTensor:$variance,
    F64Attr:$epsilon, F64Attr:$momentum);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `,` $scale `,` $bias `,` $mean `,` $variance attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_BatchNormTrainOp : Graph_CompositeOp<"batch_norm_train"> {
  let summary = "batch normalisation with the batch's own statistics";
  let description = [{
    `mean` and `variance` are those of the batch over all dimensions but 1; the
    variance is the biased one (divided by the number of elements).

    ```mlir
    %y, %mean, %var = graph.batch_norm_train %x, %scale, %bias {epsilon = 1.0e-5 : f64}
        : (tensor<8x16x32x32xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<8x16x32x32xf32>, tensor<16xf32>, tensor<16xf32>)
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$scale,
    Graph_FloatTensor:$bias, F64Attr:$epsilon);
  let results = (outs Graph_FloatTensor:$result, Graph_FloatTensor:$mean,
    Graph_FloatTensor:$variance);
  let assemblyFormat = "$x `,` $scale `,` $bias attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_BatchNormGradOp : Graph_BackwardCompositeOp<"batch_norm_grad"> {
  let summary = "gradient of batch_norm_train";
  let description = [{
    With xhat = (x - mean) / sqrt(variance + epsilon) and n elements per
    channel: dbias = sum(dy), dscale = sum(dy xhat),
    dx = scale / sqrt(variance + epsilon) (dy - dbias / n - xhat dscale / n)
    (Ioffe and Szegedy 2015, section 3).

    ```mlir
    %dx, %dscale, %dbias = graph.batch_norm_grad %x, %scale, %mean, %var, %dy {epsilon = 1.0e-5 : f64}
        : (tensor<8x16x32x32xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<8x16x32x32xf32>)
        -> (tensor<8x16x32x32xf32>, tensor<16xf32>, tensor<16xf32>)
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$scale,
    Graph_FloatTensor:$mean, Graph_FloatTensor:$variance, Graph_FloatTensor:$dy,
    F64Attr:$epsilon);
  let results = (outs Graph_FloatTensor:$dx, Graph_FloatTensor:$dscale,
    Graph_FloatTensor:$dbias);
  let assemblyFormat = "$x `,` $scale `,` $mean `,` $variance `,` $dy attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_DropoutOp : Graph_CompositeOp<"dropout"> {
  let summary = "zeroes elements at random and scales the others by 1 / (1 - ratio)";
  let description = [{
    Element i is kept when `graph.random` of the same step, micro-batch and id
    is at least `ratio`. Its gradient is the same op on dy. `@predict` and `@eval_step`
    hold none.

    ```mlir
    %y = graph.dropout %x, %step {ratio = 0.5 : f64, id = 3 : i64} : (tensor<32x84xf32>, !graph.step) -> tensor<32x84xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_StepType:$step,
    Optional<Graph_MicroStep>:$micro, F64Attr:$ratio, I64Attr:$id);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `,` $step (`micro` $micro^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_StopGradientOp : Graph_CompositeOp<"stop_gradient", [SameOperandsAndResultType]> {
  let summary = "its operand, through which no gradient flows";
  let description = [{
    What `detach()` in PyTorch says. Nothing is left of it once the functions
    are differentiated.

    ```mlir
    %y = graph.stop_gradient %x : tensor<32x10xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Graph_CrossEntropyOp : Graph_CompositeOp<"cross_entropy"> {
  let summary = "-log softmax(logits)[label], per row";
  let description = [{
    `logits` is [rows, classes], `labels` [rows] of i64. A row whose label is
    `ignore_index` has loss 0. `lse` is log(sum(exp(logits))) of each row, kept
    for the gradient. With `label_smoothing` e the target is (1 - e) on the
    label plus e / classes on every class, as in PyTorch.

    ```mlir
    %loss, %lse = graph.cross_entropy %logits, %labels {ignore_index = -100 : i64}
        : (tensor<32x10xf32>, tensor<32xi64>) -> (tensor<32xf32>, tensor<32xf32>)
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$logits, Graph_IntTensor:$labels,
    I64Attr:$ignore_index,
    DefaultValuedAttr<F64Attr, "0.0">:$label_smoothing);
  let results = (outs Graph_FloatTensor:$loss, Graph_FloatTensor:$lse);
  let assemblyFormat = "$logits `,` $labels attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_CrossEntropyGradOp : Graph_BackwardCompositeOp<"cross_entropy_grad"> {
  let summary = "gradient of cross_entropy with respect to the logits";
  let description = [{
    dlogits = (softmax(logits) - target) dloss; 0 in ignored rows.

    ```mlir
    %d = graph.cross_entropy_grad %logits, %labels, %lse, %dloss {ignore_index = -100 : i64}
        : (tensor<32x10xf32>, tensor<32xi64>, tensor<32xf32>, tensor<32xf32>) -> tensor<32x10xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$logits, Graph_IntTensor:$labels,
    Graph_FloatTensor:$lse, Graph_FloatTensor:$dloss, I64Attr:$ignore_index,
    DefaultValuedAttr<F64Attr, "0.0">:$label_smoothing);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$logits `,` $labels `,` $lse `,` $dloss attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_SquareSumOp : Graph_BackwardCompositeOp<"square_sum"> {
  let summary = "sum of the squares of all elements of all operands";
  let description = [{
    The square of the global gradient norm.

    ```mlir
    %n = graph.square_sum %g0, %g1 : (tensor<10x84xf32>, tensor<10xf32>) -> tensor<f32>
    ```
  }];
  let arguments = (ins Variadic<Graph_FloatTensor>:$gradients);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$gradients attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_SgdOp : Graph_BackwardCompositeOp<"sgd"> {
  let summary = "one step of stochastic gradient descent for one parameter";
  let description = [{
    PyTorch's formula (torch.optim.SGD): d = g gradient_scale + weight_decay p;
    with momentum: buffer' = momentum buffer + (1 - dampening) d, but d itself
    when `first` is not 0 (the first applied update), d = nesterov ?
    d + momentum buffer' : buffer'; p' = p - learning_rate d.
    `buffer` is absent without momentum.

    ```mlir
    %p1, %b1 = graph.sgd %p, %g, %lr, %scale, %first buffer %b {momentum = 0.9 : f64}
        : (tensor<10x84xf32>, tensor<10x84xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<10x84xf32>)
        -> (tensor<10x84xf32>, tensor<10x84xf32>)
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$parameter, Graph_FloatTensor:$gradient,
    Graph_FloatTensor:$learning_rate, Graph_FloatTensor:$gradient_scale,
    Graph_FloatTensor:$first, Optional<Graph_FloatTensor>:$buffer,
    DefaultValuedAttr<F64Attr, "0.0">:$momentum,
    DefaultValuedAttr<F64Attr, "0.0">:$dampening,
    DefaultValuedAttr<F64Attr, "0.0">:$weight_decay, UnitAttr:$nesterov);
  let results = (outs Graph_FloatTensor:$new_parameter,
    Optional<Graph_FloatTensor>:$new_buffer);
  let assemblyFormat = [{
    $parameter `,` $gradient `,` $learning_rate `,` $gradient_scale `,` $first
    (`buffer` $buffer^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Graph_AdamWOp : Graph_BackwardCompositeOp<"adamw"> {
  let summary = "one step of AdamW for one parameter";
  let description = [{
    PyTorch's formula (torch.optim.AdamW): g = gradient gradient_scale,
    m' = beta1 m + (1 - beta1) g, v' = beta2 v + (1 - beta2) g g,
    p' = p (1 - learning_rate weight_decay)
       - learning_rate / correction1 m' / (sqrt(v') / sqrt(correction2) + eps),
    where `correction1` = 1 - beta1^t, `correction2` = 1 - beta2^t are scalars
    computed once from the number t of applied updates.

    With `touched`, it is the lazy variant for a table that is looked up by
    these indices: an element whose index along dimension 0 is in none of them
    keeps p, m and v. Its moments do not decay while it is not looked up, which
    is another optimizer than AdamW (torch.optim.SparseAdam, TensorFlow's
    LazyAdam).

    ```mlir
    %p1, %m1, %v1 = graph.adamw %p, %g, %m, %v, %lr, %scale, %c1, %c2
        {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.01 : f64}
        : (tensor<10x84xf32>, tensor<10x84xf32>, tensor<10x84xf32>, tensor<10x84xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
        -> (tensor<10x84xf32>, tensor<10x84xf32>, tensor<10x84xf32>)
    %p2, %m2, %v2 = graph.adamw %p, %g, %m, %v, %lr, %scale, %c1, %c2 touched(%tokens)
        {beta1 = 0.9 : f64, beta2 = 0.999 : f64, epsilon = 1.0e-8 : f64, weight_decay = 0.0 : f64}
        : (tensor<10x84xf32>, tensor<10x84xf32>, tensor<10x84xf32>, tensor<10x84xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<4x3xi64>)
        -> (tensor<10x84xf32>, tensor<10x84xf32>, tensor<10x84xf32>)
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$parameter, Graph_FloatTensor:$gradient,
    Graph_FloatTensor:$exp_avg, Graph_FloatTensor:$exp_avg_sq,
    Graph_FloatTensor:$learning_rate, Graph_FloatTensor:$gradient_scale,
    Graph_FloatTensor:$correction1, Graph_FloatTensor:$correction2,
    Variadic<Graph_IntTensor>:$touched,
    F64Attr:$beta1, F64Attr:$beta2, F64Attr:$epsilon, F64Attr:$weight_decay);
  let results = (outs Graph_FloatTensor:$new_parameter,
    Graph_FloatTensor:$new_exp_avg, Graph_FloatTensor:$new_exp_avg_sq);
  let assemblyFormat = [{
    $parameter `,` $gradient `,` $exp_avg `,` $exp_avg_sq `,` $learning_rate `,`
    $gradient_scale `,` $correction1 `,` $correction2 (`touched` `(` $touched^ `)`)?
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // BESSEMER_DIALECT_GRAPH_IR_GRAPHCOMPOSITES_TD
