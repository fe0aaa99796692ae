// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places buffers with known lifetimes in one block of memory.

#ifndef BESSEMER_MEMORY_OFFSETPACKING_H
#define BESSEMER_MEMORY_OFFSETPACKING_H

#include <cstdint>
#include <vector>

namespace bessemer {

/// Offsets of states and buffers are multiples of this many bytes.
inline constexpr int64_t kBufferAlignment = 64;

inline constexpr int64_t alignBuffer(int64_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

/// A buffer that is live from position `first` to position `last`, both
/// included. Buffers whose lifetimes meet must not share a byte.
struct BufferLifetime {
  int64_t bytes = 0;
  int64_t first = 0;
  int64_t last = 0;

  bool overlaps(const BufferLifetime &other) const {
    return first <= other.last && other.first <= last;
  }
};

/// The most bytes that are live at one position: no packing needs less.
int64_t livenessBound(const std::vector<BufferLifetime> &buffers);

struct OffsetPacking {
  /// One per buffer, multiples of the alignment.
  std::vector<int64_t> offsets;
  /// Bytes of the block, a multiple of the alignment.
  int64_t peak = 0;
};

/// Packs with several placement orders and a bounded, deterministic local
/// search, and keeps the first packing with the lowest peak. Finding the best
/// one is NP-hard; see test/unit/Memory/OffsetPackingTest.cpp for how close
/// this comes. A packing of at most `goal` bytes is good enough: whoever asks
/// only whether there is one need not wait for the best.
OffsetPacking packOffsets(const std::vector<BufferLifetime> &buffers,
                          int64_t alignment = kBufferAlignment,
                          int64_t goal = 0);

} // namespace bessemer

#endif // BESSEMER_MEMORY_OFFSETPACKING_H
