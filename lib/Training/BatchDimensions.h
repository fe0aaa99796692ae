// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which dimensions of a function's values are its batch.

#ifndef BESSEMER_LIB_TRAINING_BATCHDIMENSIONS_H
#define BESSEMER_LIB_TRAINING_BATCHDIMENSIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace bessemer::training {

/// Dimensions that ops hand on or bring together are one: those of operands and
/// results of elementwise ops, the paired ones of a contraction. What
/// constants are made of is nobody's: equal ones are one value.
class BatchDimensions {
public:
  /// Looks at the ops of `function` and of the loops in it.
  explicit BatchDimensions(mlir::func::FuncOp function);

  /// Whether two dimensions are one, however many ops lie between them.
  bool areSame(mlir::Value a, int64_t dimA, mlir::Value b, int64_t dimB) const;

private:
  using Dimension = std::pair<void *, int64_t>;

  void join(mlir::Value a, int64_t dimA, mlir::Value b, int64_t dimB);
  void joinAll(mlir::Value a, mlir::Value b, int64_t offsetA = 0,
               int64_t offsetB = 0);
  void addOp(mlir::Operation *op);
  void addOpsIn(mlir::Block &block);

  llvm::EquivalenceClasses<Dimension> classes;
  llvm::DenseSet<mlir::Value> constants;
};

} // namespace bessemer::training

#endif // BESSEMER_LIB_TRAINING_BATCHDIMENSIONS_H
