// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "OutputPath.h"

#include <filesystem>

namespace bessemer::tool {

namespace fs = std::filesystem;

/// Whether two paths are one file; not when one of them is not there.
static bool isSame(const fs::path &a, const fs::path &b) {
  std::error_code ignored;
  return fs::is_regular_file(a, ignored) && fs::equivalent(a, b, ignored);
}

Status checkOutputPath(const Arguments &arguments,
                       std::span<const std::string> inputs) {
  const std::string output = *arguments.text("output");
  for (const std::string &input : inputs) {
    bool isRead = isSame(output, input);
    std::error_code ignored;
    if (fs::is_directory(input, ignored))
      for (fs::recursive_directory_iterator at(input, ignored), end;
           !ignored && !isRead && at != end; at.increment(ignored))
        isRead =
            at->path().extension() != ".onnx" && isSame(output, at->path());
    if (isRead)
      return Status::usage(arguments.origin("output") +
                           ": expected another file than the input " + input +
                           ", got " + output);
  }
  return {};
}

} // namespace bessemer::tool
