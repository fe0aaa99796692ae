// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Named places in the pipeline where plugins add passes.

#ifndef BESSEMER_PIPELINES_EXTENSIONPOINTS_H
#define BESSEMER_PIPELINES_EXTENSIONPOINTS_H

#include "mlir/Pass/PassManager.h"
#include <functional>
#include <map>
#include <vector>

namespace bessemer {

/// In the order of the pipeline. The operand of the passes is the module.
enum class ExtensionPoint {
  /// graph: `@model` as it was imported, before anything else has run.
  AfterImport,
  /// graph: `@predict`, `@eval_step`, `@train_step` are there; the first result
  /// of `@train_step` is the loss. Not reached without a loss.
  BeforeAutodiff,
  /// graph: `@train_step` also updates the parameters.
  AfterAutodiff,
  /// graph: complete, verified and canonicalized; the next pass is the first of
  /// fusion. Models without a loss get here too.
  BeforeFusion,
  /// kern: kernels are merged, not yet canonicalized.
  AfterFusion,
  /// kern: complete and verified; the next pass plans memory.
  BeforeMemory
};

/// Adds passes to the manager of a module.
using PassBuilder = std::function<void(mlir::OpPassManager &)>;

/// What is to run where, in the order in which it was added.
class ExtensionPoints {
public:
  void add(ExtensionPoint point, PassBuilder build) {
    builders[point].push_back(std::move(build));
  }

  /// Adds the passes of one point to `manager`.
  void build(ExtensionPoint point, mlir::OpPassManager &manager) const {
    auto found = builders.find(point);
    if (found != builders.end())
      for (const PassBuilder &build : found->second)
        build(manager);
  }

private:
  std::map<ExtensionPoint, std::vector<PassBuilder>> builders;
};

} // namespace bessemer

#endif // BESSEMER_PIPELINES_EXTENSIONPOINTS_H
