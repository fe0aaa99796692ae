// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the elements of one tensor lie in another from which it is taken by
// transposes, reshapes, slices and broadcasts.

#ifndef BESSEMER_DIALECT_GRAPH_IR_STRIDEDVIEW_H
#define BESSEMER_DIALECT_GRAPH_IR_STRIDEDVIEW_H

#include "bessemer/Dialect/Graph/IR/Graph.h"

namespace bessemer::graph {

/// The row-major index of an element of a tensor as a linear form of logical
/// indices; a stride of 0 repeats.
struct StridedView {
  int64_t offset = 0;
  llvm::SmallVector<int64_t, 5> strides;

  /// All of a tensor of shape `sizes`, as it lies.
  static StridedView rowMajor(llvm::ArrayRef<int64_t> sizes);
  /// The view that `map` (one result) says, or failure when that is no linear
  /// form without negative coefficients.
  static mlir::FailureOr<StridedView> get(mlir::AffineMap map);
  mlir::AffineMap toMap(mlir::MLIRContext *context) const;

  /// The largest index; the smallest is `offset`.
  int64_t last(llvm::ArrayRef<int64_t> sizes) const;

  /// Given a view, with logical sizes `sizes`, of the result of `op`: the same
  /// elements in its operand. None when `op` does more than move elements, or
  /// when a logical dimension runs over several of the operand's.
  std::optional<StridedView>
  throughProducer(mlir::Operation *op, llvm::ArrayRef<int64_t> sizes) const;
  /// Given a view of the operand of `op`, a reshape or transpose: the same
  /// elements in its result.
  std::optional<StridedView>
  throughConsumer(mlir::Operation *op, llvm::ArrayRef<int64_t> sizes) const;

  /// Given a view of operand number `operand` of `op`: the same elements in its
  /// result.
  std::optional<StridedView> throughConcat(ConcatOp op, unsigned operand,
                                           llvm::ArrayRef<int64_t> sizes) const;

  /// Builds the tensor of shape `sizes` that the view of `tensor` shows.
  /// Failure when it is not a slice of a reshaped tensor, transposed and
  /// broadcast.
  mlir::FailureOr<mlir::Value> read(mlir::OpBuilder &builder,
                                    mlir::Location loc, mlir::Value tensor,
                                    llvm::ArrayRef<int64_t> sizes) const;
  /// Builds a tensor of `type` that holds `value` in the view and 0 elsewhere.
  mlir::FailureOr<mlir::Value> write(mlir::OpBuilder &builder,
                                     mlir::Location loc, mlir::Value value,
                                     mlir::RankedTensorType type) const;
};

} // namespace bessemer::graph

#endif // BESSEMER_DIALECT_GRAPH_IR_STRIDEDVIEW_H
