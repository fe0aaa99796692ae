// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens libbessemer_compiler.so, so that importing the package loads no LLVM.

#include "compiler.h"
#include "bessemer/bessemer_compiler.h"

#include <dlfcn.h>
#include <stdexcept>

namespace {

struct CompilerLibrary {
  decltype(&bsc_compile) compile;
  decltype(&bsc_export) exportModel;
  decltype(&bsc_result_artifact) artifact;
  decltype(&bsc_result_text) text;
  decltype(&bsc_result_warnings) warnings;
  decltype(&bsc_result_error) error;
  decltype(&bsc_result_free) free;

  explicit CompilerLibrary(const std::string &path) {
    void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      throw std::runtime_error("cannot open the compiler: " +
                               std::string(dlerror()));
    resolve(handle, "bsc_compile", compile);
    resolve(handle, "bsc_export", exportModel);
    resolve(handle, "bsc_result_artifact", artifact);
    resolve(handle, "bsc_result_text", text);
    resolve(handle, "bsc_result_warnings", warnings);
    resolve(handle, "bsc_result_error", error);
    resolve(handle, "bsc_result_free", free);
  }

  template <typename Function>
  void resolve(void *handle, const char *name, Function &function) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    if (!function)
      throw std::runtime_error(std::string("the compiler lacks ") + name);
  }

  CompilerAnswer take(int status, bsc_result *result) const {
    size_t size = 0;
    const void *bytes = artifact(result, &size);
    CompilerAnswer answer{status,
                          bytes ? std::string(static_cast<const char *>(bytes),
                                              size)
                                : std::string(),
                          text(result), warnings(result), error(result)};
    free(result);
    return answer;
  }
};

const CompilerLibrary &compilerLibrary(const std::string &path) {
  static const CompilerLibrary library(path);
  return library;
}

} // namespace

CompilerAnswer compileModel(const std::string &libraryPath,
                            const std::string &optionsJson,
                            const std::optional<std::string> &modelBytes) {
  const CompilerLibrary &library = compilerLibrary(libraryPath);
  bsc_result *result = nullptr;
  int status = library.compile(optionsJson.c_str(),
                               modelBytes ? modelBytes->data() : nullptr,
                               modelBytes ? modelBytes->size() : 0, &result);
  return library.take(status, result);
}

CompilerAnswer exportModel(const std::string &libraryPath,
                           const std::string &optionsJson,
                           const std::string &artifactBytes) {
  const CompilerLibrary &library = compilerLibrary(libraryPath);
  bsc_result *result = nullptr;
  int status = library.exportModel(optionsJson.c_str(), artifactBytes.data(),
                                   artifactBytes.size(), &result);
  return library.take(status, result);
}
