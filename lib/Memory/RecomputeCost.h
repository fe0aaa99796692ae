// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What it costs to compute a kernel's results once more.

#ifndef BESSEMER_LIB_MEMORY_RECOMPUTECOST_H
#define BESSEMER_LIB_MEMORY_RECOMPUTECOST_H

#include "mlir/IR/Operation.h"

namespace bessemer {

/// An estimate of a kernel's time, in bytes moved: arithmetic counts as the
/// bytes that could be moved meanwhile, a launch as some, too.
double kernelCost(mlir::Operation *op);

/// Whether a kernel may run twice: no update, and no loop.
bool isRepeatable(mlir::Operation *op);

} // namespace bessemer

#endif // BESSEMER_LIB_MEMORY_RECOMPUTECOST_H
