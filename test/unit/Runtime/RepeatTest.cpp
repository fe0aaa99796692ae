// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops: slices that move with the iteration, loops in loops, and the loader's
// checks of both.
#include "CountAllocations.h"
#include "TestArtifact.h"

#include <bit>
#include <gmock/gmock.h>

using namespace bessemer::test;
using namespace bessemer::runtime;
namespace format = bessemer::format;
using Type = format::ElementType;
using testing::HasSubstr;

namespace {
constexpr int64_t row = 16, rowBytes = row * 4;
constexpr int64_t outer = 3, inner = 4;
const std::vector<int64_t> stack = {outer, inner, row};

/// Commands of a loop's body, built like those of a program.
template <typename Body>
format::RepeatT repeatOf(uint64_t count, const Body &body) {
  format::ExecProgramT commands;
  ExecBuilder builder(commands);
  builder.inputs = 1;
  body(builder);
  format::RepeatT repeat;
  repeat.count = count;
  repeat.commands = std::move(commands.commands);
  return repeat;
}

/// Gives the number of a list of strides.
uint32_t addStrides(format::ExecProgramT &exec, std::vector<int64_t> bytes) {
  exec.strides.push_back(std::make_unique<format::StridesT>());
  exec.strides.back()->bytes = std::move(bytes);
  return exec.strides.size();
}

/// `sums(x) -> y, total`: for each i the running sums of the rows x[i, j] from
/// the last j to the first; y[i, j] is the sum at that point, `total` goes on
/// through all i.
TestArtifact sumsArtifact() {
  TestArtifact artifact;
  uint32_t add = artifact.addKernel(scaleAdd);
  auto exec = artifact.addFunction(
      "sums", {{"x", Type::f32, stack}},
      {{"y", Type::f32, stack}, {"total", Type::f32, {row}}});
  uint32_t sum = exec.addWork(rowBytes);
  uint32_t x = exec.input(0), y = exec.output(0), total = exec.output(1);
  uint32_t down = addStrides(exec.exec, {inner * rowBytes, -rowBytes});
  auto moving = [&](uint32_t arena) {
    return format::Slice(arena, down, (inner - 1) * rowBytes, rowBytes);
  };
  auto one = std::bit_cast<uint32_t>(1.0f);
  exec.fill(exec.slice(total), 0);
  exec.command(repeatOf(outer, [&](ExecBuilder &body) {
    body.fill(format::Slice(sum, 0, 0, rowBytes), 0);
    body.command(repeatOf(inner, [&](ExecBuilder &deep) {
      format::Slice whole(sum, 0, 0, rowBytes);
      deep.launch(add, 1,
                  {deep.operand(moving(x)), deep.operand(whole),
                   deep.immediate(one), deep.operand(whole)});
      deep.copy(whole, moving(y));
    }));
    body.launch(add, 1,
                {body.operand(format::Slice(sum, 0, 0, rowBytes)),
                 body.operand(format::Slice(total, 0, 0, rowBytes)),
                 body.immediate(one),
                 body.operand(format::Slice(total, 0, 0, rowBytes))});
  }));
  return artifact;
}

class Repeat : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, Repeat, testing::Values(1, 2));
} // namespace

