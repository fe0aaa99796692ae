// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Text.h"

#include <algorithm>
#include <cstdio>

namespace bessemer::tool {

std::string shortNumber(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string byteText(uint64_t bytes) {
  char text[32];
  if (bytes < 10'000)
    std::snprintf(text, sizeof text, "%lu B",
                  static_cast<unsigned long>(bytes));
  else if (bytes < 10'000'000)
    std::snprintf(text, sizeof text, "%.1f kB",
                  static_cast<double>(bytes) / 1e3);
  else
    std::snprintf(text, sizeof text, "%.1f MB",
                  static_cast<double>(bytes) / 1e6);
  return text;
}

std::string durationText(double seconds) {
  long total = static_cast<long>(std::max(seconds, 0.0) + 0.5);
  char text[32];
  if (total >= 3600)
    std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", total / 3600,
                  total / 60 % 60, total % 60);
  else
    std::snprintf(text, sizeof text, "%ld:%02ld", total / 60, total % 60);
  return text;
}

} // namespace bessemer::tool
