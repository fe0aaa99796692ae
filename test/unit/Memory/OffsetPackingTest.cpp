// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Offset packing against the liveness bound and, for small cases, against the
// optimum found by trying everything.

#include "bessemer/Memory/OffsetPacking.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <numeric>
#include <random>

using namespace bessemer;

namespace {
using Buffers = std::vector<BufferLifetime>;

/// Every packing, slid down as far as it goes, is what "each at the lowest free
/// offset" makes of some order. So the best over all orders is the optimum.
int64_t optimum(const Buffers &buffers, int64_t alignment) {
  std::vector<unsigned> order(buffers.size());
  std::iota(order.begin(), order.end(), 0u);
  int64_t best = INT64_MAX;
  do {
    std::vector<int64_t> offsets(buffers.size(), -1);
    int64_t peak = 0;
    for (unsigned i : order) {
      int64_t offset = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (unsigned j = 0; j < buffers.size(); ++j)
          if (offsets[j] >= 0 && buffers[i].overlaps(buffers[j]) &&
              offset < offsets[j] + buffers[j].bytes &&
              offsets[j] < offset + buffers[i].bytes) {
            offset = (offsets[j] + buffers[j].bytes + alignment - 1) /
                     alignment * alignment;
            moved = true;
          }
      }
      offsets[i] = offset;
      peak = std::max(peak, (offset + buffers[i].bytes + alignment - 1) /
                                alignment * alignment);
    }
    best = std::min(best, peak);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

/// The properties every packing has, whatever its quality.
void expectValid(const Buffers &buffers, const OffsetPacking &packing,
                 int64_t alignment) {
  ASSERT_EQ(packing.offsets.size(), buffers.size());
  EXPECT_EQ(packing.peak % alignment, 0);
  EXPECT_GE(packing.peak, livenessBound(buffers));
  for (size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(packing.offsets[i] % alignment, 0);
    EXPECT_GE(packing.offsets[i], 0);
    EXPECT_LE(packing.offsets[i] + buffers[i].bytes, packing.peak);
    for (size_t j = 0; j < i; ++j)
      if (buffers[i].overlaps(buffers[j])) {
        EXPECT_TRUE(packing.offsets[i] + buffers[i].bytes <=
                        packing.offsets[j] ||
                    packing.offsets[j] + buffers[j].bytes <= packing.offsets[i])
            << "buffers " << j << " and " << i << " share bytes";
      }
  }
}

OffsetPacking packAndCheck(const Buffers &buffers, int64_t alignment = 1) {
  OffsetPacking packing = packOffsets(buffers, alignment);
  expectValid(buffers, packing, alignment);
  return packing;
}

TEST(OffsetPacking, Nothing) {
  EXPECT_EQ(packAndCheck({}).peak, 0);
  EXPECT_EQ(packAndCheck({{0, 0, 5}, {0, 2, 3}}).peak, 0);
}

TEST(OffsetPacking, BoundCountsBothEndsOfALifetime) {
  // At position 2 both live; a buffer that starts at 3 meets neither.
  EXPECT_EQ(livenessBound({{10, 0, 2}, {5, 2, 2}, {12, 3, 4}}), 15);
}

TEST(OffsetPacking, ReusesMemoryOfDeadBuffers) {
  // A chain: only neighbours live together.
  EXPECT_EQ(packAndCheck({{8, 0, 1}, {8, 1, 2}, {8, 2, 3}, {8, 3, 4}}).peak,
            16);
}

TEST(OffsetPacking, RoundsToTheAlignment) {
  OffsetPacking packing = packAndCheck({{4, 0, 1}, {65, 0, 1}, {64, 0, 1}}, 64);
  EXPECT_EQ(packing.peak, 64 + 128 + 64);
}

TEST(OffsetPacking, FirstFitInProgramOrderWouldFragment) {
  // Placed in the order of time, a (2 bytes) lies below b (4); c (4, after a)
  // does not fit into a's hole, so that the block would grow to 10. With b at
  // the bottom 8 suffice, which is the bound.
  Buffers buffers = {{2, 0, 1}, {4, 0, 3}, {4, 2, 3}};
  EXPECT_EQ(livenessBound(buffers), 8);
  EXPECT_EQ(packAndCheck(buffers).peak, 8);
}

TEST(OffsetPacking, LargestFirstWouldFragment) {
  // By size: the 6 at 0; the first 4 also at 0 (it does not meet the 6), the
  // second 4 on the 6. A long thin buffer then lies on top of everything. The
  // optimum puts the thin one at the bottom.
  Buffers buffers = {{6, 4, 5}, {4, 0, 2}, {4, 2, 4}, {1, 0, 9}};
  EXPECT_EQ(packAndCheck(buffers).peak, optimum(buffers, 1));
}

TEST(OffsetPacking, SmallRandomCasesAreOptimal) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    Buffers buffers(7);
    for (BufferLifetime &buffer : buffers) {
      buffer.bytes = 1 + random() % 9;
      buffer.first = random() % 8;
      buffer.last = buffer.first + random() % 5;
    }
    EXPECT_EQ(packAndCheck(buffers).peak, optimum(buffers, 1))
        << "round " << round;
    EXPECT_EQ(packAndCheck(buffers, 4).peak, optimum(buffers, 4))
        << "round " << round;
  }
}

/// A training step of a deep network: activations live from their forward to
/// their backward position, gradients for two positions, sizes vary.
Buffers trainingStep(unsigned layers, std::mt19937 &random) {
  Buffers buffers;
  int64_t end = 2 * layers;
  for (unsigned layer = 0; layer < layers; ++layer) {
    int64_t bytes = 64 * (1 + random() % 4000);
    buffers.push_back({bytes, layer, end - layer});
    buffers.push_back({bytes, end - layer - 1, end - layer});
    buffers.push_back({64 * int64_t(1 + random() % 600), layer, layer + 1});
    buffers.push_back({64 * int64_t(1 + random() % 900), end - layer, end + 1});
  }
  return buffers;
}

TEST(OffsetPacking, TrainingStepsComeWithinFivePercentOfTheBound) {
  std::mt19937 random(11);
  for (unsigned layers : {3, 10, 30, 100, 250}) {
    Buffers buffers = trainingStep(layers, random);
    OffsetPacking packing = packAndCheck(buffers, 64);
    EXPECT_LE(packing.peak, livenessBound(buffers) * 105 / 100)
        << layers << " layers";
  }
}

TEST(OffsetPacking, StopsAtTheGoal) {
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    Buffers buffers = trainingStep(40, random);
    const int64_t best = packOffsets(buffers).peak;
    // What can be reached is, and what cannot changes nothing.
    for (int64_t goal : {best, best + best / 20, best * 2})
      EXPECT_LE(packOffsets(buffers, kBufferAlignment, goal).peak, goal);
    EXPECT_EQ(packOffsets(buffers, kBufferAlignment, best - 1).peak, best);
  }
}

TEST(OffsetPacking, IsDeterministic) {
  std::mt19937 random(3);
  Buffers buffers = trainingStep(40, random);
  EXPECT_EQ(packOffsets(buffers).offsets, packOffsets(buffers).offsets);
}
} // namespace
