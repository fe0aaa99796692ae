// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tests of bessemer-reduce.

#include "Interestingness.h"
#include "bessemer/Reference/VerifyNumerics.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;
using namespace bessemer;
using namespace bessemer::reduce;

bool reduce::writeModule(ModuleOp module, StringRef path) {
  std::error_code code;
  llvm::raw_fd_ostream os(path, code);
  if (code)
    return false;
  module.print(os,
               OpPrintingFlags().enableDebugInfo(true, /*prettyForm=*/false));
  os << "\n";
  os.close();
  bool written = !os.error();
  os.clear_error();
  return written;
}

static bool runScript(const std::string &script, ModuleOp module) {
  llvm::SmallString<128> path;
  if (llvm::sys::fs::createTemporaryFile("bessemer-reduce", "mlir", path))
    return false;
  auto remove = llvm::make_scope_exit([&] { llvm::sys::fs::remove(path); });
  return writeModule(module, path) &&
         llvm::sys::ExecuteAndWait(
             script, {script, path}, std::nullopt,
             {StringRef(), StringRef(""), StringRef("")}) == 0;
}

/// What the child process does: whether the test holds.
static bool runPipeline(const Interestingness &test, ModuleOp module) {
  std::string unused;
  llvm::raw_string_ostream os(unused);
  // With the anchor that the text names: builtin.module(...) or any(...).
  FailureOr<OpPassManager> passes = parsePassPipeline(test.pipeline, os);
  if (failed(passes))
    return false;
  PassManager manager(module.getContext(), passes->getOpAnchorName());
  static_cast<OpPassManager &>(manager) = std::move(*passes);
  std::shared_ptr<const NumericsReport> numerics;
  if (test.differsAt)
    numerics = addNumericsVerification(manager);
  std::vector<std::string> errors;
  ScopedDiagnosticHandler handler(
      module.getContext(), [&](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
          errors.push_back(diagnostic.str());
        return success();
      });
  bool passed = succeeded(manager.run(module));
  auto anyHas = [&](const std::string &text) {
    return llvm::any_of(errors, [&](const std::string &error) {
      return error.find(text) != std::string::npos;
    });
  };
  if (test.differsAt)
    return numerics->differs &&
           (test.differsAt->empty() ||
            anyHas("pass '" + *test.differsAt + "' changed"));
  return !passed && test.failsWith && anyHas(*test.failsWith);
}

bool Interestingness::holds(ModuleOp module) const {
  if (!script.empty())
    return runScript(script, module);
  pid_t child = ::fork();
  if (child == 0) {
    // Stack traces of crashes say nothing new.
    ::close(STDERR_FILENO);
    ::_exit(runPipeline(*this, module) ? 0 : 1);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child)
    return false;
  return crashes ? WIFSIGNALED(status)
                 : WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
