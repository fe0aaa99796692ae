// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR diagnostics as lines for the user.

#include "Diagnostics.h"
#include "mlir/IR/Location.h"

using namespace mlir;
using namespace bessemer;

/// "node 'conv1', model.py:41: " from the names and files of a location.
static std::string describe(Location location) {
  std::string node, file;
  location->walk([&](Location inner) {
    if (auto name = dyn_cast<NameLoc>(inner)) {
      if (node.empty())
        node = "node '" + name.getName().str() + "'";
    } else if (auto line = dyn_cast<FileLineColLoc>(inner)) {
      if (file.empty())
        file = line.getFilename().str() + ":" + std::to_string(line.getLine());
    }
    return WalkResult::advance();
  });
  std::string text = node;
  if (!file.empty())
    text += (text.empty() ? "" : ", ") + file;
  return text.empty() ? text : text + ": ";
}

DiagnosticCollector::DiagnosticCollector(MLIRContext &context,
                                         std::string modelName)
    : model(std::move(modelName)),
      handler(&context, [this](Diagnostic &diagnostic) {
        std::string line = model + ": " + describe(diagnostic.getLocation()) +
                           diagnostic.str();
        std::lock_guard<std::mutex> lock(mutex);
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
          errors.push_back(line);
        else if (diagnostic.getSeverity() == DiagnosticSeverity::Warning)
          warnings.push_back(line);
        return success();
      }) {}

std::vector<std::string> DiagnosticCollector::takeErrors() {
  return std::exchange(errors, {});
}

std::vector<std::string> DiagnosticCollector::takeWarnings() {
  return std::exchange(warnings, {});
}
