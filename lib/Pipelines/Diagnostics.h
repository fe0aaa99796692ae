// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR diagnostics as lines for the user.

#ifndef BESSEMER_LIB_PIPELINES_DIAGNOSTICS_H
#define BESSEMER_LIB_PIPELINES_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include <mutex>
#include <string>
#include <vector>

namespace bessemer {

/// Collects the diagnostics of a context while it lives. Errors become
/// `model.onnx: node 'conv1', model.py:41: message`.
class DiagnosticCollector {
public:
  DiagnosticCollector(mlir::MLIRContext &context, std::string model);

  std::vector<std::string> takeErrors();
  std::vector<std::string> takeWarnings();

private:
  std::string model;
  std::mutex mutex;
  std::vector<std::string> errors, warnings;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace bessemer

#endif // BESSEMER_LIB_PIPELINES_DIAGNOSTICS_H
