// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes a module small while a test holds.

#ifndef BESSEMER_TOOLS_REDUCE_REDUCER_H
#define BESSEMER_TOOLS_REDUCE_REDUCER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace bessemer::reduce {

using Test = llvm::function_ref<bool(mlir::ModuleOp)>;

/// Applies edits to `module`, whichever `isInteresting` survives, until none
/// does: functions, results and writes are dropped; ranges of ops become
/// arguments of their function, from halves of a function down to single ops;
/// an op becomes one of its operands. What is not used then goes.
/// Deterministic.
mlir::OwningOpRef<mlir::ModuleOp> reduceModule(mlir::ModuleOp module,
                                               Test isInteresting);

} // namespace bessemer::reduce

#endif // BESSEMER_TOOLS_REDUCE_REDUCER_H
