// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions of single op kinds, called by the graph-to-kern pass.

#ifndef BESSEMER_LIB_FUSION_CONVERT_H
#define BESSEMER_LIB_FUSION_CONVERT_H

#include "bessemer/Dialect/Kern/IR/Kern.h"

namespace bessemer::fusion {

/// Replaces `op` by a kern.gemm over 2-D (or batched 3-D) views of its
/// operands. An operand that neither its order of dimensions nor its transpose
/// fits is transposed first, by a kern.map.
void convertContract(graph::ContractOp op);

/// Replaces a graph.slice, pad, concat, gather or scatter_add by a kernel.
void convertDataMovement(mlir::Operation *op);

/// The views that the kernels of lookups have of their tensors.
struct LookupShapes {
  llvm::SmallVector<int64_t, 4> table, rows;
  llvm::SmallVector<int64_t, 2> indices;

  LookupShapes(mlir::RankedTensorType table, mlir::RankedTensorType indices,
               int64_t dim, int64_t batch);
};

/// Whether the optimizer op `op` keeps entries of a table that it does not
/// look up, but no kernel can tell which: it must be decomposed.
bool isLazyWithoutLookup(mlir::Operation *op);

/// Replaces the optimizer ops of `block` by a kern.table_update for each table
/// that is only looked up, and one kern.update per group of equal kind,
/// constants and scalars of the others. Parameters keep their order in the
/// block.
void convertUpdates(mlir::Block &block);

/// Replaces the attentions of `block` and their gradients by kernels that read
/// and write through the transposes and reshapes around them.
void convertAttentions(mlir::Block &block);

/// Decomposes `op` just before it, calls `use` with the new ops and the values
/// that stand for its results, and erases the new ops.
mlir::LogicalResult
withDecomposition(mlir::Operation *op,
                  llvm::function_ref<void(llvm::ArrayRef<mlir::Operation *>,
                                          llvm::ArrayRef<mlir::Value>)>
                      use);

} // namespace bessemer::fusion

#endif // BESSEMER_LIB_FUSION_CONVERT_H
