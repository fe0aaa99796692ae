// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C example trains an artifact from its file.
#include "TestArtifact.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <sys/wait.h>

using namespace bessemer::test;
using Type = bessemer::format::ElementType;

namespace {
struct Output {
  int status;
  std::string text;
};

Output runExample(const std::string &arguments) {
  std::string command =
      std::string(BESSEMER_TEST_EXAMPLE) + " " + arguments + " 2>&1";
  FILE *pipe = ::popen(command.c_str(), "r");
  Output output{-1, ""};
  char buffer[256];
  while (pipe && std::fgets(buffer, sizeof(buffer), pipe))
    output.text += buffer;
  output.status = WEXITSTATUS(::pclose(pipe));
  return output;
}
} // namespace

TEST(Example, TrainsFromC) {
  // loss = w[0] x[0], and w -= rate * x: the loss falls by rate * x[0]^2.
  TestArtifact artifact;
  uint64_t w = artifact.addState("w", Type::f32, {16}, 1);
  uint32_t multiply = artifact.addKernel(multiplyOne);
  uint32_t apply = artifact.addKernel(applyGradient);
  auto exec = artifact.addFunction("train_step", {{"x", Type::f32, {16}}},
                                   {{"loss", Type::f32, {}}});
  auto weights = exec.operand(exec.slice(exec.state, w, 64));
  auto x = exec.operand(exec.slice(exec.input(0)));
  exec.launch(multiply, 1,
              {weights, x, exec.operand(exec.slice(exec.output(0)))});
  exec.launch(apply, 1, {weights, x, exec.operand(exec.slice(exec.step))});
  auto path = std::filesystem::temp_directory_path() /
              ("bessemer_example_test_" + std::to_string(::getpid()) + ".bsm");
  std::ofstream(path, std::ios::binary) << artifact.pack();

  Output output = runExample(path.string() + " 3 0.5");
  EXPECT_EQ(output.status, 0) << output.text;
  float losses[3] = {};
  ASSERT_EQ(std::sscanf(output.text.c_str(),
                        "step 0: loss %f step 1: loss %f step 2: loss %f",
                        &losses[0], &losses[1], &losses[2]),
            3)
      << output.text;
  // w[0] starts at 1, so the first loss is x[0] itself.
  float fall = 0.5f * losses[0] * losses[0];
  EXPECT_GT(fall, 0);
  EXPECT_NEAR(losses[1], losses[0] - fall, 1e-5);
  EXPECT_NEAR(losses[2], losses[0] - 2 * fall, 1e-5);

  std::filesystem::resize_file(path, 40);
  output = runExample(path.string());
  EXPECT_EQ(output.status, 1);
  EXPECT_THAT(output.text, testing::HasSubstr("damaged or incomplete"));
  std::filesystem::remove(path);
  EXPECT_EQ(runExample("").status, 2);
}
