// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C API: the whole of it, its errors, and threads.
#include "TestArtifact.h"
#include "bessemer/bessemer.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <gmock/gmock.h>
#include <latch>
#include <thread>

using namespace bessemer::test;
using Type = bessemer::format::ElementType;
using testing::HasSubstr;

namespace {
/// `train_step(x) -> updates' step`: w -= rate * x.
std::string makeFile() {
  TestArtifact artifact;
  uint64_t w = artifact.addState("w", Type::f32, {16}, 1);
  artifact.addState("n", Type::i64, {}, 0);
  uint32_t apply = artifact.addKernel(applyGradient);
  auto exec = artifact.addFunction("train_step", {{"x", Type::f32, {16}}},
                                   {{"y", Type::f32, {16}}});
  exec.launch(apply, 1,
              {exec.operand(exec.slice(exec.state, w, 64)),
               exec.operand(exec.slice(exec.input(0))),
               exec.operand(exec.slice(exec.step))});
  exec.copy(exec.slice(exec.input(0)), exec.slice(exec.output(0)));
  auto setting = std::make_unique<bessemer::format::SettingT>();
  setting->key = "loss";
  setting->value = "mse";
  artifact.program.settings.push_back(std::move(setting));
  return artifact.pack();
}

struct Capi : testing::Test {
  Capi() {
    std::string file = makeFile();
    EXPECT_EQ(
        bsm_program_load_memory(file.data(), file.size(), "c.bsm", &program),
        BSM_OK);
    EXPECT_EQ(bsm_session_create(program, nullptr, 1, &session), BSM_OK);
    tensor = {x.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, &extent, nullptr, 0};
  }
  ~Capi() override {
    bsm_session_free(session);
    bsm_program_free(program);
  }
  bsm_status run(float rate = 0) {
    bsm_step step = {0, 0, 0, rate, 16};
    return bsm_session_run(session, "train_step", 1, &name, &tensor, &step);
  }
  float state() {
    DLTensor value;
    EXPECT_EQ(bsm_state_get(session, "w", &value), BSM_OK);
    return static_cast<float *>(value.data)[15];
  }

  bsm_program *program = nullptr;
  bsm_session *session = nullptr;
  std::vector<float> x = std::vector<float>(32, 2.0f);
  int64_t extent = 16;
  const char *name = "x";
  DLTensor tensor;
};
} // namespace

TEST_F(Capi, DescribesTheProgram) {
  EXPECT_EQ(bsm_program_function_count(program), 1u);
  EXPECT_STREQ(bsm_program_function_name(program, 0), "train_step");
  EXPECT_EQ(bsm_program_function_name(program, 1), nullptr);
  EXPECT_STREQ(bsm_program_setting(program, "loss"), "mse");
  EXPECT_EQ(bsm_program_setting(program, "none"), nullptr);
  EXPECT_EQ(bsm_function_input_count(program, "train_step"), 1u);
  EXPECT_EQ(bsm_function_output_count(program, "train_step"), 1u);
  EXPECT_EQ(bsm_function_input_count(program, "none"), 0u);
  const char *found;
  DLTensor type;
  ASSERT_EQ(bsm_function_input(program, "train_step", 0, &found, &type),
            BSM_OK);
  EXPECT_STREQ(found, "x");
  EXPECT_EQ(type.ndim, 1);
  EXPECT_EQ(type.shape[0], 16);
  EXPECT_EQ(type.dtype.code, kDLFloat);
  EXPECT_EQ(type.dtype.bits, 32);
  EXPECT_EQ(bsm_function_output(program, "train_step", 1, &found, &type),
            BSM_USAGE);
  EXPECT_EQ(bsm_state_count(session), 2u);
  EXPECT_STREQ(bsm_state_name(session, 1), "n");
  EXPECT_EQ(bsm_state_name(session, 2), nullptr);
}

