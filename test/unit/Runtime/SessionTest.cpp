// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sessions: commands, state, threads, floating-point mode, wrong calls.
#include "CountAllocations.h"
#include "TestArtifact.h"

#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <gmock/gmock.h>
#include <numeric>
#include <set>
#include <thread>

using namespace bessemer::test;
using namespace bessemer::runtime;
using bessemer::format::Slice;
using Type = bessemer::format::ElementType;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {
constexpr int64_t count = 16 * 100;
const std::vector<int64_t> shape = {100, 16};

/// `train_step(x, b) -> y`: y = 2 x + b through work memory, p -= rate * x.
TestArtifact smallArtifact() {
  TestArtifact artifact;
  std::vector<float> initial(count);
  std::iota(initial.begin(), initial.end(), 0.0f);
  uint64_t p =
      artifact.addState("p", Type::f32, shape, 0, artifact.addBlob(initial));
  uint32_t add = artifact.addKernel(scaleAdd);
  uint32_t apply = artifact.addKernel(applyGradient);
  auto exec = artifact.addFunction(
      "train_step", {{"x", Type::f32, shape}, {"b", Type::f32, shape}},
      {{"y", Type::f32, shape}});
  uint32_t work = exec.addWork(count * 4);
  exec.launch(add, 100,
              {exec.operand(exec.slice(exec.input(0))),
               exec.operand(exec.slice(exec.input(1))),
               exec.immediate(std::bit_cast<uint32_t>(2.0f)),
               exec.operand(exec.slice(work))});
  exec.copy(exec.slice(work), exec.slice(exec.output(0)));
  exec.launch(apply, 100,
              {exec.operand(exec.slice(exec.state, p, count * 4)),
               exec.operand(exec.slice(exec.input(0))),
               exec.operand(exec.slice(exec.step))});
  return artifact;
}

std::vector<float> ramp(float scale) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = scale * float(i % 37 - 18);
  return values;
}
} // namespace

class SessionThreads : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, SessionThreads, testing::Values(1, 2, 5));

TEST_P(SessionThreads, LaunchesAndCopies) {
  auto session = smallArtifact().session(GetParam());
  EXPECT_EQ(session->threads(), GetParam());
  auto x = ramp(0.5f), b = ramp(3);
  NamedTensor inputs[] = {{"b", view(b, shape)}, {"x", view(x, shape)}};
  StepBlock step;
  step.learningRate = 0.25f;
  for (int call = 1; call <= 3; ++call) {
    ASSERT_TRUE(session->run("train_step", inputs, step).ok());
    auto y = session->output("train_step", "y")->elements<float>();
    auto p = session->readState("p")->elements<float>();
    for (int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(y[i], 2 * x[i] + b[i]);
      // Eighths of small integers: exact in f32, whatever the order.
      ASSERT_EQ(p[i], float(i) - float(call) * 0.25f * x[i]);
    }
  }
}

TEST(Session, RunAllocatesNothing) {
  auto session = smallArtifact().session(2);
  auto x = ramp(0.5f), b = ramp(3);
  NamedTensor inputs[] = {{"x", view(x, shape)}, {"b", view(b, shape)}};
  ASSERT_TRUE(session->run("train_step", inputs, {}).ok());
  size_t before = allocationCount();
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(session->run("train_step", inputs, {}).ok());
  EXPECT_EQ(allocationCount(), before);
}

TEST(Session, ProfilesEachCommandOnRequest) {
  auto session = smallArtifact().session(2);
  auto x = ramp(0.5f), b = ramp(3);
  NamedTensor inputs[] = {{"x", view(x, shape)}, {"b", view(b, shape)}};
  ASSERT_TRUE(session->run("train_step", inputs, {}).ok());
  EXPECT_EQ(session->commandTimes("train_step")->size(), 0u);
  session->startProfile();
  size_t before = allocationCount();
  auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE(session->run("train_step", inputs, {}).ok());
  std::chrono::duration<double> whole =
      std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(allocationCount(), before);
  double sum = 0;
  auto times = *session->commandTimes("train_step");
  ASSERT_EQ(times.size(), 3u); // launch, copy, launch
  for (const CommandTime &time : times) {
    EXPECT_EQ(time.calls, 5u);
    EXPECT_GT(time.seconds, 0);
    sum += time.seconds;
  }
  EXPECT_LE(sum, whole.count());
  session->startProfile();
  EXPECT_EQ((*session->commandTimes("train_step"))[0].calls, 0u);
  EXPECT_FALSE(session->commandTimes("nothing"));
}

