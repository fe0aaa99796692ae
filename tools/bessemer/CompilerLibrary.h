// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// libbessemer_compiler.so, opened only when something is compiled or exported.
#pragma once

#include "Json.h"

#include "bessemer/runtime/Status.h"

#include <memory>
#include <span>
#include <string>

struct bsc_result;

namespace bessemer::tool {

/// A result of the compiler, freed with the object.
class CompilerResult {
public:
  std::span<const std::byte> artifact() const;
  std::string text() const;

private:
  friend class CompilerLibrary;
  std::shared_ptr<bsc_result> result;
};

class CompilerLibrary {
public:
  /// Looks in ../lib and . beside this program, then where the loader looks.
  /// The library stays open until the process ends.
  static runtime::Expected<const CompilerLibrary *> open();

  /// Where it was found.
  const std::string &path() const { return found; }

  /// Warnings go to stderr.
  runtime::Expected<CompilerResult> compile(const Json &options) const;
  runtime::Expected<CompilerResult>
  exportModel(const Json &options, std::span<const std::byte> artifact) const;

private:
  runtime::Expected<CompilerResult> finish(int status,
                                           bsc_result *result) const;
  std::string found;
};

/// The folder of this program.
std::string programFolder();

} // namespace bessemer::tool
