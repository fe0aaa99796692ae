// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens plugins.

#ifndef BESSEMER_PIPELINES_LOADPLUGINS_H
#define BESSEMER_PIPELINES_LOADPLUGINS_H

#include "bessemer/Pipelines/Plugin.h"

namespace bessemer {

/// What the plugins of one compilation brought.
struct Plugins {
  /// "NAME VERSION" of each, in order.
  std::vector<std::string> names;
  CustomOps customOps;
  ExtensionPoints points;
};

/// Opens the plugin at `path` and lets it set itself up. Fails, and sets
/// `error` to one line, when it cannot be opened, is no plugin or was compiled
/// against another Bessemer or LLVM. A library stays open until the process
/// ends: the pass registry refers to it.
llvm::LogicalResult loadPlugin(const std::string &path,
                               mlir::DialectRegistry &dialects,
                               Plugins &plugins, std::string &error);

} // namespace bessemer

#endif // BESSEMER_PIPELINES_LOADPLUGINS_H
