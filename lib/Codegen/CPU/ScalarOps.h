// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One arith, math or kern region op -> LLVM IR.

#ifndef BESSEMER_LIB_CODEGEN_CPU_SCALAROPS_H
#define BESSEMER_LIB_CODEGEN_CPU_SCALAROPS_H

#include "KernelBuilder.h"
#include "bessemer/Dialect/Kern/IR/Kern.h"

namespace bessemer::cpu {

bool isScalarOpSupported(mlir::Operation *op);

/// The result of `op` on `operands`, scalars or vectors in any mixture; a
/// vector if one of them is.
Val emitScalarOp(KernelBuilder &k, mlir::Operation *op,
                 llvm::ArrayRef<Val> operands);

/// The random number of type `result` that graph.random gives `element` (i64, a
/// scalar or a vector), given the address of the step block.
Val emitRandom(KernelBuilder &k, Val step, Val element, uint64_t id,
               llvm::Type *result);

/// Combines two partial results of a fold.
Val emitFold(KernelBuilder &k, kern::FoldKind kind, Val a, Val b);
/// The value that leaves any other unchanged.
Val foldIdentity(KernelBuilder &k, kern::FoldKind kind, llvm::Type *type);

} // namespace bessemer::cpu

#endif // BESSEMER_LIB_CODEGEN_CPU_SCALAROPS_H