TEST_P(Repeat, MovesSlicesInLoopsOfLoops) {
  auto session = sumsArtifact().session(GetParam());
  std::vector<float> x(outer * inner * row);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i % 23) - 11;
  NamedTensor inputs[] = {{"x", view(x, stack)}};
  session->startProfile();
  // Slots must be where they were for the second call.
  for (int call = 0; call < 2; ++call) {
    size_t before = allocationCount();
    ASSERT_TRUE(session->run("sums", inputs, {}).ok());
    EXPECT_EQ(allocationCount(), before);
    auto y = session->output("sums", "y")->elements<float>();
    auto total = session->output("sums", "total")->elements<float>();
    for (int64_t k = 0; k < row; ++k) {
      float all = 0;
      for (int64_t i = 0; i < outer; ++i) {
        float sum = 0;
        for (int64_t j = inner - 1; j >= 0; --j) {
          int64_t at = (i * inner + j) * row + k;
          sum += x[at];
          ASSERT_EQ(y[at], sum) << i << ", " << j << ", " << k;
        }
        all += sum;
      }
      ASSERT_EQ(total[k], all);
    }
  }
  // fill, repeat, fill, repeat, launch, copy, launch, in two calls.
  auto times = *session->commandTimes("sums");
  std::vector<uint64_t> calls;
  for (const CommandTime &time : times)
    calls.push_back(time.calls);
  EXPECT_THAT(calls, testing::ElementsAre(2, 2, 6, 6, 24, 24, 6));
}

TEST(RepeatLoader, RefusesWhatLeavesItsArena) {
  auto error = [](uint64_t count, std::vector<int64_t> strides,
                  uint64_t offset = 0, uint32_t number = 1) {
    TestArtifact artifact;
    auto exec = artifact.addFunction("f", {{"x", Type::f32, {4, row}}},
                                     {{"y", Type::f32, {row}}});
    addStrides(exec.exec, strides);
    uint32_t x = exec.input(0), y = exec.output(0);
    exec.command(repeatOf(count,
                          [&](ExecBuilder &body) {
                            body.copy(
                                format::Slice(x, number, offset, rowBytes),
                                format::Slice(y, 0, 0, rowBytes));
                          }),
                 "steps");
    std::string bytes = artifact.pack();
    return Program::fromBytes(asBytes(bytes), "m.bsm").status().message();
  };
  EXPECT_EQ(error(4, {rowBytes}), "");
  EXPECT_EQ(error(4, {-rowBytes}, 3 * rowBytes), "");
  EXPECT_THAT(
      error(5, {rowBytes}),
      HasSubstr("command 0 ('steps'), command 0 ('a copy'), source: "
                "expected a slice that stays in arena 2 (256 bytes) in all "
                "iterations, got one that leaves it"));
  EXPECT_THAT(error(4, {-rowBytes}, 2 * rowBytes), HasSubstr("leaves it"));
  EXPECT_THAT(error(uint64_t(1) << 31, {int64_t(1) << 47}),
              HasSubstr("leaves it"));
  EXPECT_THAT(error(2, {std::numeric_limits<int64_t>::min()}),
              HasSubstr("expected strides of at most 2^47 bytes"));
  EXPECT_THAT(error(4, {rowBytes, 4}),
              HasSubstr("expected at most 1 strides, one per enclosing repeat, "
                        "got 2"));
  EXPECT_THAT(error(4, {rowBytes}, 0, 2),
              HasSubstr("expected strides of at most 1, got 2"));
  EXPECT_THAT(error(0, {rowBytes}),
              HasSubstr("repeat: expected a count of 1 to 2^31, got 0"));
  EXPECT_THAT(error((uint64_t(1) << 31) + 1, {0}), HasSubstr("got 2147483649"));
}

TEST(RepeatLoader, RefusesDeepNesting) {
  TestArtifact artifact;
  auto exec = artifact.addFunction("f", {}, {{"y", Type::f32, {row}}});
  uint32_t y = exec.output(0);
  format::RepeatT repeat = repeatOf(1, [&](ExecBuilder &body) {
    body.fill(format::Slice(y, 0, 0, rowBytes), 0);
  });
  for (int depth = 1; depth < 9; ++depth)
    repeat = repeatOf(
        1, [&](ExecBuilder &body) { body.command(std::move(repeat)); });
  exec.command(std::move(repeat));
  std::string bytes = artifact.pack();
  EXPECT_THAT(Program::fromBytes(asBytes(bytes), "m.bsm").status().message(),
              HasSubstr("repeat: expected at most 8 loops in each other"));
}
