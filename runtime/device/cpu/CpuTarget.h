// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which of an artifact's targets this machine runs.
#pragma once

#include "bessemer/runtime/Status.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace bessemer::runtime {

/// Index into `targets` for a device like "cpu" (the best that this machine
/// can run) or "cpu:x86-64-v3" (that one).
Expected<size_t> chooseCpuTarget(std::string_view device,
                                 std::span<const std::string> targets,
                                 const std::string &programName);

} // namespace bessemer::runtime
