// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a plugin is: a shared library that defines bessemerGetPlugin().
//
//   static void setUp(bessemer::PluginRegistry &registry) {
//     registry.addPass(bessemer::ExtensionPoint::BeforeFusion,
//                      [] { return std::make_unique<MyPass>(); });
//   }
//   BESSEMER_PLUGIN("my-plugin", "1.0", setUp)

#ifndef BESSEMER_PIPELINES_PLUGIN_H
#define BESSEMER_PIPELINES_PLUGIN_H

#include "bessemer/Import/CustomOp.h"
#include "bessemer/Pipelines/ExtensionPoints.h"
#include "bessemer/Version.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Config/llvm-config.h"
#include <string>

namespace bessemer {

/// What a plugin adds to a compilation, or to bessemer-opt.
class PluginRegistry {
public:
  PluginRegistry(mlir::DialectRegistry &dialects, CustomOps &customOps,
                 ExtensionPoints &points)
      : dialects(dialects), customOps(customOps), points(points) {}

  template <typename Dialect> void addDialect() {
    dialects.insert<Dialect>();
  }

  /// Registers a pass on modules or functions for use by name and runs it at
  /// `point`.
  template <typename Create>
  void addPass(ExtensionPoint point, const Create &create) {
    registerPass(create);
    points.add(point, [create](mlir::OpPassManager &manager) {
      auto pass = create();
      if (std::optional<llvm::StringRef> op = pass->getOpName();
          op && *op != "builtin.module")
        manager.nest(*op).addPass(std::move(pass));
      else
        manager.addPass(std::move(pass));
    });
  }

  /// Registers a pass for use by name only.
  template <typename Create> void registerPass(const Create &create) {
    mlir::registerPass(
        [create]() -> std::unique_ptr<mlir::Pass> { return create(); });
  }

  /// Takes nodes of a custom domain. Reports a name that is taken.
  void addOp(std::string domain, std::string name, CustomOp op) {
    std::string text = domain + "." + name;
    if (!customOps.add(std::move(domain), std::move(name), std::move(op)))
      errors.push_back("the op '" + text + "' is there already");
  }

  mlir::DialectRegistry &dialects;
  /// What went wrong while the plugin set itself up.
  std::vector<std::string> errors;

private:
  CustomOps &customOps;
  ExtensionPoints &points;
};

/// What bessemerGetPlugin() returns. The first three fields never change their
/// place; they are compared before anything else is read or called.
struct Plugin {
  /// Counts changes of the interface between compiler and plugins.
  static constexpr uint32_t currentApiVersion = 1;

  uint32_t apiVersion;
  /// What the plugin was compiled against: C++ has no stable interface across
  /// versions of either.
  const char *bessemerVersion;
  const char *llvmVersion;

  const char *name;
  const char *version;
  void (*setUp)(PluginRegistry &);
};

} // namespace bessemer

/// Defines the entry point of a plugin.
#define BESSEMER_PLUGIN(NAME, VERSION, SET_UP)                                 \
  extern "C" __attribute__((visibility("default"))) const bessemer::Plugin *   \
  bessemerGetPlugin() {                                                        \
    static const bessemer::Plugin plugin = {                                   \
        bessemer::Plugin::currentApiVersion,                                   \
        BESSEMER_VERSION,                                                      \
        LLVM_VERSION_STRING,                                                   \
        NAME,                                                                  \
        VERSION,                                                               \
        SET_UP};                                                               \
    return &plugin;                                                            \
  }

#endif // BESSEMER_PIPELINES_PLUGIN_H
