// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a module still shows the fault that is looked for.

#ifndef BESSEMER_TOOLS_REDUCE_INTERESTINGNESS_H
#define BESSEMER_TOOLS_REDUCE_INTERESTINGNESS_H

#include "mlir/IR/BuiltinOps.h"
#include <optional>
#include <string>

namespace bessemer::reduce {

/// One of the tests, by what is set.
struct Interestingness {
  /// A program that is given the module's file; interesting when it exits
  /// with 0.
  std::string script;
  /// The passes that the other tests run.
  std::string pipeline;
  /// The pipeline fails with an error that has this text.
  std::optional<std::string> failsWith;
  /// The pipeline crashes.
  bool crashes = false;
  /// A pass changes what a function computes; the pass when not empty.
  std::optional<std::string> differsAt;

  /// Runs the test in a process of its own: a crash there is only an answer.
  bool holds(mlir::ModuleOp module) const;
};

/// Prints `module` to the file at `path`; returns whether it could.
bool writeModule(mlir::ModuleOp module, llvm::StringRef path);

} // namespace bessemer::reduce

#endif // BESSEMER_TOOLS_REDUCE_INTERESTINGNESS_H
