// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C API: the whole of it, its errors, and threads.
#include "TestArtifact.h"
#include "bessemer/bessemer.h"

#include <filesystem>
#include <gmock/gmock.h>
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
        bsm_program_from_bytes(file.data(), file.size(), "c.bsm", &program),
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
  std::filesystem::remove_all(directory);
  EXPECT_EQ(bsm_session_load(session, directory.c_str()), BSM_INVALID_INPUT);
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
