// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of the memory stage's passes.

#include "bessemer/Memory/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace bessemer {
#define GEN_PASS_REGISTRATION
#include "bessemer/Memory/Passes.h.inc"
} // namespace bessemer

/// Recomputation that nobody notices: kernels' times vary by more.
static constexpr double kFreeShare = 0.01;

void bessemer::buildMemoryPipeline(OpPassManager &manager,
                                   std::optional<int64_t> memoryLimit) {
  manager.addPass(createKernSplitUpdate());
  manager.addPass(createKernScheduleOrder());
  manager.addPass(
      createKernRematerialize({memoryLimit.value_or(0), kFreeShare}));
  manager.addPass(createKernToExec());
  manager.addPass(createExecVerify());
}

void bessemer::registerMemoryPasses() {
  registerMemoryStagePasses();
  PassPipelineRegistration<>(
      "memory", "kern -> exec",
      [](OpPassManager &manager) { buildMemoryPipeline(manager); });
}
