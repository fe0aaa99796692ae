// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From an ONNX model to an artifact: the only place that knows the order of
// the phases.

#ifndef BESSEMER_PIPELINES_COMPILE_H
#define BESSEMER_PIPELINES_COMPILE_H

#include "bessemer/Pipelines/CompileOptions.h"
#include "bessemer/bessemer_compiler.h"
#include "llvm/ADT/StringRef.h"

namespace bessemer {

/// What a compilation gives.
struct CompileResult {
  bsc_status status = BSC_OK;
  /// The artifact's bytes, when CompileOptions::emit asks for it.
  std::string artifact;
  /// The level that CompileOptions::emit names, as text.
  std::string text;
  std::vector<std::string> warnings;
  std::vector<std::string> errors;
};

/// Compiles the model named in `options`, or `bytes`. Phases: import,
/// training, fusion, memory, codegen, emit; each ends with the verify pass of
/// its level.
CompileResult compileModel(const CompileOptions &options,
                           std::optional<llvm::StringRef> bytes);

} // namespace bessemer

#endif // BESSEMER_PIPELINES_COMPILE_H
