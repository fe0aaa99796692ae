// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Words to a subcommand and its arguments.
#pragma once

#include "Subcommand.h"

namespace bessemer::tool {

struct ParsedLine {
  /// Null when help or a version was asked for; it is in `text`.
  const Subcommand *command = nullptr;
  Arguments arguments;
  std::string text;
};

/// Errors are usage errors that say where help is.
Expected<ParsedLine> parseCommandLine(int argc, char **argv);

} // namespace bessemer::tool
