// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of the Raising stage's passes.

#include "bessemer/Raising/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void bessemer::buildRaisingPipeline(OpPassManager &manager) {
  OpPassManager &functions = manager.nest<func::FuncOp>();
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  functions.addPass(createRaiseDropout());
  functions.addPass(createRaiseGelu());
  functions.addPass(createRaiseSilu());
  functions.addPass(createRaiseNorms());
  functions.addPass(createRaiseAttention());
  // What only the decomposed forms used.
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
}
