// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The blocks that hold tensor code.

#ifndef BESSEMER_LIB_FUSION_BLOCKS_H
#define BESSEMER_LIB_FUSION_BLOCKS_H

#include "bessemer/Dialect/Kern/IR/Kern.h"

namespace bessemer::fusion {

/// The blocks of a function and of the scans in it, inner ones first; not the
/// regions of kernels.
llvm::SmallVector<mlir::Block *> blocksOf(mlir::func::FuncOp function);

} // namespace bessemer::fusion

#endif // BESSEMER_LIB_FUSION_BLOCKS_H
