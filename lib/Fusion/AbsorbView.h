// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads and writes through transposes, reshapes and slices as views.

#ifndef BESSEMER_LIB_FUSION_ABSORBVIEW_H
#define BESSEMER_LIB_FUSION_ABSORBVIEW_H

#include "bessemer/Dialect/Graph/IR/StridedView.h"
#include "bessemer/Dialect/Kern/IR/Kern.h"

namespace bessemer::fusion {

/// The tensor from which `value` (of rank 4) is taken by ops that only move
/// elements, and where `value` lies in it. The last dimension stays contiguous.
/// With `mayRepeat` broadcasts are such ops too; the view then has strides of
/// 0.
std::pair<mlir::Value, graph::StridedView>
absorbProducers(mlir::Value value, bool mayRepeat = false);

/// A value of rank 4 that is moved on, by reshapes and transposes, to `end`.
struct AbsorbedResult {
  mlir::Value start, end;
  /// Where `start` lies in `end`.
  graph::StridedView view;
  /// The ops between them, in order.
  llvm::SmallVector<mlir::Operation *> moves;

  /// Erases the moves, whose results are not used any more.
  void eraseMoves();
  /// Replaces `end` by `kernel` and what else used `start` by what the inverse
  /// moves give; erases the moves.
  void replaceWith(mlir::Value kernel, mlir::OpBuilder &builder);
};

/// Lets results that together are all operands of one graph.concat be parts of
/// its result, and of what that is moved to. Returns the concat and those
/// moves, nothing when there is no such concat. The ends are one value then.
llvm::SmallVector<mlir::Operation *>
absorbConcat(llvm::MutableArrayRef<AbsorbedResult> results);

/// Follows the only user of `value` that `isBeside` does not hold for, and so
/// on, while all of them move elements and the last dimension stays contiguous.
AbsorbedResult
absorbConsumers(mlir::Value value,
                llvm::function_ref<bool(mlir::Operation *)> isBeside);

} // namespace bessemer::fusion

#endif // BESSEMER_LIB_FUSION_ABSORBVIEW_H
