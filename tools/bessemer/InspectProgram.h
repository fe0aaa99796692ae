// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An artifact as JSON: what `inspect --json` prints, and what its text is made
// of.
#pragma once

#include "bessemer/runtime/Program.h"

#include <nlohmann/json.hpp>

namespace bessemer::tool {

/// Keys: program, producer, bytes, settings, functions, states, memory (one
/// entry per function and target), kernels, code.
nlohmann::ordered_json describeProgram(const runtime::Program &program);

} // namespace bessemer::tool
