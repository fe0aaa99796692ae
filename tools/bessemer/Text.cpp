// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Text.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <utility>
#include <vector>

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

/// Levenshtein's distance.
static size_t editsBetween(std::string_view from, std::string_view to) {
  std::vector<size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 0; i < from.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < to.size(); ++j) {
      size_t replaced = diagonal + (from[i] != to[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

std::string nearestName(std::string_view name,
                        std::span<const std::string_view> known) {
  std::string nearest;
  size_t fewest = name.size();
  for (std::string_view candidate : known)
    if (size_t edits = editsBetween(name, candidate); edits < fewest) {
      fewest = edits;
      nearest = candidate;
    }
  return nearest;
}

} // namespace bessemer::tool
