// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What it costs to compute a kernel's results once more.

#ifndef BESSEMER_LIB_MEMORY_RECOMPUTECOST_H
#define BESSEMER_LIB_MEMORY_RECOMPUTECOST_H

#include "mlir/IR/Operation.h"
#include <optional>

namespace bessemer {

/// An estimate in bytes moved, arithmetic counted as the bytes that could be
/// moved meanwhile; nothing for what is not repeated: updates, and loops.
std::optional<double> recomputeCost(mlir::Operation *op);

} // namespace bessemer

#endif // BESSEMER_LIB_MEMORY_RECOMPUTECOST_H
