// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of the Training stage. See Passes.td.

#ifndef BESSEMER_TRAINING_PASSES_H
#define BESSEMER_TRAINING_PASSES_H

#include "bessemer/Training/TrainingOptions.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <string>

namespace bessemer {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "bessemer/Training/Passes.h.inc"

/// The passes with options that the user's recipe gave.
std::unique_ptr<mlir::Pass>
createGraphBuildFunctions(const TrainingOptions &options);
std::unique_ptr<mlir::Pass>
createGraphBuildUpdate(const TrainingOptions &options);

/// From `@model` to the functions that train it: all passes in their order,
/// and around autodiff what the callbacks add.
void buildTrainingPipeline(
    mlir::OpPassManager &manager, const TrainingOptions &options,
    llvm::function_ref<void(mlir::OpPassManager &)> addBeforeAutodiff = {},
    llvm::function_ref<void(mlir::OpPassManager &)> addAfterAutodiff = {});

} // namespace bessemer

#endif // BESSEMER_TRAINING_PASSES_H
