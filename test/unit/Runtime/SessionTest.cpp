// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sessions: commands, threads, floating-point mode, wrong calls.
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
