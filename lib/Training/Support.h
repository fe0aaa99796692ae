// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What several steps of this stage use.

#ifndef BESSEMER_LIB_TRAINING_SUPPORT_H
#define BESSEMER_LIB_TRAINING_SUPPORT_H

#include "bessemer/Dialect/Graph/IR/Graph.h"

namespace bessemer::training {

/// The attributes of an argument or result that is called `name`.
inline mlir::DictionaryAttr namedAttr(mlir::Builder &builder,
                                      llvm::StringRef name) {
  return builder.getDictionaryAttr(
      builder.getNamedAttr(graph::kNameAttr, builder.getStringAttr(name)));
}

/// Erases the ops without effects whose results nothing uses.
inline void eraseDeadOps(mlir::Block &block) {
  for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (mlir::isOpTriviallyDead(&op))
      op.erase();
}

} // namespace bessemer::training

#endif // BESSEMER_LIB_TRAINING_SUPPORT_H
