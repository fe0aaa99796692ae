// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which shapes of rows feed which shapes of inputs.
#include "data/BoundColumn.h"

#include <algorithm>
#include <numeric>

namespace bessemer::runtime::data {

std::optional<Layout> matchLayout(std::span<const int64_t> row,
                                  std::span<const int64_t> input) {
  auto withoutUnits = [](std::span<const int64_t> shape) {
    std::vector<int64_t> kept;
    std::copy_if(shape.begin(), shape.end(), std::back_inserter(kept),
                 [](int64_t extent) { return extent != 1; });
    return kept;
  };
  std::vector<int64_t> from = withoutUnits(row), to = withoutUnits(input);
  auto count = [](const std::vector<int64_t> &shape) {
    return std::accumulate(shape.begin(), shape.end(), int64_t(1),
                           std::multiplies<>());
  };
  if (count(from) != count(to))
    return std::nullopt;
  if (from == to || from.size() <= 1 || to.size() <= 1)
    return Layout::Same;
  // Images with the channel last; with unit dimensions kept, so that only a
  // true channel dimension moves.
  if (row.size() == input.size() && row.size() >= 3) {
    std::vector<int64_t> moved(row.begin(), row.end());
    std::rotate(moved.rbegin(), moved.rbegin() + 1, moved.rend());
    if (std::equal(moved.begin(), moved.end(), input.begin()))
      return Layout::ChannelsLastToFirst;
  }
  return std::nullopt;
}

} // namespace bessemer::runtime::data