TEST(Session, UsesInputsWhereTheyLieAndCopiesMisalignedOnes) {
  TestArtifact artifact;
  uint32_t kernel = artifact.addKernel(scaleAdd);
  auto exec = artifact.addFunction(
      "predict", {{"x", Type::f32, {16}}, {"b", Type::f32, {16}}},
      {{"y", Type::f32, {16}}});
  exec.launch(kernel, 1,
              {exec.operand(exec.slice(exec.input(0))),
               exec.operand(exec.slice(exec.input(1))),
               exec.immediate(std::bit_cast<uint32_t>(1.0f)),
               exec.operand(exec.slice(exec.output(0)))});
  auto session = artifact.session();
  uint64_t values = session->memory().values;
  EXPECT_EQ(values, 64u);
  // Aligned to the element but to nothing more.
  std::vector<float> buffer(17, 1.0f), b(16, 2.0f);
  int64_t extent = 16;
  NamedTensor inputs[] = {
      {"x", {ElementType::F32, {&extent, 1}, buffer.data() + 1}},
      {"b", {ElementType::F32, {&extent, 1}, b.data()}}};
  ASSERT_TRUE(session->run("predict", inputs, {}).ok());
  EXPECT_EQ(session->memory().values, values);
  EXPECT_EQ(session->output("predict", "y")->elements<float>()[15], 3.0f);

  std::vector<char> odd(65);
  std::fill_n(buffer.begin(), 17, 5.0f);
  std::memcpy(odd.data() + 1, buffer.data(), 64);
  inputs[0].tensor.data = odd.data() + 1;
  ASSERT_TRUE(session->run("predict", inputs, {}).ok());
  EXPECT_EQ(session->memory().values, values + 64);
  EXPECT_EQ(session->output("predict", "y")->elements<float>()[15], 7.0f);
}

TEST(Session, Fills) {
  TestArtifact artifact;
  auto exec = artifact.addFunction("predict", {}, {{"y", Type::u8, {64}}});
  uint32_t y = exec.output(0);
  exec.fill(exec.slice(y, 0, 8), 0x7f, 1);
  exec.fill(exec.slice(y, 8, 8), 0x1234, 2);
  exec.fill(exec.slice(y, 16, 16), std::bit_cast<uint32_t>(-1.5f), 4);
  exec.fill(exec.slice(y, 32, 16), uint64_t(-2), 8);
  exec.fill(exec.slice(y, 48, 16), 0, 8);
  // Overlapping slices of one arena.
  exec.copy(exec.slice(y, 0, 8), exec.slice(y, 4, 8));
  auto session = artifact.session();
  ASSERT_TRUE(session->run("predict", {}, {}).ok());
  const auto *bytes =
      static_cast<const char *>(session->output("predict", "y")->data);
  auto at = [&]<typename T>(int offset, T) {
    T value;
    std::memcpy(&value, bytes + offset, sizeof(T));
    return value;
  };
  EXPECT_EQ(at(8, uint32_t()), 0x7f7f7f7fu);
  EXPECT_EQ(at(14, uint16_t()), 0x1234);
  EXPECT_EQ(at(16, float()), -1.5f);
  EXPECT_EQ(at(28, float()), -1.5f);
  EXPECT_EQ(at(40, int64_t()), -2);
  EXPECT_EQ(at(56, int64_t()), 0);
}

TEST(Session, HandsTheStepBlockToKernels) {
  TestArtifact artifact;
  artifact.addState("updates", Type::i64, {}, 5);
  uint32_t kernel = artifact.addKernel(addStep);
  auto exec = artifact.addFunction("eval_step", {}, {{"y", Type::i64, {2}}});
  exec.launch(kernel, 1,
              {exec.operand(exec.slice(exec.state, 0, 8)),
               exec.operand(exec.slice(exec.step)),
               exec.operand(exec.slice(exec.output(0)))});
  auto session = artifact.session(2);
  StepBlock step;
  step.step = 11;
  step.seed = 77;
  step.validRows = 3;
  ASSERT_TRUE(session->run("eval_step", {}, step).ok());
  ASSERT_TRUE(session->run("eval_step", {}, step).ok());
  EXPECT_THAT(session->output("eval_step", "y")->elements<int64_t>(),
              ElementsAre(11, 77));
  EXPECT_EQ(session->readState("updates")->elements<int64_t>()[0], 11);
}

