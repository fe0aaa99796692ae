// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expansion of the kernel families to graph ops.

#include "bessemer/Dialect/Kern/IR/Kern.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::kern;

#define EXPANSION(OP)                                                          \
  FailureOr<SmallVector<Value>> OP::expand(OpBuilder &) {                      \
    return emitOpError("has no expansion");                                    \
  }
EXPANSION(MapOp)
EXPANSION(RowsOp)
EXPANSION(ColumnsOp)
EXPANSION(GemmOp)
EXPANSION(ConvOp)
EXPANSION(WindowOp)
EXPANSION(UpdateOp)
EXPANSION(NormOp)
