// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plugin that says at every extension point what it sees there.

#include "bessemer/Dialect/Kern/IR/Kern.h"
#include "bessemer/Pipelines/Plugin.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace bessemer;

namespace {
/// Warns with the name of the point, the functions, and their level.
struct SayPass : PassWrapper<SayPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SayPass)

  explicit SayPass(std::string point = "") : point(std::move(point)) {}

  StringRef getArgument() const override { return "test-say"; }
  StringRef getDescription() const override { return "say what is there"; }

  void runOnOperation() override {
    std::string text = point;
    for (auto function : getOperation().getOps<func::FuncOp>())
      text += " @" + function.getSymName().str() + "/" +
              std::to_string(function.getNumResults());
    bool hasKernels = false, hasUpdate = false;
    getOperation().walk([&](Operation *op) {
      hasKernels |= isa<kern::KernelOpInterface>(op);
      hasUpdate |= isa<graph::SgdOp, graph::AdamWOp, kern::UpdateOp>(op);
    });
    text += hasKernels ? " kern" : " graph";
    text += hasUpdate ? " update" : "";
    emitWarning(UnknownLoc::get(&getContext())) << text;
  }

  std::string point;
};

void setUp(PluginRegistry &registry) {
  auto add = [&](ExtensionPoint point, const char *name) {
    registry.addPass(point, [name] { return std::make_unique<SayPass>(name); });
  };
  add(ExtensionPoint::BeforeMemory, "before-memory");
  add(ExtensionPoint::AfterFusion, "after-fusion");
  add(ExtensionPoint::BeforeFusion, "before-fusion");
  add(ExtensionPoint::AfterAutodiff, "after-autodiff");
  add(ExtensionPoint::BeforeAutodiff, "before-autodiff");
  add(ExtensionPoint::AfterImport, "after-import");
}
} // namespace

BESSEMER_PLUGIN("extension-points", "1.0", setUp)
