// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CompilerLibrary.h"

#include "bessemer/CompilerSymbols.h"

#include <cstdio>
#include <filesystem>
#include <sstream>
#include <unistd.h>

namespace bessemer::tool {

using runtime::Expected;
using runtime::Status;
using runtime::StatusCode;

namespace {

constexpr const char *libraryName = "libbessemer_compiler.so";

CompilerSymbols symbols;

} // namespace

std::string programFolder() {
  std::error_code error;
  std::filesystem::path self =
      std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "." : self.parent_path().string();
}

std::span<const std::byte> CompilerResult::artifact() const {
  size_t size = 0;
  const void *bytes = symbols.artifact(result.get(), &size);
  return {static_cast<const std::byte *>(bytes), bytes ? size : 0};
}

std::string CompilerResult::text() const { return symbols.text(result.get()); }

Expected<const CompilerLibrary *> CompilerLibrary::open() {
  static CompilerLibrary library;
  if (!library.found.empty())
    return &library;
  std::string folder = programFolder(), reason;
  for (std::string path :
       {folder + "/../lib/" + libraryName, folder + "/" + libraryName,
        std::string(libraryName)}) {
    bool named = path.find('/') != std::string::npos;
    if (named && ::access(path.c_str(), F_OK) != 0)
      continue;
    if (!symbols.open(path, reason)) {
      if (named) // It is there and broken: say why, look no further.
        break;
      continue;
    }
    library.found =
        named ? std::filesystem::weakly_canonical(path).string() : path;
    return &library;
  }
  return Status::invalidInput("compiling and exporting need " +
                              std::string(libraryName) +
                              ", which cannot be opened: " + reason);
}

Expected<CompilerResult> CompilerLibrary::finish(int status,
                                                 bsc_result *result) const {
  CompilerResult owned;
  owned.result = {result, [](bsc_result *r) {
                    if (r)
                      symbols.free(r);
                  }};
  if (!result)
    return Status::internal("the compiler gave no result");
  std::istringstream warnings(symbols.warnings(result));
  for (std::string line; std::getline(warnings, line);)
    std::fprintf(stderr, "warning: %s\n", line.c_str());
  if (status == BSC_OK)
    return owned;
  std::string message = symbols.error(result);
  while (message.ends_with('\n'))
    message.pop_back();
  if (message.empty())
    message = "the compiler failed without a message";
  auto code = status == BSC_INPUT_ERROR   ? StatusCode::InvalidInput
              : status == BSC_USAGE_ERROR ? StatusCode::Usage
                                          : StatusCode::Internal;
  return Status(code, std::move(message));
}

/// The options as the compiler takes them. Paths and names are bytes to the
/// system, JSON is text.
static Expected<std::string> textOf(const Json &options) {
  for (const auto &[key, value] : options.items())
    try {
      (void)value.dump();
    } catch (const Json::type_error &) {
      return Status::usage(key + ": expected text in UTF-8, got " +
                           printable(value));
    }
  return options.dump();
}

Expected<CompilerResult> CompilerLibrary::compile(const Json &options) const {
  Expected<std::string> text = textOf(options);
  if (!text)
    return text.status();
  bsc_result *result = nullptr;
  int status = symbols.compile(text->c_str(), nullptr, 0, &result);
  return finish(status, result);
}

Expected<CompilerResult>
CompilerLibrary::exportModel(const Json &options,
                             std::span<const std::byte> artifact) const {
  Expected<std::string> text = textOf(options);
  if (!text)
    return text.status();
  bsc_result *result = nullptr;
  int status = symbols.exportModel(text->c_str(), artifact.data(),
                                   artifact.size(), &result);
  return finish(status, result);
}

} // namespace bessemer::tool
