// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/AvailableMemory.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace bessemer::runtime {

std::optional<uint64_t> availableMemory() {
  std::ifstream info("/proc/meminfo");
  std::string key, unit;
  uint64_t kilobytes = 0, sum = 0;
  bool known = false;
  while (info >> key >> kilobytes && std::getline(info, unit)) {
    known |= key == "MemAvailable:";
    if (key == "MemAvailable:" || key == "SwapFree:")
      sum += kilobytes * 1024;
  }
  if (!known)
    return std::nullopt;
  // "max" without a limit.
  uint64_t limit = 0;
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> limit)
    sum = std::min(sum, limit);
  return sum;
}

} // namespace bessemer::runtime
