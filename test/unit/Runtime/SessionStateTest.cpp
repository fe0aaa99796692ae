// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// States of a session: read, written, reset, turned where kernels want another
// layout.
#include "CountAllocations.h"
#include "TestArtifact.h"

#include <gmock/gmock.h>
#include <numeric>

using namespace bessemer::test;
using namespace bessemer::runtime;
using Type = bessemer::format::ElementType;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(SessionState, ReadsAndWritesState) {
  TestArtifact artifact;
  artifact.addState("w", Type::f32, {2, 2}, 0.5);
  artifact.addState("n", Type::i64, {}, -1);
  artifact.addState("h", Type::bf16, {2}, 1.0);
  artifact.addState("g", Type::f16, {2}, -2.5);
  artifact.addState("c", Type::boolean, {3}, 1);
  artifact.addFunction("predict", {}, {});
  auto session = artifact.session();
  EXPECT_THAT(session->stateNames(), ElementsAre("w", "n", "h", "g", "c"));
  EXPECT_THAT(session->readState("w")->elements<float>(), testing::Each(0.5f));
  EXPECT_EQ(session->readState("n")->elements<int64_t>()[0], -1);
  EXPECT_EQ(session->readState("h")->elements<uint16_t>()[1], 0x3f80);
  EXPECT_EQ(session->readState("g")->elements<uint16_t>()[1], 0xc100);
  EXPECT_EQ(session->readState("c")->elements<uint8_t>()[2], 1);

  std::vector<float> w = {1, 2, 3, 4};
  ASSERT_TRUE(session->writeState("w", view(w, {2, 2})).ok());
  EXPECT_THAT(session->readState("w")->elements<float>(),
              ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(session->writeState("w", view(w, {4})).message(),
              HasSubstr("state 'w': expected f32[2x2], got f32[4]"));
  EXPECT_THAT(session->writeState("v", view(w, {4})).message(),
              HasSubstr("there is no state 'v'"));
  EXPECT_FALSE(session->readState("v").ok());
  ASSERT_TRUE(session->resetState().ok());
  EXPECT_EQ(session->readState("w")->elements<float>()[3], 0.5f);
}

// Functions that copy a state as it lies, out and in.
TEST(SessionState, ShowsLaidOutStatesRowMajor) {
  const std::vector<int64_t> weights = {32, 48, 2, 3};
  const int64_t size = 32 * 48 * 2 * 3;
  std::vector<float> initial(size), blocked(size), other(size);
  std::iota(initial.begin(), initial.end(), 0.0f);
  // [2, 3, 2, 3, 16 of i, 16 of o], by the strides of the two orders.
  for (int64_t i = 0; i < size; ++i)
    blocked[i] = initial[(i / 4608 * 16 + i % 16) * 288 +
                         (i / 1536 % 3 * 16 + i / 16 % 16) * 6 + i / 256 % 6];
  EXPECT_EQ(blocked[1], 288.0f);
  EXPECT_EQ(blocked[16], 6.0f);
  EXPECT_EQ(blocked[256], 1.0f);

  TestArtifact artifact;
  artifact.addState("n", Type::i64, {}, 3);
  uint64_t w =
      artifact.addState("w", Type::f32, weights, 0, artifact.addBlob(initial));
  artifact.program.states[1]->layout = "OIhw16i16o";
  auto out = artifact.addFunction("out", {}, {{"y", Type::f32, {size}}});
  out.copy(out.slice(out.state, w, size * 4), out.slice(out.output(0)));
  auto in = artifact.addFunction("in", {{"x", Type::f32, {size}}}, {});
  in.copy(in.slice(in.input(0)), in.slice(in.state, w, size * 4));

  auto session = artifact.session();
  auto state = [&] {
    auto elements = session->readState("w")->elements<float>();
    return std::vector<float>(elements.begin(), elements.end());
  };
  auto asItLies = [&] {
    EXPECT_TRUE(session->run("out", {}, {}).ok());
    auto elements = session->output("out", "y")->elements<float>();
    return std::vector<float>(elements.begin(), elements.end());
  };
  EXPECT_EQ(state(), initial);
  for (int call = 0; call < 2; ++call) {
    EXPECT_EQ(asItLies(), blocked);
    EXPECT_EQ(state(), initial);
    EXPECT_EQ(state(), initial);
  }
  ASSERT_TRUE(session->writeState("w", view(blocked, weights)).ok());
  EXPECT_EQ(state(), blocked);
  EXPECT_NE(asItLies(), blocked);
  EXPECT_EQ(state(), blocked);

  std::vector<int64_t> flat = {size};
  NamedTensor inputs[] = {{"x", view(blocked, flat)}};
  ASSERT_TRUE(session->run("in", inputs, {}).ok());
  EXPECT_EQ(state(), initial);
  ASSERT_TRUE(session->writeState("w", view(other, weights)).ok());
  ASSERT_TRUE(session->resetState().ok());
  EXPECT_EQ(asItLies(), blocked);
  size_t before = allocationCount();
  ASSERT_TRUE(session->readState("w").ok());
  ASSERT_TRUE(session->run("out", {}, {}).ok());
  EXPECT_EQ(allocationCount(), before);
}

// A state that is turned, or written, and a result under the next run's input.
TEST(SessionState, TakesItsOwnStatesAndResultsAsInputs) {
  const std::vector<int64_t> weights = {16, 16, 1, 1}, flat = {256};
  std::vector<float> initial(256);
  std::iota(initial.begin(), initial.end(), 0.0f);
  TestArtifact artifact;
  artifact.addState("w", Type::f32, weights, 0, artifact.addBlob(initial));
  uint64_t v = artifact.addState("v", Type::f32, flat, 0.5);
  artifact.program.states[0]->layout = "OIhw16i16o";
  auto copies = artifact.addFunction("copies", {{"x", Type::f32, weights}},
                                     {{"y", Type::f32, weights}});
  copies.copy(copies.slice(copies.input(0)), copies.slice(copies.output(0)));
  // v becomes ones, then y is what x was, and z what y was made of before.
  auto writes = artifact.addFunction(
      "writes", {{"x", Type::f32, flat}, {"previous", Type::f32, flat}},
      {{"y", Type::f32, flat}, {"z", Type::f32, flat}});
  writes.fill(writes.slice(writes.state, v, 1024), 0x3f800000);
  writes.copy(writes.slice(writes.input(0)), writes.slice(writes.output(0)));
  writes.copy(writes.slice(writes.input(1)), writes.slice(writes.output(1)));

  auto session = artifact.session();
  auto output = [&](const char *function, const char *name) {
    auto elements = session->output(function, name)->elements<float>();
    return std::vector<float>(elements.begin(), elements.end());
  };
  // Seen row-major, and taken so.
  NamedTensor seen[] = {{"x", *session->readState("w")}};
  ASSERT_TRUE(session->run("copies", seen, {}).ok());
  EXPECT_EQ(output("copies", "y"), initial);

  NamedTensor first[] = {{"x", *session->readState("v")},
                         {"previous", view(initial, flat)}};
  ASSERT_TRUE(session->run("writes", first, {}).ok());
  EXPECT_EQ(output("writes", "y"), std::vector<float>(256, 0.5f));
  NamedTensor next[] = {{"x", view(initial, flat)},
                        {"previous", *session->output("writes", "y")}};
  ASSERT_TRUE(session->run("writes", next, {}).ok());
  EXPECT_EQ(output("writes", "z"), std::vector<float>(256, 0.5f));
  EXPECT_EQ(output("writes", "y"), initial);
}
