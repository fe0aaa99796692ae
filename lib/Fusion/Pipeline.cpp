// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of the Fusion stage's passes.

#include "bessemer/Fusion/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void bessemer::buildFusionPipeline(OpPassManager &manager,
                                   const FusionOptions &options) {
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
  functions.addPass(createKernAssignLayouts({/*winograd=*/options.winograd}));
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  functions.addPass(createKernVerify());
}
