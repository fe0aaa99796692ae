// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of the Fusion stage's passes.

#include "bessemer/Fusion/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void bessemer::buildFusionPipeline(
    OpPassManager &manager, const FusionOptions &options,
    llvm::function_ref<void(OpPassManager &)> addAfterFusion) {
  OpPassManager &functions = manager.nest<func::FuncOp>();
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  functions.addPass(createHoistFromScan());
  functions.addPass(createAbsorbTranspose());
  functions.addPass(createReuseActivation());
  functions.addPass(createGraphToKern());
  // Copies that several products read.
  functions.addPass(createCSEPass());
  functions.addPass(createKernFuse());
  if (addAfterFusion)
    addAfterFusion(manager);
  manager.addNestedPass<func::FuncOp>(
      createKernAssignLayouts({/*winograd=*/options.winograd}));
  manager.addPass(createKernBlockWeights());
  OpPassManager &kernels = manager.nest<func::FuncOp>();
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createCSEPass());
  kernels.addPass(createKernVerify());
}