TEST_F(Capi, DescribesStatesAndSession) {
  EXPECT_EQ(bsm_program_setting_count(program), 1u);
  EXPECT_STREQ(bsm_program_setting_key(program, 0), "loss");
  EXPECT_EQ(bsm_program_setting_key(program, 1), nullptr);
  EXPECT_EQ(bsm_program_target_count(program), 2u);
  EXPECT_STREQ(bsm_program_target(program, 0), "x86-64-v3");
  EXPECT_EQ(bsm_program_target(program, 2), nullptr);
  EXPECT_NE(bsm_program_producer(program), nullptr);
  ASSERT_EQ(bsm_program_state_count(program), 2u);
  bsm_state_info info;
  ASSERT_EQ(bsm_program_state(program, 0, &info), BSM_OK);
  EXPECT_STREQ(info.name, "w");
  EXPECT_STREQ(info.role, "parameter");
  EXPECT_EQ(info.type.shape[0], 16);
  EXPECT_EQ(info.type.data, nullptr);
  EXPECT_EQ(bsm_program_state(program, 2, &info), BSM_USAGE);
  EXPECT_STREQ(bsm_error_message(), "expected an index below 2, got 2");
  EXPECT_EQ(bsm_session_threads(session), 1);
  EXPECT_THAT(bsm_session_target(session), HasSubstr("x86-64-v"));
  bsm_memory memory;
  ASSERT_EQ(bsm_session_memory(session, &memory), BSM_OK);
  // The output; two states, each from a multiple of 64 bytes on.
  EXPECT_EQ(memory.values, 64u);
  EXPECT_EQ(memory.state, 128u);
  EXPECT_EQ(bsm_program_verify(program), BSM_OK);
}

TEST(CapiVersion, IsTheHeadersAndTheProjects) {
  std::string header = std::to_string(BSM_VERSION_MAJOR) + "." +
                       std::to_string(BSM_VERSION_MINOR) + "." +
                       std::to_string(BSM_VERSION_PATCH);
  EXPECT_EQ(header, BESSEMER_VERSION);
  EXPECT_EQ(header, bsm_version());
  unsigned major = 99, minor = 99;
  bsm_artifact_version(&major, &minor);
  EXPECT_EQ(major, bessemer::format::versionMajor);
  EXPECT_EQ(minor, bessemer::format::versionMinor);
  bsm_artifact_version(nullptr, nullptr);
}

TEST_F(Capi, RunsAndReadsResults) {
  ASSERT_EQ(run(0.25f), BSM_OK) << bsm_error_message();
  EXPECT_EQ(state(), 0.5f);
  DLTensor y;
  ASSERT_EQ(bsm_session_output(session, "train_step", "y", &y), BSM_OK);
  EXPECT_EQ(static_cast<float *>(y.data)[3], 2.0f);
  // A program may be freed before its sessions.
  bsm_program_free(program);
  program = nullptr;
  ASSERT_EQ(run(0.25f), BSM_OK);
  EXPECT_EQ(state(), 0.0f);
}

TEST_F(Capi, TakesOffsetsAndDenseStrides) {
  x.assign(32, 0.0f);
  std::fill_n(x.begin() + 16, 16, 4.0f);
  tensor.byte_offset = 64;
  int64_t stride = 1;
  tensor.strides = &stride;
  ASSERT_EQ(run(0.25f), BSM_OK) << bsm_error_message();
  EXPECT_EQ(state(), 0.0f);
  stride = 2;
  EXPECT_EQ(run(), BSM_INVALID_INPUT);
  EXPECT_STREQ(bsm_error_message(),
               "x: expected a dense row-major tensor, got strides");
}

TEST_F(Capi, CopiesOutliveTheSession) {
  ASSERT_EQ(run(0.25f), BSM_OK);
  DLManagedTensor *y = nullptr, *w = nullptr;
  ASSERT_EQ(bsm_session_output_copy(session, "train_step", "y", &y), BSM_OK);
  ASSERT_EQ(bsm_state_copy(session, "w", &w), BSM_OK);
  bsm_session_free(session);
  session = nullptr;
  EXPECT_EQ(static_cast<float *>(y->dl_tensor.data)[15], 2.0f);
  EXPECT_EQ(static_cast<float *>(w->dl_tensor.data)[15], 0.5f);
  EXPECT_EQ(w->dl_tensor.shape[0], 16);
  y->deleter(y);
  w->deleter(w);
}

