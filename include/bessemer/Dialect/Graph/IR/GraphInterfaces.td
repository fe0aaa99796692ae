// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an op brings to be differentiated and expanded.

#ifndef BESSEMER_DIALECT_GRAPH_IR_GRAPHINTERFACES_TD
#define BESSEMER_DIALECT_GRAPH_IR_GRAPHINTERFACES_TD

include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::bessemer::graph";
  let description = [{
    An op that knows its vector-Jacobian product. Upstream ops implement it by
    external models.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds, at the builder's insertion point, the gradients of the operands
      from those of the results. `resultGradients` has one entry per result,
      null where no gradient flows. Sets one entry per operand in
      `operandGradients`, null for operands that carry none (integers, step
      blocks, or no dependence). Reports an error at the op when the gradient
      does not exist.
    }],
    "::mlir::LogicalResult", "buildGradient",
    (ins "::mlir::OpBuilder &":$builder,
         "::mlir::ValueRange":$resultGradients,
         "::llvm::SmallVectorImpl<::mlir::Value> &":$operandGradients)>
  ];
}

def DecomposableOpInterface : OpInterface<"DecomposableOpInterface"> {
  let cppNamespace = "::bessemer::graph";
  let description = [{
    A composite that can be written with simpler graph and upstream ops.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the decomposition at the builder's insertion point and returns one
      value per result.
    }],
    "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "decompose",
    (ins "::mlir::OpBuilder &":$builder)>
  ];
}

#endif // BESSEMER_DIALECT_GRAPH_IR_GRAPHINTERFACES_TD
