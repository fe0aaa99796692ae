// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An artifact as JSON: what `inspect --json` prints, and what its text is made
// of.
#pragma once

#include "Json.h"

#include "bessemer/runtime/Program.h"

namespace bessemer::tool {

/// Keys: program, producer, bytes, settings, functions, states, memory (one
/// entry per function and target), kernels, code.
Json describeProgram(const runtime::Program &program);

} // namespace bessemer::tool
