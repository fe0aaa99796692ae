// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers as people read them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace bessemer::tool {

/// Four significant digits.
std::string shortNumber(double value);
/// "512 B", "12.3 kB", "45.6 MB".
std::string byteText(uint64_t bytes);
/// "12:05" or "1:02:03".
std::string durationText(double seconds);

/// The known name that takes the fewest edits (insertions, removals and
/// replacements of a letter) to get from `name`, the first of them; empty when
/// there is none with fewer edits than letters.
std::string nearestName(std::string_view name,
                        std::span<const std::string_view> known);

} // namespace bessemer::tool
