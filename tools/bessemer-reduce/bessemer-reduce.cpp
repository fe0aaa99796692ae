// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bessemer-reduce: the smallest module that still shows a fault.

#include "Interestingness.h"
#include "Reducer.h"
#include "bessemer/Pipelines/LoadPlugins.h"
#include "bessemer/Pipelines/Register.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;
using namespace mlir;
using namespace bessemer;

namespace {
struct Options {
  cl::opt<std::string> input{cl::Positional, cl::Required,
                             cl::desc("MODULE.mlir")};
  cl::opt<std::string> output{"o", cl::Required, cl::desc("the file to write"),
                              cl::value_desc("FILE")};
  cl::opt<std::string> script{
      "test",
      cl::desc("program that exits with 0 for a file that is interesting"),
      cl::value_desc("PROGRAM")};
  cl::opt<std::string> pipeline{
      "pipeline",
      cl::desc("passes that the tests below run, e.g. "
               "builtin.module(func.func(kern-fuse))"),
      cl::value_desc("PASSES")};
  cl::opt<std::string> failsWith{
      "fails-with", cl::desc("interesting: an error that has this text"),
      cl::value_desc("TEXT")};
  cl::opt<bool> crashes{"crashes", cl::desc("interesting: a crash")};
  cl::opt<std::string> differsAt{
      "differs-at", cl::ValueOptional,
      cl::desc("interesting: a pass (or this pass) changes what a function "
               "computes"),
      cl::value_desc("PASS")};
  cl::list<std::string> plugins{"pass-plugin",
                                cl::desc("plugins with passes and ops"),
                                cl::value_desc("FILE.so")};
};
} // namespace

static int fail(const Twine &message) {
  llvm::errs() << "bessemer-reduce: " << message << "\n";
  return 1;
}

static size_t countOps(ModuleOp module) {
  size_t count = 0;
  module.walk([&](Operation *) { ++count; });
  return count;
}

int main(int argc, char **argv) {
  Options options;
  cl::ParseCommandLineOptions(argc, argv,
                              "Makes a module small while it shows a fault.\n");
  int tests = !options.script.empty() +
              (options.failsWith.getNumOccurrences() > 0) + options.crashes +
              (options.differsAt.getNumOccurrences() > 0);
  if (tests != 1)
    return fail("expected one of --test, --fails-with, --crashes and "
                "--differs-at, got " +
                Twine(tests));
  if (options.script.empty() == options.pipeline.empty())
    return fail("expected --pipeline with --fails-with, --crashes and "
                "--differs-at, and only there");

  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllPasses();
  Plugins plugins;
  for (const std::string &path : options.plugins) {
    std::string error;
    if (failed(loadPlugin(path, registry, plugins, error)))
      return fail(error);
  }
  // The tests fork.
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(options.input, &context);
  if (!module)
    return 1;
  reduce::Interestingness test;
  test.script = options.script;
  test.pipeline = options.pipeline;
  test.crashes = options.crashes;
  if (options.failsWith.getNumOccurrences())
    test.failsWith = options.failsWith;
  if (options.differsAt.getNumOccurrences())
    test.differsAt = options.differsAt;
  if (!test.pipeline.empty()) {
    PassManager manager(&context);
    if (failed(parsePassPipeline(test.pipeline, manager, llvm::errs())))
      return 1;
  }
  if (!test.holds(*module))
    return fail(options.input +
                ": is not interesting: the test does not hold for it");
  OwningOpRef<ModuleOp> reduced = reduce::reduceModule(
      *module, [&](ModuleOp candidate) { return test.holds(candidate); });
  if (!reduce::writeModule(*reduced, options.output))
    return fail(options.output + ": cannot be written");
  llvm::outs() << options.input << ": " << countOps(*module) << " ops -> "
               << options.output << ": " << countOps(*reduced) << " ops\n";
  return 0;
}
