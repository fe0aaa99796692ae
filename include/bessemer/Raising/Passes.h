// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The Raising stage: what exporters take apart becomes composites again.

#ifndef BESSEMER_RAISING_PASSES_H
#define BESSEMER_RAISING_PASSES_H

#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace bessemer {

#define GEN_PASS_DECL
#include "bessemer/Raising/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "bessemer/Raising/Passes.h.inc"

/// Adds the passes that raise `@model`, before it is differentiated.
void buildRaisingPipeline(mlir::OpPassManager &manager);

} // namespace bessemer

#endif // BESSEMER_RAISING_PASSES_H
