// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a process can still take.
#pragma once

#include <cstdint>
#include <optional>

namespace bessemer::runtime {

/// Bytes that can be had without the kernel killing a process for them: free
/// or reclaimable memory and swap, within the limit of the control group.
/// Nothing where the system does not say.
std::optional<uint64_t> availableMemory();

} // namespace bessemer::runtime
