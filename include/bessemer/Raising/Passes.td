// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of the Raising stage: graph -> graph, before differentiation.

#ifndef BESSEMER_RAISING_PASSES_TD
#define BESSEMER_RAISING_PASSES_TD

include "mlir/Pass/PassBase.td"

def RaiseDropout : Pass<"raise-dropout", "::mlir::func::FuncOp"> {
  let summary = "recognises dropout written with random numbers";
  let description = [{
    A mask is float(u < kept), float(u > 1 - kept) or floor(u + kept), u uniform
    random numbers. Where
    all its uses, or those of its broadcasts, are mask / kept, x * mask / kept or
    x / kept * mask, it is a `graph.dropout` with the ratio 1 - kept: of x, or of
    a tensor of ones where the mask is smaller than x (stochastic depth), so that
    functions of inference go without it.
  }];
  let dependentDialects = ["::bessemer::graph::GraphDialect",
                           "::mlir::arith::ArithDialect"];
}

def RaiseGelu : Pass<"raise-gelu", "::mlir::func::FuncOp"> {
  let summary = "recognises gelu written with erf or tanh";
  let description = [{
    x / 2 (1 + erf(x / sqrt(2))) and x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715
    x^3))), the factors in any order and association, become `graph.gelu`. The
    argument of the function is compared as a polynomial in x.
  }];
  let dependentDialects = ["::bessemer::graph::GraphDialect"];
}

def RaiseSilu : Pass<"raise-silu", "::mlir::func::FuncOp"> {
  let summary = "recognises silu written with an exponential";
  let description = [{
    x sigmoid(x) and x / (1 + exp(-x)) become `graph.silu`, whose gradient keeps
    x alone. The sigmoid is a `graph.sigmoid` or 1 / (1 + exp(-x)).
  }];
  let dependentDialects = ["::bessemer::graph::GraphDialect"];
}

def RaiseNorms : Pass<"raise-norms", "::mlir::func::FuncOp"> {
  let summary = "recognises layer norm and rms norm written with means";
  let description = [{
    (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) over the last
    dimensions becomes `graph.layer_norm`, x / sqrt(mean(x^2) + epsilon)
    `graph.rms_norm`; a scale that follows, and a bias of a layer norm, join.
  }];
  let dependentDialects = ["::bessemer::graph::GraphDialect"];
}

def RaiseAttention : Pass<"raise-attention", "::mlir::func::FuncOp"> {
  let summary = "recognises attention written with products and a softmax";
  let description = [{
    dropout(softmax(scale q k^T + mask)) v becomes `graph.attention`: with the
    scale before or after the product, on q, k or both; with masks added or
    selected; with the selection that turns rows to 0 that are NaN or of which
    the mask hides all keys; with k and v repeated for the heads of a group. A
    mask that is known when compiling is evaluated: one that only hides later
    keys becomes `causal`, one that hides nothing goes.

    A mask that depends on a trainable parameter stays, and with it the
    decomposed form; so do probabilities that others use.
  }];
  let dependentDialects = ["::bessemer::graph::GraphDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // BESSEMER_RAISING_PASSES_TD
