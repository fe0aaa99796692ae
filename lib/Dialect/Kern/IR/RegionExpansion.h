// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Retypes a kernel's scalar region to graph ops on tensors.

#ifndef BESSEMER_LIB_DIALECT_KERN_IR_REGIONEXPANSION_H
#define BESSEMER_LIB_DIALECT_KERN_IR_REGIONEXPANSION_H

#include "bessemer/Dialect/Kern/IR/Kern.h"

namespace bessemer::kern {

/// Expands one region over an iteration space. Every scalar becomes a tensor
/// over those iteration dimensions it depends on; operands are broadcast to the
/// union of their dimensions where they meet.
class RegionExpansion {
public:
  /// `bounds` are the iteration bounds, `reduced` the dimensions that
  /// kern.fold runs over.
  RegionExpansion(mlir::OpBuilder &builder, mlir::Location loc,
                  llvm::ArrayRef<int64_t> bounds,
                  llvm::ArrayRef<int64_t> reduced)
      : builder(builder), loc(loc), bounds(bounds), reduced(reduced) {}

  /// Says that region argument `argument` is the element of `operand` (a tensor
  /// or the step block) that `map` selects.
  void bind(mlir::Value argument, mlir::Value operand, mlir::AffineMap map);

  /// Expands all ops of `body`. Reports what cannot be expanded.
  mlir::LogicalResult expand(mlir::Block &body);

  /// The tensor whose element at `map` is the region value `value`. Reports a
  /// value that depends on dimensions that `map` lacks.
  mlir::FailureOr<mlir::Value> take(mlir::Value value, mlir::AffineMap map);

private:
  /// A tensor whose dimension i is iteration dimension dims[i]; increasing.
  struct Expanded {
    mlir::Value tensor;
    llvm::SmallVector<int64_t> dims;
  };

  mlir::Value broadcastTo(const Expanded &value, llvm::ArrayRef<int64_t> dims);
  mlir::Value transpose(mlir::Value value, llvm::ArrayRef<int64_t> permutation);
  /// The elements of `tensor` that an input with `map` reads, zeros outside.
  mlir::Value readAlong(mlir::Value tensor, mlir::AffineMap map);
  Expanded sortDims(mlir::Value tensor, llvm::ArrayRef<int64_t> dims);
  mlir::LogicalResult expandElementwise(mlir::Operation &op);
  mlir::LogicalResult expandRandom(RandomOp op);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  llvm::SmallVector<int64_t> bounds, reduced;
  llvm::DenseMap<mlir::Value, Expanded> values;
};

} // namespace bessemer::kern

#endif // BESSEMER_LIB_DIALECT_KERN_IR_REGIONEXPANSION_H
