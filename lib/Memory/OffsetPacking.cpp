// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Offset packing: greedy placement by several orders, then local search over
// orders. Pure C++ over lifetimes.

#include "bessemer/Memory/OffsetPacking.h"
#include <algorithm>
#include <array>
#include <map>
#include <numeric>

using namespace bessemer;

int64_t bessemer::livenessBound(const std::vector<BufferLifetime> &buffers) {
  std::map<int64_t, int64_t> change;
  for (const BufferLifetime &buffer : buffers) {
    change[buffer.first] += buffer.bytes;
    change[buffer.last + 1] -= buffer.bytes;
  }
  int64_t live = 0, most = 0;
  for (auto [position, bytes] : change)
    most = std::max(most, live += bytes);
  return most;
}

namespace {
using Order = std::vector<unsigned>;

enum class Fit { Lowest, Tightest };

/// Packs buffers of rounded sizes.
class Packer {
public:
  Packer(const std::vector<BufferLifetime> &given, int64_t alignment,
         int64_t goal)
      : buffers(given) {
    for (BufferLifetime &buffer : buffers)
      buffer.bytes = (buffer.bytes + alignment - 1) / alignment * alignment;
    bound = livenessBound(buffers);
    enough = std::max(bound, goal);
    best.offsets.assign(buffers.size(), 0);
    best.peak = -1;
  }

  OffsetPacking run() {
    if (bound == 0) {
      best.peak = 0;
      return best;
    }
    for (const Order &order : startOrders())
      for (Fit fit : {Fit::Lowest, Fit::Tightest})
        if (tryOrder(order, fit))
          return best;
    improve();
    return best;
  }

private:
  std::vector<Order> startOrders() const;
  OffsetPacking place(const Order &order, Fit fit);
  /// Keeps the packing when it is the best so far. True when that is enough.
  bool tryOrder(const Order &order, Fit fit);
  void improve();

  std::vector<BufferLifetime> buffers;
  int64_t bound = 0, enough = 0;
  OffsetPacking best;
  Order bestOrder;
  /// Buffers placed so far, by offset.
  std::vector<unsigned> placed;
};
} // namespace

/// Orders that put hard buffers first, for different meanings of hard.
std::vector<Order> Packer::startOrders() const {
  // How full memory is at the fullest moment of each buffer's life.
  std::map<int64_t, int64_t> change;
  for (const BufferLifetime &buffer : buffers) {
    change[buffer.first] += buffer.bytes;
    change[buffer.last + 1] -= buffer.bytes;
  }
  std::vector<std::pair<int64_t, int64_t>> live;
  for (auto [position, bytes] : change)
    live.emplace_back(position,
                      bytes + (live.empty() ? 0 : live.back().second));
  std::vector<int64_t> contention(buffers.size(), 0);
  for (size_t i = 0; i < buffers.size(); ++i) {
    auto at = std::lower_bound(live.begin(), live.end(),
                               std::make_pair(buffers[i].first, INT64_MIN));
    for (; at != live.end() && at->first <= buffers[i].last; ++at)
      contention[i] = std::max(contention[i], at->second);
  }

  auto lifetime = [&](unsigned i) {
    return buffers[i].last - buffers[i].first + 1;
  };
  using Key = std::array<int64_t, 3>;
  auto sorted = [&](auto key) {
    Order order(buffers.size());
    std::iota(order.begin(), order.end(), 0u);
    // Larger keys first; equal ones in the order given.
    std::stable_sort(order.begin(), order.end(),
                     [&](unsigned a, unsigned b) { return key(a) > key(b); });
    return order;
  };
  return {
      sorted([&](unsigned i) { return Key{buffers[i].bytes, lifetime(i), 0}; }),
      sorted([&](unsigned i) {
        return Key{contention[i], buffers[i].bytes, lifetime(i)};
      }),
      sorted([&](unsigned i) { return Key{lifetime(i), buffers[i].bytes, 0}; }),
      sorted([&](unsigned i) {
        return Key{buffers[i].bytes * lifetime(i), buffers[i].bytes, 0};
      }),
      sorted([&](unsigned i) {
        return Key{contention[i], lifetime(i), buffers[i].bytes};
      }),
      sorted([&](unsigned i) {
        return Key{-buffers[i].first, lifetime(i), buffers[i].bytes};
      }),
  };
}

OffsetPacking Packer::place(const Order &order, Fit fit) {
  OffsetPacking packing;
  packing.offsets.assign(buffers.size(), 0);
  placed.clear();
  for (unsigned i : order) {
    const BufferLifetime &buffer = buffers[i];
    if (buffer.bytes == 0)
      continue;
    // Walk the gaps between the buffers that live at the same time.
    int64_t end = 0, offset = -1, slack = INT64_MAX;
    for (unsigned other : placed) {
      if (!buffer.overlaps(buffers[other]))
        continue;
      int64_t gap = packing.offsets[other] - end;
      if (gap >= buffer.bytes && gap < slack) {
        offset = end;
        slack = gap;
        if (fit == Fit::Lowest)
          break;
      }
      end = std::max(end, packing.offsets[other] + buffers[other].bytes);
    }
    if (offset < 0)
      offset = end;
    packing.offsets[i] = offset;
    packing.peak = std::max(packing.peak, offset + buffer.bytes);
    auto at = std::upper_bound(
        placed.begin(), placed.end(), offset,
        [&](int64_t value, unsigned j) { return value < packing.offsets[j]; });
    placed.insert(at, i);
  }
  return packing;
}

bool Packer::tryOrder(const Order &order, Fit fit) {
  OffsetPacking packing = place(order, fit);
  if (best.peak < 0 || packing.peak < best.peak) {
    best = std::move(packing);
    bestOrder = order;
  }
  return best.peak <= enough;
}

/// Moves buffers that touch the peak to earlier places of the order, and now
/// and then exchanges two at random, accepting what is not worse.
void Packer::improve() {
  // One placement takes about n^2 / 2 steps: stay below a second's fraction.
  size_t count = buffers.size();
  int64_t tries = std::clamp<int64_t>(
      100'000'000 / std::max<int64_t>(1, int64_t(count) * int64_t(count)), 20,
      4000);
  uint64_t random = 0x9E3779B97F4A7C15ULL;
  auto next = [&](size_t below) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    return size_t((random >> 33) % below);
  };
  Order current = bestOrder;
  OffsetPacking packing = best;
  for (int64_t attempt = 0; attempt < tries; ++attempt) {
    Order candidate = current;
    std::vector<size_t> top;
    for (size_t at = 0; at < count; ++at) {
      unsigned i = candidate[at];
      if (packing.offsets[i] + buffers[i].bytes == packing.peak)
        top.push_back(at);
    }
    if (attempt % 3 == 2) {
      std::swap(candidate[next(count)], candidate[next(count)]);
    } else {
      size_t from = top[next(top.size())];
      size_t to = from ? next(from) : 0;
      std::rotate(candidate.begin() + to, candidate.begin() + from,
                  candidate.begin() + from + 1);
    }
    OffsetPacking moved = place(candidate, Fit::Lowest);
    if (moved.peak > packing.peak)
      continue;
    current = std::move(candidate);
    packing = std::move(moved);
    if (packing.peak < best.peak)
      best = packing;
    if (best.peak <= enough)
      return;
  }
}

OffsetPacking bessemer::packOffsets(const std::vector<BufferLifetime> &buffers,
                                    int64_t alignment, int64_t goal) {
  return Packer(buffers, alignment, goal).run();
}
