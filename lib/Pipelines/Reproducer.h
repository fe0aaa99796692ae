// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeps the module as it was before the pass that runs, for the case that the
// pass fails or crashes.

#ifndef BESSEMER_LIB_PIPELINES_REPRODUCER_H
#define BESSEMER_LIB_PIPELINES_REPRODUCER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include <memory>
#include <string>

namespace bessemer {

/// How a pipeline ended.
enum class PipelineEnd {
  Success,
  /// A pass reported an error.
  Failed,
  /// A pass left a module that is not valid, or failed without a word.
  Invalid,
  /// A pass crashed.
  Crashed
};

/// What is known of the pass that failed.
struct Reproducer {
  /// The module before it; of a pass on functions, only with its function.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Its name, and the pipeline that runs it on a module:
  /// "builtin.module(func.func(kern-fuse))".
  std::string pass, pipeline;
};

/// Runs `manager` on `module` and survives a crash of a pass. The passes run in
/// one thread, and what each gets is copied before. `reproducer` is set unless
/// all goes well.
PipelineEnd runGuarded(mlir::PassManager &manager, mlir::ModuleOp module,
                       Reproducer &reproducer);

/// Prints `module` without its weights, with the command that runs `pipeline`
/// on it at the top unless `pipeline` is empty.
void printReplayable(mlir::ModuleOp module, llvm::StringRef pipeline,
                     llvm::StringRef file, llvm::ArrayRef<std::string> plugins,
                     llvm::raw_ostream &os);

/// The command that runs `pipeline` on `file`.
std::string replayCommand(llvm::StringRef pipeline, llvm::StringRef file,
                          llvm::ArrayRef<std::string> plugins);

} // namespace bessemer

#endif // BESSEMER_LIB_PIPELINES_REPRODUCER_H
