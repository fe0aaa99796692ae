// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which name was meant.
#include "Text.h"

#include <gtest/gtest.h>

using bessemer::tool::nearestName;

TEST(NearestName, TakesTheFewestEdits) {
  constexpr std::string_view known[] = {"lr", "loss", "batch", "betas",
                                        "weight-decay"};
  EXPECT_EQ(nearestName("los", known), "loss");
  EXPECT_EQ(nearestName("lsos", known), "loss");
  EXPECT_EQ(nearestName("batches", known), "batch");
  EXPECT_EQ(nearestName("beta", known), "betas");
  EXPECT_EQ(nearestName("wait-decay", known), "weight-decay");
  // As near to both: the first.
  EXPECT_EQ(nearestName("batas", known), "betas");
  EXPECT_EQ(nearestName("lx", known), "lr");
}

TEST(NearestName, FindsNoneWhenNothingIsAlike) {
  constexpr std::string_view known[] = {"lr", "loss"};
  EXPECT_EQ(nearestName("x", known), "");
  EXPECT_EQ(nearestName("", known), "");
  EXPECT_EQ(nearestName("abc", {}), "");
}
