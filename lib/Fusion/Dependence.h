// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Order and dependence of the ops of one block.

#ifndef BESSEMER_LIB_FUSION_DEPENDENCE_H
#define BESSEMER_LIB_FUSION_DEPENDENCE_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SetVector.h"

namespace bessemer::fusion {

/// The ops of the block after `first` and up to `last` (inclusive) that depend
/// on a result of `first`, in block order.
llvm::SetVector<mlir::Operation *> dependentsUpTo(mlir::Operation *first,
                                                  mlir::Operation *last);

/// Whether `last` depends on `first` through a third op.
bool dependsIndirectly(mlir::Operation *first, mlir::Operation *last);

/// Whether `last` depends on `first`. Either may come first in the block.
bool depends(mlir::Operation *first, mlir::Operation *last);

/// Moves all ops between `first` and `last` that depend on `first` behind
/// `last`, keeping their order, so that `first` and `last` can merge at `last`.
/// `last` may use `first` directly but not through a third op.
void moveDependentsBehind(mlir::Operation *first, mlir::Operation *last);

} // namespace bessemer::fusion

#endif // BESSEMER_LIB_FUSION_DEPENDENCE_H
