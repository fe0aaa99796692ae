// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a process can still take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace bessemer::runtime {

/// Bytes that can be had without the kernel killing a process for them: memory
/// that is free or reclaimable, as far as the limits of the control groups
/// leave it, and swap. Nothing where the system does not say. `root` is where
/// /proc and /sys/fs/cgroup are.
std::optional<uint64_t> availableMemory(const std::string &root = "");

} // namespace bessemer::runtime
