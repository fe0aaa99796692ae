// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler's C interface, opened when it is first needed.

#ifndef BESSEMER_PYTHON_COMPILER_H
#define BESSEMER_PYTHON_COMPILER_H

#include <optional>
#include <string>

struct CompilerAnswer {
  int status;
  std::string artifact, text, warnings, error;
};

/// Runs bsc_compile on a model file (named in the options) or its bytes.
/// Throws std::runtime_error when the compiler library cannot be opened.
CompilerAnswer compileModel(const std::string &libraryPath,
                            const std::string &optionsJson,
                            const std::optional<std::string> &modelBytes);

/// Runs bsc_export on an artifact's bytes.
CompilerAnswer exportModel(const std::string &libraryPath,
                           const std::string &optionsJson,
                           const std::string &artifactBytes);

#endif // BESSEMER_PYTHON_COMPILER_H
