// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order of an epoch.
#include "bessemer/runtime/BatchLoader.h"
#include "data/Philox.h"

#include <numeric>
#include <utility>

namespace bessemer::runtime {

std::vector<int64_t> shuffledRows(int64_t rows, uint64_t seed, uint64_t epoch) {
  std::vector<int64_t> order(static_cast<size_t>(rows));
  std::iota(order.begin(), order.end(), int64_t(0));
  for (uint64_t i = order.size(); i > 1; --i) {
    auto bits = data::philox4x32({uint32_t(i), uint32_t(i >> 32),
                                  uint32_t(epoch), uint32_t(epoch >> 32)},
                                 {uint32_t(seed), uint32_t(seed >> 32)});
    uint64_t random = uint64_t(bits[1]) << 32 | bits[0];
    // The high half of the product is uniform in [0, i) up to i / 2^64.
    uint64_t j =
        static_cast<uint64_t>(static_cast<unsigned __int128>(random) * i >> 64);
    std::swap(order[i - 1], order[j]);
  }
  return order;
}

} // namespace bessemer::runtime
