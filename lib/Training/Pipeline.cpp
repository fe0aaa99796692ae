// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of the Training stage's passes.

#include "bessemer/Training/Passes.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

void bessemer::buildTrainingPipeline(
    OpPassManager &manager, const TrainingOptions &options,
    llvm::function_ref<void(OpPassManager &)> addBeforeAutodiff,
    llvm::function_ref<void(OpPassManager &)> addAfterAutodiff) {
  manager.addPass(createGraphBuildFunctions(options));
  if (addBeforeAutodiff)
    addBeforeAutodiff(manager);
  manager.addPass(createGraphDifferentiate());
  if (options.accumulate > 1)
    manager.addPass(createGraphAccumulate({options.accumulate}));
  manager.addPass(createGraphBuildUpdate(options));
  if (addAfterAutodiff)
    addAfterAutodiff(manager);
  manager.addPass(createGraphVerify());
}
