// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a subcommand may write.
#pragma once

#include "Flags.h"

#include <span>
#include <string>

namespace bessemer::tool {

/// Refuses an --output that is one of the files read, or a file of one of the
/// directories read; exported models there may be written again.
Status checkOutputPath(const Arguments &arguments,
                       std::span<const std::string> inputs);

} // namespace bessemer::tool
