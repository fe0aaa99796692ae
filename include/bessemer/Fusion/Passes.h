// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The Fusion stage: graph -> kern.

#ifndef BESSEMER_FUSION_PASSES_H
#define BESSEMER_FUSION_PASSES_H

#include "bessemer/Dialect/Kern/IR/Kern.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace bessemer {

#define GEN_PASS_DECL
#include "bessemer/Fusion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "bessemer/Fusion/Passes.h.inc"

struct FusionOptions {
  /// Whether convolutions may use Winograd's algorithm.
  bool winograd = true;
};

/// Adds the passes that take every function of a module from `graph` to `kern`
/// and verify that nothing of `graph` but state and step ops is left.
/// `addAfterFusion` may add passes behind the one that merges kernels.
void buildFusionPipeline(
    mlir::OpPassManager &manager, const FusionOptions &options = {},
    llvm::function_ref<void(mlir::OpPassManager &)> addAfterFusion = nullptr);

} // namespace bessemer

#endif // BESSEMER_FUSION_PASSES_H
