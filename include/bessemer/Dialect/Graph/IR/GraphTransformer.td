// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Composites that transformers are made of: norms of the last dimensions, gelu, silu
// and attention.

#ifndef BESSEMER_DIALECT_GRAPH_IR_GRAPHTRANSFORMER_TD
#define BESSEMER_DIALECT_GRAPH_IR_GRAPHTRANSFORMER_TD

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

def Graph_LayerNormOp : Graph_CompositeOp<"layer_norm"> {
  let summary = "normalises the last dimensions, those that `scale` has";
  let description = [{
    Over each row (an index of the dimensions that `scale` lacks):
    mean = sum(x) / n, rstd = 1 / sqrt(sum((x - mean)^2) / n + epsilon),
    result = (x - mean) rstd scale + bias (Ba et al. 2016). `mean` and `rstd`
    are kept for the gradient.

    ```mlir
    %y, %mean, %rstd = graph.layer_norm %x, %scale bias %bias {epsilon = 1.0e-5 : f64}
        : (tensor<4x256x384xf32>, tensor<384xf32>, tensor<384xf32>)
        -> (tensor<4x256x384xf32>, tensor<4x256xf32>, tensor<4x256xf32>)
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$scale,
    Optional<Graph_FloatTensor>:$bias, F64Attr:$epsilon);
  let results = (outs Graph_FloatTensor:$result, Graph_FloatTensor:$mean,
    Graph_FloatTensor:$rstd);
  let assemblyFormat = "$x `,` $scale (`bias` $bias^)? attr-dict `:` functional-type(operands, results)";
  let builders = [
    OpBuilder<(ins "::mlir::Value":$x, "::mlir::Value":$scale,
      "::mlir::Value":$bias, "double":$epsilon)>
  ];
  let hasVerifier = 1;
}

def Graph_LayerNormGradOp : Graph_BackwardCompositeOp<"layer_norm_grad"> {
  let summary = "gradient of layer_norm";
  let description = [{
    With xhat = (x - mean) rstd and g = dy scale: dx = rstd (g - sum(g) / n -
    xhat sum(g xhat) / n) per row; dscale = sum(dy xhat) and dbias = sum(dy)
    over the rows.

    ```mlir
    %dx, %dscale, %dbias = graph.layer_norm_grad %x, %scale, %mean, %rstd, %dy
        : (tensor<1024x384xf32>, tensor<384xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024x384xf32>)
        -> (tensor<1024x384xf32>, tensor<384xf32>, tensor<384xf32>)
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$scale,
    Graph_FloatTensor:$mean, Graph_FloatTensor:$rstd, Graph_FloatTensor:$dy);
  let results = (outs Graph_FloatTensor:$dx, Graph_FloatTensor:$dscale,
    Graph_FloatTensor:$dbias);
  let assemblyFormat = "$x `,` $scale `,` $mean `,` $rstd `,` $dy attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Graph_RmsNormOp : Graph_CompositeOp<"rms_norm"> {
  let summary = "divides the last dimensions, those that `scale` has, by their root mean square";
  let description = [{
    Over each row: rstd = 1 / sqrt(sum(x^2) / n + epsilon),
    result = x rstd scale (Zhang and Sennrich 2019).

    ```mlir
    %y, %rstd = graph.rms_norm %x, %scale {epsilon = 1.0e-6 : f64}
        : (tensor<4x256x384xf32>, tensor<384xf32>) -> (tensor<4x256x384xf32>, tensor<4x256xf32>)
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$scale,
    F64Attr:$epsilon);
  let results = (outs Graph_FloatTensor:$result, Graph_FloatTensor:$rstd);
  let assemblyFormat = "$x `,` $scale attr-dict `:` functional-type(operands, results)";
  let builders = [
    OpBuilder<(ins "::mlir::Value":$x, "::mlir::Value":$scale,
      "double":$epsilon)>
  ];
  let hasVerifier = 1;
}

def Graph_RmsNormGradOp : Graph_BackwardCompositeOp<"rms_norm_grad"> {
  let summary = "gradient of rms_norm";
  let description = [{
    With xhat = x rstd and g = dy scale: dx = rstd (g - xhat sum(g xhat) / n)
    per row; dscale = sum(dy xhat) over the rows.

    ```mlir
    %dx, %dscale = graph.rms_norm_grad %x, %scale, %rstd, %dy
        : (tensor<1024x384xf32>, tensor<384xf32>, tensor<1024xf32>, tensor<1024x384xf32>)
        -> (tensor<1024x384xf32>, tensor<384xf32>)
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$scale,
    Graph_FloatTensor:$rstd, Graph_FloatTensor:$dy);
  let results = (outs Graph_FloatTensor:$dx, Graph_FloatTensor:$dscale);
  let assemblyFormat = "$x `,` $scale `,` $rstd `,` $dy attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Gelu
//===----------------------------------------------------------------------===//

def Graph_GeluOp : Graph_CompositeOp<"gelu", [SameOperandsAndResultType]> {
  let summary = "x times the probability that a normal variable is below x";
  let description = [{
    `none`: x / 2 (1 + erf(x / sqrt(2))); `tanh`: x / 2 (1 + tanh(sqrt(2 / pi)
    (x + 0.044715 x^3))) (Hendrycks and Gimpel 2016).

    ```mlir
    %y = graph.gelu none %x : tensor<32x1536xf32>
    ```
  }];
  let arguments = (ins Graph_GeluKindAttr:$kind, Graph_FloatTensor:$x);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "`` $kind $x attr-dict `:` type($x)";
}

def Graph_GeluGradOp : Graph_BackwardCompositeOp<"gelu_grad", [SameOperandsAndResultType]> {
  let summary = "gradient of gelu";
  let description = [{
    dy times the derivative of gelu at x; nothing but x is kept for it.

    ```mlir
    %dx = graph.gelu_grad none %x, %dy : tensor<32x1536xf32>
    ```
  }];
  let arguments = (ins Graph_GeluKindAttr:$kind, Graph_FloatTensor:$x,
    Graph_FloatTensor:$dy);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "`` $kind $x `,` $dy attr-dict `:` type($x)";
}

//===----------------------------------------------------------------------===//
// Sigmoid and silu
//===----------------------------------------------------------------------===//

def Graph_SigmoidOp : Graph_CompositeOp<"sigmoid", [SameOperandsAndResultType]> {
  let summary = "1 / (1 + exp(-x))";
  let description = [{
    The logistic function. Its gradient y (1 - y) reads the result, rounded as
    what else reads it: the gradient of a binary cross-entropy divides by the
    same 1 - y, of which few bits are left where the sigmoid saturates.

    ```mlir
    %y = graph.sigmoid %x : tensor<32x1xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Graph_SiluOp : Graph_CompositeOp<"silu", [SameOperandsAndResultType]> {
  let summary = "x sigmoid(x)";
  let description = [{
    x / (1 + exp(-x)), also called swish (Elfwing et al. 2018).

    ```mlir
    %y = graph.silu %x : tensor<32x1536xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Graph_SiluGradOp : Graph_BackwardCompositeOp<"silu_grad", [SameOperandsAndResultType]> {
  let summary = "gradient of silu";
  let description = [{
    dy times the derivative of silu at x; nothing but x is kept for it.

    ```mlir
    %dx = graph.silu_grad %x, %dy : tensor<32x1536xf32>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$x, Graph_FloatTensor:$dy);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `,` $dy attr-dict `:` type($x)";
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

def Graph_AttentionOp : Graph_CompositeOp<"attention", [AttrSizedOperandSegments]> {
  let summary = "dropout(softmax(scale q k^T + mask)) v, per head";
  let description = [{
    `q` is [batch, heads, queries, depth], `k` [batch, groups, keys, depth], `v`
    [batch, groups, keys, width]; head h reads group h / (heads / groups). The
    mask is added to the scores; each of its four dimensions is that of the
    scores [batch, heads, queries, keys], or 1. With `causal` query i sees the
    keys up to i. A row that sees no key (all its scores are minus infinity)
    gives 0.

    With `ratio` above 0 a probability is dropped when `graph.random` of shape
    [batch, heads, queries, keys] with the same step and id is below `ratio`;
    the others are divided by 1 - ratio.

    `lse` is log(sum(exp(scores))) of each row, kept for the gradient. A mask
    has no gradient: one that needs it is added outside, to decomposed
    attention.

    ```mlir
    %y, %lse = graph.attention %q, %k, %v {scale = 0.125 : f64, causal}
        : (tensor<4x6x256x64xf32>, tensor<4x6x256x64xf32>, tensor<4x6x256x64xf32>)
        -> (tensor<4x6x256x64xf32>, tensor<4x6x256xf32>)
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$q, Graph_FloatTensor:$k,
    Graph_FloatTensor:$v, Optional<Graph_FloatTensor>:$mask,
    Optional<Graph_StepType>:$step, F64Attr:$scale, UnitAttr:$causal,
    DefaultValuedAttr<F64Attr, "0.0">:$ratio,
    DefaultValuedAttr<I64Attr, "0">:$id);
  let results = (outs Graph_FloatTensor:$result, Graph_FloatTensor:$lse);
  let assemblyFormat = [{
    $q `,` $k `,` $v (`mask` $mask^)? (`step` $step^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Graph_AttentionGradOp : Graph_BackwardCompositeOp<"attention_grad", [AttrSizedOperandSegments]> {
  let summary = "gradient of attention";
  let description = [{
    With p = exp(scores - lse), D the dropout of the forward pass and
    dp = D(dy v^T): dv = D(p)^T dy, ds = p (dp - sum(y dy)),
    dq = scale ds k, dk = scale ds^T q (Dao et al. 2022, appendix B). Heads of
    one group add up.

    ```mlir
    %dq, %dk, %dv = graph.attention_grad %q, %k, %v, %y, %lse, %dy {scale = 0.125 : f64, causal}
        : (tensor<4x6x256x64xf32>, tensor<4x6x256x64xf32>, tensor<4x6x256x64xf32>,
           tensor<4x6x256x64xf32>, tensor<4x6x256xf32>, tensor<4x6x256x64xf32>)
        -> (tensor<4x6x256x64xf32>, tensor<4x6x256x64xf32>, tensor<4x6x256x64xf32>)
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$q, Graph_FloatTensor:$k,
    Graph_FloatTensor:$v, Graph_FloatTensor:$y, Graph_FloatTensor:$lse,
    Graph_FloatTensor:$dy, Optional<Graph_FloatTensor>:$mask,
    Optional<Graph_StepType>:$step, F64Attr:$scale, UnitAttr:$causal,
    DefaultValuedAttr<F64Attr, "0.0">:$ratio,
    DefaultValuedAttr<I64Attr, "0">:$id);
  let results = (outs Graph_FloatTensor:$dq, Graph_FloatTensor:$dk,
    Graph_FloatTensor:$dv);
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $y `,` $lse `,` $dy (`mask` $mask^)? (`step` $step^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // BESSEMER_DIALECT_GRAPH_IR_GRAPHTRANSFORMER_TD
