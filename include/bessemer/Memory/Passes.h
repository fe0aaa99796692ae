// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory stage: kern -> exec. See Passes.td.

#ifndef BESSEMER_MEMORY_PASSES_H
#define BESSEMER_MEMORY_PASSES_H

#include "bessemer/Dialect/Exec/IR/Exec.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <optional>

namespace bessemer {

#define GEN_PASS_DECL
#include "bessemer/Memory/Passes.h.inc"

/// Order, memory, verification: a module of the kern level becomes one of the
/// exec level. With a limit (bytes), a session fits into it or the pipeline
/// fails.
void buildMemoryPipeline(mlir::OpPassManager &manager,
                         std::optional<int64_t> memoryLimit = std::nullopt);

/// Registers the passes and the pipeline `memory` for use by name.
void registerMemoryPasses();

} // namespace bessemer

#endif // BESSEMER_MEMORY_PASSES_H
