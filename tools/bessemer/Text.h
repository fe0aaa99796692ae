// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace bessemer::tool {

/// Four significant digits.
std::string shortNumber(double value);
/// "512 B", "12.3 kB", "45.6 MB".
std::string byteText(uint64_t bytes);
/// "12:05" or "1:02:03".
std::string durationText(double seconds);

} // namespace bessemer::tool
