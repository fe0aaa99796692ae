// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reverse-mode differentiation of straight-line code over
// DifferentiableOpInterface.

#ifndef BESSEMER_DIALECT_GRAPH_IR_REVERSEMODE_H
#define BESSEMER_DIALECT_GRAPH_IR_REVERSEMODE_H

#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "llvm/ADT/DenseSet.h"

namespace bessemer::graph {

class ReverseMode {
public:
  /// Gradients are built at the builder's insertion point.
  explicit ReverseMode(mlir::OpBuilder &builder) : builder(builder) {}

  /// The gradient of `value` is wanted; only values that depend on such ones
  /// have gradients.
  void activate(mlir::Value value) { active.insert(value); }
  bool isActive(mlir::Value value) const { return active.contains(value); }
  /// Activates the float results of `op` when one of its operands is active.
  void spread(mlir::Operation &op);

  /// Adds to the gradient of a value.
  void add(mlir::Location loc, mlir::Value value, mlir::Value gradient);
  /// The sum so far, or null.
  mlir::Value gradientOf(mlir::Value value) const {
    return gradients.lookup(value);
  }
  /// The gradients of the results of `op`, null where none flows.
  llvm::SmallVector<mlir::Value> resultGradients(mlir::Operation &op) const;

  /// Adds the gradients of the active operands of `op`, given those of its
  /// results. Reports an op that has no gradient.
  llvm::LogicalResult visit(mlir::Operation &op);

private:
  mlir::OpBuilder &builder;
  llvm::DenseSet<mlir::Value> active;
  llvm::DenseMap<mlir::Value, mlir::Value> gradients;
};

} // namespace bessemer::graph

#endif // BESSEMER_DIALECT_GRAPH_IR_REVERSEMODE_H
