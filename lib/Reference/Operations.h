// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluation of single ops. Each function returns the values of the results, or
// nothing when the op is not one of its own.

#ifndef BESSEMER_LIB_REFERENCE_OPERATIONS_H
#define BESSEMER_LIB_REFERENCE_OPERATIONS_H

#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "bessemer/Reference/Evaluator.h"
#include <optional>

namespace bessemer::reference {

using Operands = llvm::ArrayRef<const Tensor *>;
using Results = std::optional<std::vector<Tensor>>;

/// Upstream arith and math.
Results evaluateElementwise(mlir::Operation *op, Operands operands);
/// Shape ops, reductions, contractions, random numbers.
Results evaluatePrimitive(mlir::Operation *op, Operands operands,
                          const StepBlock &step);
/// Lookups in tables, slices, padding, concatenation.
Results evaluateDataMovement(mlir::Operation *op, Operands operands);
/// Convolution, pooling and their gradients.
Results evaluateWindow(mlir::Operation *op, Operands operands);
/// Composites of graph.
Results evaluateComposite(mlir::Operation *op, Operands operands,
                          const StepBlock &step);
/// Norms, gelu and attention.
Results evaluateTransformer(mlir::Operation *op, Operands operands,
                            const StepBlock &step);

/// The random number in [0, 1) that graph.random documents.
double uniform(const StepBlock &step, int64_t id, uint64_t element);

inline mlir::RankedTensorType resultType(mlir::Operation *op,
                                         unsigned index = 0) {
  return llvm::cast<mlir::RankedTensorType>(op->getResult(index).getType());
}

/// Calls `visit` with every index of `shape` in row-major order.
void forEachIndex(
    llvm::ArrayRef<int64_t> shape,
    llvm::function_ref<void(llvm::ArrayRef<int64_t> index)> visit);

/// The position of `index` in row-major order, given strides.
inline int64_t offsetOf(llvm::ArrayRef<int64_t> index,
                        llvm::ArrayRef<int64_t> strides) {
  int64_t offset = 0;
  for (auto [i, stride] : llvm::zip_equal(index, strides))
    offset += i * stride;
  return offset;
}

} // namespace bessemer::reference

#endif // BESSEMER_LIB_REFERENCE_OPERATIONS_H
