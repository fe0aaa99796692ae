// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shadow memory against an array of bytes.

#include "bessemer/Memory/ShadowMemory.h"
#include "gtest/gtest.h"
#include <array>
#include <random>

using namespace bessemer;

TEST(ShadowMemory, StartsUnwritten) {
  auto segments = ShadowMemory().read(3, 9);
  ASSERT_EQ(segments.size(), 1u);
  EXPECT_EQ(segments[0].begin, 3);
  EXPECT_EQ(segments[0].end, 9);
  EXPECT_EQ(segments[0].tag, ShadowMemory::kUnwritten);
}

TEST(ShadowMemory, AWriteInTheMiddleSplits) {
  ShadowMemory memory;
  memory.write(0, 100, 1);
  memory.write(40, 60, 2);
  auto segments = memory.read(30, 70);
  ASSERT_EQ(segments.size(), 3u);
  EXPECT_EQ(segments[0].tag, 1);
  EXPECT_EQ(segments[1].tag, 2);
  EXPECT_EQ(segments[1].begin, 40);
  EXPECT_EQ(segments[1].end, 60);
  EXPECT_EQ(segments[2].tag, 1);
}

TEST(ShadowMemory, EqualsAnArray) {
  std::mt19937 random(1);
  constexpr int64_t size = 64;
  for (int round = 0; round < 200; ++round) {
    ShadowMemory memory;
    std::array<int64_t, size> bytes;
    bytes.fill(ShadowMemory::kUnwritten);
    for (int64_t step = 0; step < 30; ++step) {
      int64_t begin = random() % size;
      int64_t end = begin + random() % (size - begin + 1);
      if (random() % 3) {
        memory.write(begin, end, step);
        std::fill(bytes.begin() + begin, bytes.begin() + end, step);
        continue;
      }
      int64_t at = begin;
      for (const ShadowMemory::Segment &segment : memory.read(begin, end)) {
        ASSERT_EQ(segment.begin, at);
        for (; at < segment.end; ++at)
          ASSERT_EQ(bytes[at], segment.tag);
      }
      ASSERT_EQ(at, end);
    }
  }
}
