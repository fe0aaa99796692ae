// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every kernel family can do.

#ifndef BESSEMER_DIALECT_KERN_IR_KERNINTERFACES_TD
#define BESSEMER_DIALECT_KERN_IR_KERNINTERFACES_TD

include "mlir/IR/OpBase.td"

def KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::bessemer::kern";
  let description = [{
    One kernel, or one library call. Its buffers are its operands, then its
    results, in order.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds graph ops that compute the same, at the builder's insertion point,
      and returns one value per result. Ignores schedule and layout.
    }],
    "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "expand",
    (ins "::mlir::OpBuilder &":$builder)>,
    InterfaceMethod<[{
      Whether result `result` may occupy the buffer of operand `operand` when
      that operand dies here: every element of the operand is read only by the
      iteration that writes the same element of the result, after which the
      kernel does not read it again.
    }],
    "bool", "canReuseOperand", (ins "unsigned":$operand, "unsigned":$result)>
  ];
}

#endif // BESSEMER_DIALECT_KERN_IR_KERNINTERFACES_TD
