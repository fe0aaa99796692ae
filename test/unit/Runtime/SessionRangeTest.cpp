// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integers outside of the ranges that a function's inputs have.
#include "TestArtifact.h"

#include <cstring>
#include <gmock/gmock.h>

using namespace bessemer::test;
using namespace bessemer::runtime;
using Type = bessemer::format::ElementType;
using testing::HasSubstr;

TEST(SessionRange, RefusesIntegersOutsideOfTheirRanges) {
  TestArtifact artifact;
  artifact.addFunction(
      "look_up", {{"ids", Type::i64, {2, 3}}, {"few", Type::i32, {2}}}, {});
  auto addRange = [&](size_t input, int64_t least, int64_t most) {
    auto range = std::make_unique<bessemer::format::ValueRangeT>();
    range->meaning = "an index";
    range->least = least;
    range->most = most;
    auto &ranges = artifact.program.functions[0]->inputs[input]->ranges;
    ranges.push_back(std::move(range));
    return ranges.back().get();
  };
  addRange(0, -10, 9);
  auto *middle = addRange(0, 0, 2);
  middle->dim = 1;
  middle->begin = 1;
  middle->end = 2;
  addRange(1, 0, 4)->exempt = {-100, 100};
  auto session = artifact.session();
  auto call = [&](std::vector<int64_t> ids, std::vector<int32_t> few) {
    std::vector<int64_t> wide = {2, 3}, short_ = {2};
    NamedTensor inputs[] = {{"ids", view(ids, wide)},
                            {"few", view(few, short_)}};
    return session->run("look_up", inputs, {}).message();
  };
  EXPECT_EQ(call({-10, 2, 9, 9, 0, -10}, {4, -100}), "");
  EXPECT_EQ(call({0, 0, 0, 0, 0, 0}, {100, 0}), "");
  EXPECT_EQ(call({0, 0, 0, 0, 0, 10}, {0, 0}),
            "test.bsm: look_up: input 'ids'[1, 2]: expected an index in "
            "[-10, 9], got 10");
  EXPECT_THAT(call({0, 0, -11, 0, 0, 0}, {0, 0}), HasSubstr("'ids'[0, 2]"));
  // Only the middle column has the second range.
  EXPECT_THAT(call({3, 2, 3, 3, 3, 3}, {0, 0}),
              HasSubstr("'ids'[1, 1]: expected an index in [0, 2], got 3"));
  EXPECT_THAT(call({0, 0, 0, 0, 0, 0}, {0, 5}),
              HasSubstr("'few'[1]: expected an index in [0, 4] or -100 or 100, "
                        "got 5"));
  EXPECT_THAT(call({INT64_MIN, 0, 0, 0, 0, 0}, {0, INT32_MIN}),
              HasSubstr(std::to_string(INT64_MIN)));

  // Any place of a long input, and any number, however far outside.
  TestArtifact large;
  large.addFunction("look_up", {{"ids", Type::i64, {37}}}, {});
  for (auto [least, most] : {std::pair<int64_t, int64_t>{-7, 5},
                             {0, INT64_MAX},
                             {INT64_MIN, 0},
                             {INT64_MIN, INT64_MAX},
                             {3, 3}}) {
    auto range = std::make_unique<bessemer::format::ValueRangeT>();
    range->meaning = "an index";
    range->least = least;
    range->most = most;
    auto &ranges = large.program.functions[0]->inputs[0]->ranges;
    ranges.clear();
    ranges.push_back(std::move(range));
    auto checked = large.session();
    for (int64_t value : {INT64_MIN, INT64_MIN + 1, int64_t(-8), int64_t(-7),
                          int64_t(-1), int64_t(0), int64_t(1), int64_t(3),
                          int64_t(5), int64_t(6), INT64_MAX - 1, INT64_MAX})
      for (size_t at : {0, 15, 16, 31, 32, 36}) {
        std::vector<int64_t> ids(37, least), all = {37};
        ids[at] = value;
        NamedTensor input = {"ids", view(ids, all)};
        bool holds = value >= least && value <= most;
        EXPECT_EQ(checked->run("look_up", {&input, 1}, {}).ok(), holds)
            << value << " in [" << least << ", " << most << "] at " << at;
      }
  }

  // Another number of rows, as before a value is split into batches.
  std::vector<int64_t> rows(12), tall = {4, 3};
  rows[10] = 7;
  EXPECT_THAT(
      session->checkRanges("look_up", {"ids", view(rows, tall)}).message(),
      HasSubstr("'ids'[3, 1]: expected an index in [0, 2], got 7"));

  // Nothing is read of a value that is no rows of the input.
  auto refusal = [&](const char *name, TensorView value) {
    return session->checkRanges("look_up", {name, value}).message();
  };
  std::vector<int64_t> narrow = {12, 1}, flat = {12}, none = {0, 3};
  std::vector<int32_t> other(12);
  EXPECT_EQ(refusal("ids", view(rows, narrow)),
            "test.bsm: look_up: input 'ids': expected i64[12x3], got "
            "i64[12x1]");
  EXPECT_THAT(refusal("ids", view(rows, flat)), HasSubstr("got i64[12]"));
  EXPECT_THAT(refusal("ids", view(other, tall)),
              HasSubstr("expected i64[4x3], got i32[4x3]"));
  EXPECT_THAT(refusal("ids", {ElementType::I64, tall, nullptr}),
              HasSubstr("'ids': its data is null"));
  EXPECT_EQ(refusal("ids", {ElementType::I64, none, nullptr}), "");
  EXPECT_THAT(refusal("idx", view(rows, tall)),
              HasSubstr("there is no input 'idx'; expected ids, few"));
}

// As the sanitizers see: integers are read wherever the caller has them.
TEST(SessionRange, ChecksRangesOfMisalignedInputs) {
  TestArtifact artifact;
  artifact.addFunction(
      "look_up", {{"wide", Type::i64, {40}}, {"narrow", Type::i32, {40}}}, {});
  for (auto &input : artifact.program.functions[0]->inputs) {
    auto range = std::make_unique<bessemer::format::ValueRangeT>();
    range->meaning = "an index";
    range->most = 9;
    input->ranges.push_back(std::move(range));
  }
  auto session = artifact.session();
  std::vector<std::byte> memory(40 * 8 + 8);
  std::vector<int64_t> extent = {40};
  std::vector<int64_t> wide(40, 9);
  std::vector<int32_t> narrow(40, 9);
  auto call = [&](size_t offset, bool isWide) {
    std::byte *odd = memory.data() + offset;
    if (isWide)
      std::memcpy(odd, wide.data(), 40 * 8);
    else
      std::memcpy(odd, narrow.data(), 40 * 4);
    NamedTensor inputs[] = {
        {"wide",
         {ElementType::I64, extent, isWide ? odd : (void *)wide.data()}},
        {"narrow",
         {ElementType::I32, extent, isWide ? (void *)narrow.data() : odd}}};
    return session->run("look_up", inputs, {}).message();
  };
  for (size_t offset : {1, 2, 3, 5, 7})
    for (size_t at : {0, 15, 33, 39}) {
      EXPECT_EQ(call(offset, true) + call(offset, false), "");
      std::string place = "[" + std::to_string(at) +
                          "]: expected an index in "
                          "[0, 9], got 10";
      wide[at] = 10;
      EXPECT_THAT(call(offset, true), HasSubstr("'wide'" + place));
      wide[at] = 9;
      narrow[at] = 10;
      EXPECT_THAT(call(offset, false), HasSubstr("'narrow'" + place));
      narrow[at] = 9;
    }
}