TEST_F(Capi, ResetsState) {
  ASSERT_EQ(run(0.25f), BSM_OK);
  ASSERT_EQ(bsm_session_reset(session), BSM_OK);
  EXPECT_EQ(state(), 1.0f);
}

TEST_F(Capi, KnowsFreedAndForeignHandles) {
  bsm_session *freed = session;
  EXPECT_EQ(bsm_session_free(session), BSM_OK);
  session = nullptr;
  EXPECT_EQ(bsm_session_free(freed), BSM_USAGE);
  EXPECT_STREQ(bsm_error_message(),
               "session: expected a handle, got one that is not live; was it "
               "freed?");
  EXPECT_EQ(bsm_session_run(freed, "train_step", 1, &name, &tensor, nullptr),
            BSM_USAGE);
  EXPECT_EQ(bsm_state_count(freed), 0u);
  EXPECT_EQ(bsm_state_name(freed, 0), nullptr);
  EXPECT_EQ(bsm_session_threads(freed), 0);
  EXPECT_EQ(bsm_session_target(freed), nullptr);
  EXPECT_EQ(bsm_program_free(reinterpret_cast<bsm_program *>(freed)),
            BSM_USAGE);
  // A null handle is an error, except to free.
  EXPECT_EQ(bsm_session_reset(nullptr), BSM_USAGE);
  EXPECT_STREQ(bsm_error_message(), "session: expected a handle, got NULL");
  EXPECT_EQ(bsm_session_free(nullptr), BSM_OK);
  EXPECT_EQ(bsm_program_free(nullptr), BSM_OK);
}

TEST_F(Capi, NamesTheNullArgument) {
  DLTensor value;
  const char *found;
  auto message = [](bsm_status status) {
    EXPECT_EQ(status, BSM_USAGE);
    return std::string(bsm_error_message());
  };
  auto null = [](const char *what) {
    return std::string(what) + ": expected a pointer, got NULL";
  };
  EXPECT_EQ(message(bsm_program_load("x.bsm", nullptr)), null("program"));
  EXPECT_EQ(message(bsm_session_create(program, "cpu", 1, nullptr)),
            null("session"));
  EXPECT_EQ(
      message(bsm_session_run(session, nullptr, 0, nullptr, nullptr, nullptr)),
      null("function"));
  EXPECT_EQ(message(bsm_session_run(session, "train_step", 1, nullptr, &tensor,
                                    nullptr)),
            null("input_names"));
  EXPECT_EQ(message(bsm_session_run(session, "train_step", 1, &name, nullptr,
                                    nullptr)),
            null("inputs"));
  const char *none = nullptr;
  EXPECT_EQ(message(bsm_session_run(session, "train_step", 1, &none, &tensor,
                                    nullptr)),
            "input_names: expected a name, got NULL at 0");
  EXPECT_EQ(message(bsm_session_output(session, "train_step", "y", nullptr)),
            null("output"));
  EXPECT_EQ(message(bsm_session_output(session, nullptr, "y", &value)),
            null("function"));
  EXPECT_EQ(message(bsm_state_get(session, nullptr, &value)), null("name"));
  EXPECT_EQ(message(bsm_state_set(session, "w", nullptr)), null("value"));
  EXPECT_EQ(message(bsm_session_save(session, nullptr)), null("directory"));
  EXPECT_EQ(
      message(bsm_function_input(program, "train_step", 0, &found, nullptr)),
      null("type"));
  EXPECT_EQ(message(bsm_session_memory(session, nullptr)), null("memory"));
}

