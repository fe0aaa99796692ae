// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mlir-opt with Bessemer's dialects and passes, and those of plugins.

#include "bessemer/Pipelines/LoadPlugins.h"
#include "bessemer/Pipelines/Register.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/raw_ostream.h"

using namespace bessemer;

/// Loads what --pass-plugin=FILE names and takes these arguments away: passes
/// must be known before the command line is parsed.
static llvm::LogicalResult loadPlugins(std::vector<char *> &arguments,
                                       mlir::DialectRegistry &dialects,
                                       Plugins &plugins) {
  constexpr llvm::StringLiteral flag = "--pass-plugin";
  for (size_t i = 1; i < arguments.size();) {
    llvm::StringRef argument = arguments[i];
    if (argument != flag && !argument.starts_with(flag.str() + "=")) {
      ++i;
      continue;
    }
    bool separate = argument == flag;
    if (separate && i + 1 == arguments.size()) {
      llvm::errs() << "error: " << flag << ": expected a file\n";
      return llvm::failure();
    }
    std::string path = separate ? std::string(arguments[i + 1])
                                : argument.drop_front(flag.size() + 1).str();
    arguments.erase(arguments.begin() + i,
                    arguments.begin() + i + (separate ? 2 : 1));
    std::string error;
    if (llvm::failed(loadPlugin(path, dialects, plugins, error))) {
      llvm::errs() << "error: " << error << "\n";
      return llvm::failure();
    }
  }
  return llvm::success();
}

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  registerAllPasses();
  Plugins plugins;
  std::vector<char *> arguments(argv, argv + argc);
  if (llvm::failed(loadPlugins(arguments, registry, plugins)))
    return 1;
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(static_cast<int>(arguments.size()), arguments.data(),
                        "Bessemer's optimizer driver\n", registry));
}
