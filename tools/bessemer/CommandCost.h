// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What one command is called, moves and computes.
#pragma once

#include <optional>
#include <string>

namespace bessemer::format {
struct Command;
struct Program;
} // namespace bessemer::format

namespace bessemer::tool {

struct CommandCost {
  /// The kernel, or the operation of a library.
  std::string name;
  /// Bytes of its operands, each counted once.
  double bytes = 0;
  /// Multiplications and additions, where they are known.
  std::optional<double> operations;
};

CommandCost costOf(const format::Command &command,
                   const format::Program &table);

} // namespace bessemer::tool