TEST(Session, GivesEachThreadItsAlignedScratch) {
  TestArtifact artifact;
  constexpr uint64_t bytes = 1000;
  uint32_t kernel = artifact.addKernel(reportScratch, bytes);
  auto exec = artifact.addFunction("predict", {}, {{"y", Type::u64, {4096}}});
  exec.launch(
      kernel, 4096,
      {exec.operand(exec.slice(exec.output(0))), exec.immediate(bytes)});
  auto session = artifact.session(3);
  EXPECT_EQ(session->memory().kernelScratch, 3 * bytes);
  ASSERT_TRUE(session->run("predict", {}, {}).ok());
  std::set<uint64_t> addresses;
  for (uint64_t address :
       session->output("predict", "y")->elements<uint64_t>()) {
    ASSERT_NE(address, 0u) << "a tile did not run";
    addresses.insert(address);
  }
  EXPECT_LE(addresses.size(), 3u);
  uint64_t previous = 0;
  for (uint64_t address : addresses) {
    EXPECT_EQ(address % 64, 0u);
    EXPECT_GE(address, previous + (previous ? bytes : 0));
    previous = address;
  }
}

namespace {
/// Products of two floats on 64 tiles, whose exact value is denormal.
std::vector<float> denormalProducts(bool strict) {
  TestArtifact artifact;
  if (strict) {
    auto setting = std::make_unique<bessemer::format::SettingT>();
    setting->key = "strict";
    setting->value = "true";
    artifact.program.settings.push_back(std::move(setting));
  }
  uint32_t kernel = artifact.addKernel(multiplyOne);
  auto exec = artifact.addFunction("predict",
                                   {{"a", Type::f32, {}}, {"b", Type::f32, {}}},
                                   {{"y", Type::f32, {64}}});
  exec.launch(kernel, 64,
              {exec.operand(exec.slice(exec.input(0))),
               exec.operand(exec.slice(exec.input(1))),
               exec.operand(exec.slice(exec.output(0)))});
  auto session = artifact.session(2);
  std::vector<float> a = {1e-30f}, b = {1e-10f};
  NamedTensor inputs[] = {{"a", view(a, {})}, {"b", view(b, {})}};
  EXPECT_TRUE(session->run("predict", inputs, {}).ok());
  auto y = session->output("predict", "y")->elements<float>();
  return {y.begin(), y.end()};
}
} // namespace

TEST(Session, FlushesDenormalsInsideRunsOnly) {
  EXPECT_THAT(denormalProducts(false), testing::Each(0.0f));
  volatile float a = 1e-30f, b = 1e-10f;
  EXPECT_GT(a * b, 0.0f) << "the caller's mode was not restored";
  EXPECT_THAT(denormalProducts(true), testing::Each(testing::Gt(0.0f)));
}

