// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Straight-line graph code -> the scalar region of one kernel.

#ifndef BESSEMER_LIB_FUSION_REGIONTRANSLATION_H
#define BESSEMER_LIB_FUSION_REGIONTRANSLATION_H

#include "bessemer/Dialect/Kern/IR/Kern.h"

namespace bessemer::fusion {

/// Translates ops on tensors that share one iteration space to scalar ops: the
/// inverse of a kernel's expansion. It understands elementwise ops, constants,
/// broadcast, transpose, iota, random and reductions over one set of
/// dimensions.
class RegionTranslation {
public:
  /// `ops` in order; `anchor` is a value (an operand or result of them) whose
  /// dimension i is iteration dimension i, all `bounds` of them.
  RegionTranslation(llvm::ArrayRef<mlir::Operation *> ops, mlir::Value anchor);

  /// Makes `inputs` the first inputs, in that order, used or not. Other tensors
  /// from outside become inputs after them, but splat constants become scalars.
  void addInput(mlir::Value input);

  /// Translates into `body` (empty), adding block arguments for the inputs, and
  /// ends it by a yield of `results`.
  void translate(mlir::Block &body, llvm::ArrayRef<mlir::Value> results);

  llvm::ArrayRef<mlir::Value> getInputs() const { return inputs; }
  llvm::ArrayRef<int64_t> getBounds() const { return bounds; }
  llvm::ArrayRef<int64_t> getReduced() const { return reduced; }
  /// Indexing map of a value of the code over the iteration space.
  mlir::AffineMap getMap(mlir::Value value) const;

private:
  using Dims = llvm::SmallVector<int64_t, 4>;
  bool learn(mlir::Value value, llvm::ArrayRef<int64_t> valueDims);
  bool inferDims(mlir::Operation *op);
  mlir::Value scalarOf(mlir::Value value, mlir::OpBuilder &builder,
                       mlir::Block &body);
  mlir::Value randomElement(graph::RandomOp op, mlir::OpBuilder &builder,
                            mlir::Block &body);

  llvm::SmallVector<mlir::Operation *> ops;
  llvm::SmallVector<int64_t> bounds, reduced;
  llvm::SmallVector<mlir::Value> inputs;
  llvm::DenseMap<mlir::Value, Dims> dims;
  llvm::DenseMap<mlir::Value, mlir::Value> scalars;
};

/// Builds one kern.map, kern.rows or kern.columns at the builder's insertion
/// point that computes `results` of the straight-line code `ops`.
mlir::Operation *buildKernel(mlir::OpBuilder &builder, mlir::Location loc,
                             llvm::ArrayRef<mlir::Operation *> ops,
                             mlir::Value anchor,
                             llvm::ArrayRef<mlir::Value> results);

/// Whether folds over `reduced` are computed a row at a time: the innermost
/// dimension of size above 1 is reduced.
bool isRowGeometry(llvm::ArrayRef<int64_t> bounds,
                   llvm::ArrayRef<int64_t> reduced);

/// The one element of a splat constant, or null.
mlir::TypedAttr getSplatElement(mlir::Value value);

} // namespace bessemer::fusion

#endif // BESSEMER_LIB_FUSION_REGIONTRANSLATION_H
