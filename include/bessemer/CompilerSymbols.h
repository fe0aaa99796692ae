// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of libbessemer_compiler.so, for programs that open it when
// they first compile: the command line and the Python package.

#ifndef BESSEMER_COMPILERSYMBOLS_H
#define BESSEMER_COMPILERSYMBOLS_H

#include "bessemer/bessemer_compiler.h"

#include <dlfcn.h>
#include <string>

namespace bessemer {

struct CompilerSymbols {
  decltype(&bsc_compile) compile = nullptr;
  decltype(&bsc_export) exportModel = nullptr;
  decltype(&bsc_result_artifact) artifact = nullptr;
  decltype(&bsc_result_text) text = nullptr;
  decltype(&bsc_result_warnings) warnings = nullptr;
  decltype(&bsc_result_error) error = nullptr;
  decltype(&bsc_result_free) free = nullptr;

  /// Opens the library, for as long as the process runs; says why it cannot in
  /// `problem`.
  bool open(const std::string &path, std::string &problem) {
    void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      problem = ::dlerror();
      return false;
    }
    return load(library, "bsc_compile", compile, problem) &&
           load(library, "bsc_export", exportModel, problem) &&
           load(library, "bsc_result_artifact", artifact, problem) &&
           load(library, "bsc_result_text", text, problem) &&
           load(library, "bsc_result_warnings", warnings, problem) &&
           load(library, "bsc_result_error", error, problem) &&
           load(library, "bsc_result_free", free, problem);
  }

private:
  template <typename Function>
  static bool load(void *library, const char *name, Function &function,
                   std::string &problem) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    if (!function)
      problem =
          std::string("it has no symbol ") + name + "; is it of this version?";
    return function != nullptr;
  }
};

} // namespace bessemer

#endif // BESSEMER_COMPILERSYMBOLS_H
