// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A subcommand: its flags and what runs it. Each has a file of its own.
#pragma once

#include "Flags.h"

namespace bessemer::tool {

struct FlagGroup {
  const char *title;
  std::span<const Flag> flags;
};

struct Subcommand {
  const char *name;
  const char *summary;
  /// Shown at the end of --help.
  const char *example;
  /// Name of the positional word, e.g. "MODEL"; null for none.
  const char *positional;
  const char *positionalHelp;
  std::vector<FlagGroup> groups;
  /// Returns the exit status.
  Expected<int> (*run)(const Arguments &);

  /// Null when there is no such flag.
  const Flag *find(std::string_view name) const;
};

const Subcommand &compileCommand();
const Subcommand &trainCommand();
const Subcommand &runCommand();
const Subcommand &evalCommand();
const Subcommand &inspectCommand();
const Subcommand &exportCommand();
const Subcommand &profileCommand();
const Subcommand &doctorCommand();

/// In the order of the help.
std::span<const Subcommand *const> allSubcommands();

} // namespace bessemer::tool
