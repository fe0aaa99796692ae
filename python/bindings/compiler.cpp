// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens libbessemer_compiler.so, so that importing the package loads no LLVM.

#include "compiler.h"
#include "bessemer/CompilerSymbols.h"

#include <stdexcept>

namespace {

struct CompilerLibrary {
  bessemer::CompilerSymbols symbols;

  explicit CompilerLibrary(const std::string &path) {
    std::string problem;
    if (!symbols.open(path, problem))
      throw std::runtime_error("cannot open the compiler: " + problem);
  }

  CompilerAnswer take(int status, bsc_result *result) const {
    size_t size = 0;
    const void *bytes = symbols.artifact(result, &size);
    CompilerAnswer answer{
        status,
        bytes ? std::string(static_cast<const char *>(bytes), size)
              : std::string(),
        symbols.text(result), symbols.warnings(result), symbols.error(result)};
    symbols.free(result);
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
  int status = library.symbols.compile(
      optionsJson.c_str(), modelBytes ? modelBytes->data() : nullptr,
      modelBytes ? modelBytes->size() : 0, &result);
  return library.take(status, result);
}

CompilerAnswer exportModel(const std::string &libraryPath,
                           const std::string &optionsJson,
                           const std::string &artifactBytes) {
  const CompilerLibrary &library = compilerLibrary(libraryPath);
  bsc_result *result = nullptr;
  int status = library.symbols.exportModel(
      optionsJson.c_str(), artifactBytes.data(), artifactBytes.size(), &result);
  return library.take(status, result);
}
