// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens plugins and compares versions before anything of them runs.

#include "bessemer/Pipelines/LoadPlugins.h"
#include "llvm/ADT/Twine.h"

#include "llvm/Support/FileSystem.h"
#include <dlfcn.h>
#include <mutex>

using namespace bessemer;
using namespace llvm;

/// "plugin API 1 of bessemer 0.1.0 with LLVM 22.1.0"
static std::string describeVersions(uint32_t api, StringRef bessemer,
                                    StringRef llvmVersion) {
  return ("plugin API " + Twine(api) + " of bessemer " + bessemer +
          " with LLVM " + llvmVersion)
      .str();
}

LogicalResult bessemer::loadPlugin(const std::string &path,
                                   mlir::DialectRegistry &dialects,
                                   Plugins &plugins, std::string &error) {
  // The pass registry is one for all compilations of the process.
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  auto fail = [&](const Twine &what) {
    error = ("plugin '" + path + "': " + what).str();
    return failure();
  };
  // A name without a slash would be searched for in the system's folders.
  std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  // To open a pipe that nobody writes to would wait for good.
  if (llvm::sys::fs::exists(file) && !llvm::sys::fs::is_regular_file(file))
    return fail("expected a regular file");
  void *library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return fail(Twine("cannot be opened: ") + ::dlerror());
  auto *entry = reinterpret_cast<const Plugin *(*)()>(
      ::dlsym(library, "bessemerGetPlugin"));
  if (!entry)
    return fail("expected the function bessemerGetPlugin (BESSEMER_PLUGIN "
                "defines it), found none");
  const Plugin *plugin = entry();
  std::string expected = describeVersions(
      Plugin::currentApiVersion, BESSEMER_VERSION, LLVM_VERSION_STRING);
  std::string found = describeVersions(
      plugin->apiVersion, plugin->bessemerVersion, plugin->llvmVersion);
  if (found != expected)
    return fail("expected " + expected + ", got " + found +
                ": build it again with this Bessemer");

  PluginRegistry registry(dialects, plugins.customOps, plugins.points);
  plugin->setUp(registry);
  if (!registry.errors.empty())
    return fail(registry.errors.front());
  plugins.names.push_back(std::string(plugin->name) + " " + plugin->version);
  return success();
}