TEST(Session, ReadsAndWritesState) {
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
TEST(Session, ShowsLaidOutStatesRowMajor) {
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
TEST(Session, TakesItsOwnStatesAndResultsAsInputs) {
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

TEST(Session, ReadsConstants) {
  TestArtifact artifact;
  std::vector<float> table(16, 4.0f);
  int64_t blob = artifact.addBlob(table);
  auto exec = artifact.addFunction("predict", {}, {{"y", Type::f32, {8}}});
  uint32_t constant = exec.addConstant(blob, 64);
  exec.copy(exec.slice(constant, 32, 32), exec.slice(exec.output(0)));
  auto session = artifact.session();
  ASSERT_TRUE(session->run("predict", {}, {}).ok());
  EXPECT_THAT(session->output("predict", "y")->elements<float>(),
              testing::Each(4.0f));
}

TEST(Session, ReportsMemory) {
  auto session = smallArtifact().session();
  const MemoryReport &memory = session->memory();
  EXPECT_EQ(memory.state, uint64_t(count * 4));
  EXPECT_EQ(memory.work, uint64_t(count * 4));
  EXPECT_EQ(memory.values, uint64_t(count * 4));
  EXPECT_EQ(memory.libraryScratch, 0u);
  EXPECT_EQ(memory.total(), uint64_t(3 * count * 4));
  EXPECT_EQ(session->library(), "");
}

TEST(Session, SessionsOfOneProgramRunAtOnce) {
  auto program = smallArtifact().load();
  auto x = ramp(0.5f), b = ramp(3);
  std::vector<std::thread> workers;
  std::atomic<int> wrong{0};
  for (int w = 0; w < 4; ++w)
    workers.emplace_back([&] {
      auto session = Session::create(program, {"cpu", 2});
      NamedTensor inputs[] = {{"x", view(x, shape)}, {"b", view(b, shape)}};
      StepBlock step;
      step.learningRate = 0.25f;
      for (int i = 0; i < 50; ++i)
        if (!(*session)->run("train_step", inputs, step).ok())
          ++wrong;
      auto p = (*session)->readState("p")->elements<float>();
      for (int64_t i = 0; i < count; ++i)
        wrong += p[i] != float(i) - 50 * 0.25f * x[i];
    });
  for (std::thread &worker : workers)
    worker.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Session, RefusesWrongCalls) {
  auto session = smallArtifact().session();
  auto x = ramp(1);
  std::vector<double> doubles(count);
  auto run = [&](std::vector<NamedTensor> inputs,
                 const char *function = "train_step") {
    Status status = session->run(function, inputs, {});
    EXPECT_EQ(status.code(), StatusCode::InvalidInput);
    return status.message();
  };
  NamedTensor good{"x", view(x, shape)}, other{"b", view(x, shape)};
  EXPECT_THAT(run({good}), HasSubstr("test.bsm: train_step: input 'b' "
                                     "(f32[100x16]) is missing"));
  EXPECT_THAT(run({good, good, other}), HasSubstr("'x' is given twice"));
  EXPECT_THAT(run({good, other, {"z", view(x, shape)}}),
              HasSubstr("there is no input 'z'; expected x, b"));
  std::vector<int64_t> transposed = {16, 100}, flat = {count};
  EXPECT_THAT(run({good, {"b", view(x, transposed)}}),
              HasSubstr("input 'b': expected f32[100x16], got f32[16x100]"));
  EXPECT_THAT(run({good, {"b", view(x, flat)}}), HasSubstr("got f32[1600]"));
  EXPECT_THAT(run({good, {"b", view(doubles, shape)}}),
              HasSubstr("got f64[100x16]"));
  EXPECT_THAT(run({good, {"b", {ElementType::F32, shape, nullptr}}}),
              HasSubstr("its data is null"));
  EXPECT_THAT(run({good, other}, "train"),
              HasSubstr("expected a function of train_step, got 'train'"));
  EXPECT_THAT(session->output("train_step", "z").status().message(),
              HasSubstr("there is no output 'z'; expected y"));
}

TEST(Session, RefusesIntegersOutsideOfTheirRanges) {
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
TEST(Session, ChecksRangesOfMisalignedInputs) {
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

TEST(Session, ChoosesTheTarget) {
  auto artifact = smallArtifact();
  EXPECT_EQ(artifact.session(1, "cpu:x86-64-v3")->target(), "x86-64-v3");
  auto program = artifact.load();
  auto refused = [&](const char *device, int threads = 1) {
    auto session = Session::create(program, {device, threads});
    EXPECT_EQ(session.status().code(), StatusCode::Usage) << device;
    return session.status().message();
  };
  EXPECT_THAT(refused("cuda:0"),
              HasSubstr("device: expected cpu or cpu:TARGET, got cuda:0"));
  EXPECT_THAT(refused("cpu:z80"), HasSubstr("got cpu:z80"));
  EXPECT_THAT(refused("cpu:"), HasSubstr("got cpu:"));
  EXPECT_THAT(refused("cpu", -1), HasSubstr("threads: expected 0 to"));

  auto onlyV3 = smallArtifact();
  onlyV3.program.code[1]->target = "x86-64-v9";
  std::string bytes = onlyV3.pack();
  EXPECT_FALSE(Program::fromBytes(asBytes(bytes)).ok())
      << "a target without programs must be refused";
}
