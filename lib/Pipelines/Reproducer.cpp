// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs pipelines so that a pass that crashes leaves something to debug.

#include "Reproducer.h"
#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace bessemer;

namespace {
/// The last pass that began, and a copy of what it got.
struct LastPass {
  std::string name, text;
  OwningOpRef<Operation *> copy;
  bool invalid = false;
};

class Recorder : public PassInstrumentation {
public:
  explicit Recorder(LastPass &last) : last(last) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    // Adaptors run other passes, which come here too.
    if (pass->getArgument().empty())
      return;
    last.name = pass->getArgument().str();
    last.text.clear();
    llvm::raw_string_ostream os(last.text);
    pass->printAsTextualPipeline(os);
    last.copy = op->clone();
  }

  void runAfterPassFailed(Pass *, Operation *op) override {
    // Whether the pass said so or the verifier behind it.
    ScopedDiagnosticHandler silence(op->getContext(),
                                    [](Diagnostic &) { return success(); });
    last.invalid |= failed(verify(op));
  }

private:
  LastPass &last;
};
} // namespace

/// What the pass got as a module: a function goes beside the states.
static void fill(Reproducer &reproducer, LastPass &last, ModuleOp module) {
  reproducer.pass = last.name;
  if (!last.copy)
    return;
  if (auto copy = dyn_cast<ModuleOp>(*last.copy)) {
    (void)last.copy.release();
    reproducer.module = copy;
    reproducer.pipeline = "builtin.module(" + last.text + ")";
    return;
  }
  reproducer.module = ModuleOp::create(module.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(reproducer.module->getBody());
  for (auto state : module.getOps<graph::StateOp>())
    builder.clone(*state);
  reproducer.pipeline = "builtin.module(" +
                        (*last.copy)->getName().getStringRef().str() + "(" +
                        last.text + "))";
  builder.insert(last.copy.release());
}

PipelineEnd bessemer::runGuarded(PassManager &manager, ModuleOp module,
                                 Reproducer &reproducer) {
  LastPass last;
  bool passed = false;
  manager.getContext()->disableMultithreading();
  manager.addInstrumentation(std::make_unique<Recorder>(last));
  llvm::CrashRecoveryContext::Enable();
  auto disable =
      llvm::make_scope_exit([] { llvm::CrashRecoveryContext::Disable(); });
  bool survived = llvm::CrashRecoveryContext().RunSafely(
      [&] { passed = succeeded(manager.run(module)); });
  if (passed)
    return PipelineEnd::Success;
  fill(reproducer, last, module);
  return !survived      ? PipelineEnd::Crashed
         : last.invalid ? PipelineEnd::Invalid
                        : PipelineEnd::Failed;
}

std::string bessemer::replayCommand(StringRef pipeline, StringRef file,
                                    ArrayRef<std::string> plugins) {
  std::string command = "bessemer-opt";
  for (const std::string &plugin : plugins)
    command += " --pass-plugin=" + plugin;
  return command + " --pass-pipeline='" + pipeline.str() + "' " + file.str();
}

void bessemer::printReplayable(ModuleOp module, StringRef pipeline,
                               StringRef file, ArrayRef<std::string> plugins,
                               raw_ostream &os) {
  if (!pipeline.empty())
    os << "// " << replayCommand(pipeline, file, plugins) << "\n";
  OpPrintingFlags flags;
  flags.elideLargeElementsAttrs(16).elideLargeResourceString(64);
  flags.enableDebugInfo(true, /*prettyForm=*/false);
  module.print(os, flags);
}