TEST_F(Capi, RefusesTensorsThatDoNotFit) {
  auto message = [&](bsm_status expected) {
    EXPECT_EQ(run(), expected);
    return std::string(bsm_error_message());
  };
  extent = 15;
  EXPECT_THAT(message(BSM_INVALID_INPUT),
              HasSubstr("expected f32[16], got f32[15]"));
  extent = -16;
  EXPECT_THAT(message(BSM_INVALID_INPUT), HasSubstr("got f32[-16]"));
  extent = 16;
  tensor.ndim = 70000;
  EXPECT_EQ(message(BSM_INVALID_INPUT),
            "x: expected 0 to 64 dimensions, got 70000");
  tensor.ndim = -1;
  EXPECT_THAT(message(BSM_INVALID_INPUT), HasSubstr("got -1"));
  tensor.ndim = 1;
  tensor.shape = nullptr;
  EXPECT_EQ(message(BSM_INVALID_INPUT), "x: expected a shape, got NULL");
  tensor.shape = &extent;
  tensor.data = nullptr;
  EXPECT_THAT(message(BSM_INVALID_INPUT), HasSubstr("its data is null"));
  EXPECT_EQ(state(), 1.0f);
}

TEST_F(Capi, OneThreadAtATimeInASession) {
  std::atomic<bool> stop{false};
  std::atomic<int> refused{0}, done{0};
  auto call = [&] {
    while (!stop) {
      bsm_step step = {0, 0, 0, 0, 16};
      bsm_status status =
          bsm_session_run(session, "train_step", 1, &name, &tensor, &step);
      if (status == BSM_OK) {
        ++done;
      } else {
        EXPECT_EQ(status, BSM_USAGE);
        EXPECT_STREQ(bsm_error_message(),
                     "session: another thread is using it");
        ++refused;
      }
    }
  };
  std::thread a(call), b(call);
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while ((refused == 0 || done == 0) && std::chrono::steady_clock::now() < end)
    std::this_thread::yield();
  stop = true;
  a.join();
  b.join();
  EXPECT_GT(done, 0);
  EXPECT_GT(refused, 0);
}

TEST_F(Capi, SessionsOfOneProgramRunAtOnce) {
  constexpr int count = 4, steps = 200;
  std::latch start(count);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      // Loading code and hashing blobs happens at once, too.
      bsm_session *own = nullptr;
      ASSERT_EQ(bsm_session_create(program, "cpu", 1 + i % 2, &own), BSM_OK);
      std::vector<float> data(16, float(i + 1));
      DLTensor input = tensor;
      input.data = data.data();
      // Powers of two: exact in f32.
      bsm_step step = {0, 0, 0, 0.0625f, 16};
      for (; step.step < steps; ++step.step)
        ASSERT_EQ(bsm_session_run(own, "train_step", 1, &name, &input, &step),
                  BSM_OK);
      DLTensor value;
      ASSERT_EQ(bsm_state_get(own, "w", &value), BSM_OK);
      EXPECT_EQ(static_cast<float *>(value.data)[7],
                1.0f - float(i + 1) * 0.0625f * steps);
      EXPECT_EQ(bsm_session_free(own), BSM_OK);
    });
  for (std::thread &thread : threads)
    thread.join();
  // This session took no part.
  EXPECT_EQ(state(), 1.0f);
}

