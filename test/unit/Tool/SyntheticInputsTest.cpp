// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is drawn for an input.
#include "SyntheticInputs.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace bessemer::runtime;
using bessemer::tool::SyntheticInputs;

static std::vector<int64_t> draw(std::vector<ValueRange> ranges,
                                 std::optional<int64_t> below) {
  FunctionInfo function{
      "predict", {{"ids", {ElementType::I64, {200}}, std::move(ranges)}}, {}};
  SyntheticInputs inputs(function, below);
  auto values = inputs.tensors()[0].tensor.elements<int64_t>();
  return {values.begin(), values.end()};
}

static ValueRange range(int64_t least, int64_t most) {
  return {"an index", least, most, {}, -1, 0, 0};
}

TEST(SyntheticInputs, StayWithinAllRanges) {
  auto within = [](const std::vector<int64_t> &values, int64_t most) {
    for (int64_t value : values)
      if (value < 0 || value > most)
        return false;
    return std::find(values.begin(), values.end(), most) != values.end();
  };
  EXPECT_TRUE(within(draw({}, std::nullopt), 1));
  EXPECT_TRUE(within(draw({range(-8, 7), range(0, 4)}, std::nullopt), 4));
  EXPECT_TRUE(within(draw({range(-8, 7)}, 3), 2));
  // Nothing is above the largest integer.
  EXPECT_TRUE(within(draw({range(0, INT64_MAX), range(-8, 7)}, {}), 7));
  for (int64_t value : draw({range(INT64_MIN, INT64_MAX)}, std::nullopt))
    EXPECT_GE(value, 0);
}
