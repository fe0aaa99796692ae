// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small matchers on values that the passes of this stage share.

#ifndef BESSEMER_LIB_RAISING_MATCH_H
#define BESSEMER_LIB_RAISING_MATCH_H

#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "bessemer/Dialect/Graph/IR/TensorType.h"

namespace bessemer::raising {

/// The value that `value` is a reshape of.
mlir::Value stripReshapes(mlir::Value value);

/// The value that `value` is a reshape or broadcast of.
mlir::Value stripReshapesAndBroadcasts(mlir::Value value);

/// The element of a float constant that is the same everywhere, also broadcast
/// or reshaped.
std::optional<double> splatOf(mlir::Value value);

/// Whether `value` is `expected`, up to the rounding of f32.
bool isNear(double value, double expected);

/// The two operands of a product or sum in both orders: calls `match` with
/// (a, b), then (b, a), until it holds.
template <typename OpTy>
bool matchEither(mlir::Value value,
                 llvm::function_ref<bool(mlir::Value, mlir::Value)> match) {
  auto op = value.getDefiningOp<OpTy>();
  return op &&
         (match(op.getLhs(), op.getRhs()) || match(op.getRhs(), op.getLhs()));
}

/// `value` without multiplications and divisions by constants, and their
/// product.
std::pair<mlir::Value, double> peelFactors(mlir::Value value);

} // namespace bessemer::raising

#endif // BESSEMER_LIB_RAISING_MATCH_H