TEST_F(Capi, SetsAndSavesState) {
  ASSERT_EQ(bsm_state_set(session, "w", &tensor), BSM_OK);
  EXPECT_EQ(state(), 2.0f);
  auto directory = std::filesystem::temp_directory_path() /
                   ("bessemer_capi_test_" + std::to_string(::getpid()));
  ASSERT_EQ(bsm_session_save(session, directory.c_str()), BSM_OK)
      << bsm_error_message();
  std::fill(x.begin(), x.end(), 9.0f);
  ASSERT_EQ(bsm_state_set(session, "w", &tensor), BSM_OK);
  ASSERT_EQ(bsm_session_load(session, directory.c_str()), BSM_OK)
      << bsm_error_message();
  EXPECT_EQ(state(), 2.0f);

  // Another optimizer's program: "n" is a moment of it that the file lacks.
  TestArtifact artifact;
  artifact.addState("w", Type::f32, {16}, 1);
  artifact.addState("n2", Type::f32, {16}, 5);
  artifact.program.states[1]->role = bessemer::format::StateRole::moment;
  artifact.addState("n", Type::i64, {}, 3);
  artifact.program.states[2]->role = bessemer::format::StateRole::counter;
  std::string file = artifact.pack();
  bsm_program *other = nullptr;
  bsm_session *weights = nullptr;
  ASSERT_EQ(bsm_program_load_memory(file.data(), file.size(), "o.bsm", &other),
            BSM_OK);
  ASSERT_EQ(bsm_session_create(other, "cpu", 1, &weights), BSM_OK);
  EXPECT_EQ(bsm_session_load(weights, directory.c_str()), BSM_INVALID_INPUT);
  EXPECT_THAT(bsm_error_message(), HasSubstr("state 'n2' is missing"));
  EXPECT_EQ(bsm_session_load_weights(weights, nullptr), BSM_USAGE);
  ASSERT_EQ(bsm_session_load_weights(weights, directory.c_str()), BSM_OK)
      << bsm_error_message();
  DLTensor value;
  ASSERT_EQ(bsm_state_get(weights, "w", &value), BSM_OK);
  EXPECT_EQ(static_cast<float *>(value.data)[15], 2.0f);
  ASSERT_EQ(bsm_state_get(weights, "n2", &value), BSM_OK);
  EXPECT_EQ(static_cast<float *>(value.data)[15], 5.0f);
  ASSERT_EQ(bsm_state_get(weights, "n", &value), BSM_OK);
  EXPECT_EQ(*static_cast<int64_t *>(value.data), 3);
  EXPECT_EQ(bsm_session_free(weights), BSM_OK);
  EXPECT_EQ(bsm_program_free(other), BSM_OK);

  std::filesystem::remove_all(directory);
  EXPECT_EQ(bsm_session_load(session, directory.c_str()), BSM_INVALID_INPUT);
  for (auto call : {bsm_session_load, bsm_session_load_weights})
    EXPECT_EQ(call(session, ""), BSM_INVALID_INPUT);
  EXPECT_EQ(bsm_session_save(session, ""), BSM_INVALID_INPUT);
  EXPECT_STREQ(bsm_error_message(),
               "expected a directory for the checkpoint, got an empty name");
}

TEST_F(Capi, ReportsErrors) {
  bsm_program *none = nullptr;
  EXPECT_EQ(bsm_program_load("/nowhere.bsm", &none), BSM_INVALID_INPUT);
  EXPECT_THAT(bsm_error_message(), HasSubstr("/nowhere.bsm: cannot open"));
  EXPECT_EQ(bsm_program_load(nullptr, &none), BSM_USAGE);
  EXPECT_EQ(none, nullptr);
  bsm_session *other = nullptr;
  EXPECT_EQ(bsm_session_create(program, "cuda", 0, &other), BSM_USAGE);
  EXPECT_EQ(bsm_session_create(nullptr, "cpu", 0, &other), BSM_USAGE);
  EXPECT_EQ(other, nullptr);
  tensor.device.device_type = kDLCUDA;
  EXPECT_EQ(run(), BSM_INVALID_INPUT);
  EXPECT_THAT(bsm_error_message(), HasSubstr("on device type 2"));
  tensor.device.device_type = kDLCPU;
  tensor.dtype.lanes = 4;
  EXPECT_EQ(run(), BSM_INVALID_INPUT);
  EXPECT_THAT(bsm_error_message(), HasSubstr("unknown element type"));
  tensor.dtype = {kDLInt, 32, 1};
  EXPECT_EQ(run(), BSM_INVALID_INPUT);
  EXPECT_THAT(bsm_error_message(), HasSubstr("expected f32[16], got i32[16]"));
  EXPECT_EQ(
      bsm_session_run(session, "train_step", 0, nullptr, nullptr, nullptr),
      BSM_INVALID_INPUT);
  EXPECT_THAT(bsm_error_message(), HasSubstr("input 'x' (f32[16]) is missing"));
  // Another thread's errors are its own.
  std::thread([] { EXPECT_STREQ(bsm_error_message(), ""); }).join();
  bsm_program_free(nullptr);
  bsm_session_free(nullptr);
}
