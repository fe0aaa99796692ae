// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// bessemer: compile, train and run models.
#include "CommandLine.h"

#include <cstdio>
#include <exception>

using namespace bessemer::tool;

static Expected<int> dispatch(int argc, char **argv) {
  Expected<ParsedLine> line = parseCommandLine(argc, argv);
  if (!line)
    return line.status();
  if (line->command)
    return line->command->run(line->arguments);
  std::fputs(line->text.c_str(), stdout);
  return 0;
}

int main(int argc, char **argv) {
  try {
    Expected<int> result = dispatch(argc, argv);
    if (result)
      return *result;
    std::fprintf(stderr, "error: %s\n", result.status().message().c_str());
    return static_cast<int>(result.status().code());
  } catch (const std::exception &exception) {
    std::fprintf(stderr, "error: bug in bessemer: %s\n", exception.what());
    return 70;
  }
}
