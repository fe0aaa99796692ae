// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Damaged files: an error or the same result, never a crash.
#include "TestArtifact.h"

#include <bit>
#include <cstring>
#include <optional>

using namespace bessemer::test;
using namespace bessemer::runtime;
using bessemer::format::ArtifactPrefix;
using Type = bessemer::format::ElementType;

namespace {
/// A small artifact with one of everything that a run reads.
std::string makeFile() {
  TestArtifact artifact;
  std::vector<float> numbers(16, 3.0f);
  uint64_t w =
      artifact.addState("w", Type::f32, {16}, 0, artifact.addBlob(numbers));
  artifact.addState("n", Type::i64, {}, 7);
  int64_t table = artifact.addBlob(numbers);
  uint32_t kernel = artifact.addKernel(scaleAdd);
  auto exec = artifact.addFunction("predict", {{"x", Type::f32, {16}}},
                                   {{"y", Type::f32, {16}}});
  uint32_t work = exec.addWork(64), constant = exec.addConstant(table, 64);
  exec.fill(exec.slice(work), 0);
  exec.copy(exec.slice(constant), exec.slice(work));
  exec.launch(kernel, 1,
              {exec.operand(exec.slice(exec.input(0))),
               exec.operand(exec.slice(work)),
               exec.immediate(std::bit_cast<uint32_t>(2.0f)),
               exec.operand(exec.slice(exec.output(0)))});
  exec.launch(kernel, 1,
              {exec.operand(exec.slice(exec.output(0))),
               exec.operand(exec.slice(exec.state, w, 64)),
               exec.immediate(std::bit_cast<uint32_t>(1.0f)),
               exec.operand(exec.slice(exec.output(0)))});
  bessemer::format::ConvolutionT conv;
  conv.x = conv.w = conv.y = {1, 1, 1, 1};
  conv.strides = conv.dilations = {1, 1};
  conv.pads = {0, 0, 0, 0};
  exec.convolution(conv, {exec.slice(exec.output(0), 0, 4),
                          exec.slice(constant, 0, 4), exec.slice(work, 0, 4)});
  return artifact.pack();
}

/// Loads and runs; the result, or nothing when there was one clear error.
std::optional<std::vector<float>> use(const std::string &bytes) {
  auto check = [](const Status &status) {
    EXPECT_FALSE(status.message().empty());
    EXPECT_EQ(status.message().find('\n'), std::string::npos);
  };
  auto program = Program::fromBytes(asBytes(bytes), "damaged.bsm");
  if (!program) {
    check(program.status());
    EXPECT_EQ(program.status().message().find("damaged.bsm: "), 0u)
        << program.status().message();
    return std::nullopt;
  }
  auto session = Session::create(*program, {"cpu", 1});
  if (!session) {
    check(session.status());
    return std::nullopt;
  }
  std::vector<float> x(16, 5.0f);
  std::vector<int64_t> shape = {16};
  NamedTensor inputs[] = {{"x", view(x, shape)}};
  if (Status status = (*session)->run("predict", inputs, {}); !status.ok()) {
    check(status);
    return std::nullopt;
  }
  auto y = (*session)->output("predict", "y")->elements<float>();
  auto w = (*session)->readState("w")->elements<float>();
  std::vector<float> result(y.begin(), y.end());
  result.insert(result.end(), w.begin(), w.end());
  result.push_back(float((*session)->readState("n")->elements<int64_t>()[0]));
  return result;
}

std::vector<float> intactResult() {
  // 5 * 2 + 3, then plus w.
  std::vector<float> result(16, 16.0f);
  result.insert(result.end(), 16, 3.0f);
  result.push_back(7);
  return result;
}
} // namespace

TEST(Damage, TheIntactFileRuns) {
  if (auto library = convolutionLibrary(); !library)
    GTEST_SKIP() << library.status().message();
  auto result = use(makeFile());
  ASSERT_TRUE(result);
  EXPECT_EQ(*result, intactResult());
}

TEST(Damage, EveryTruncationIsAnError) {
  std::string file = makeFile();
  for (size_t size = 0; size < file.size(); size += 16)
    EXPECT_FALSE(use(file.substr(0, size))) << size;
  EXPECT_FALSE(use(file.substr(0, file.size() - 1)));
}

TEST(Damage, EveryFlippedByteIsAnErrorOrChangesNothing) {
  std::string file = makeFile();
  const auto intact = intactResult();
  for (size_t i = 0; i < file.size(); ++i)
    for (unsigned char flip : {0x01, 0x80, 0xff}) {
      std::string damaged = file;
      damaged[i] = char(damaged[i] ^ flip);
      auto result = use(damaged);
      ASSERT_EQ(result.value_or(intact), intact) << "byte " << i;
    }
}

// A table whose hash was made to fit shows what the checks behind the hash
// hold back; what loads then is not run, as its kernels are what it says.
TEST(Damage, FlippedBytesUnderAFittingHashNeverCrashTheLoader) {
  std::string file = makeFile();
  ArtifactPrefix prefix;
  std::memcpy(&prefix, file.data(), sizeof(prefix));
  size_t refused = 0;
  for (size_t i = 0; i < prefix.tableBytes; ++i)
    for (unsigned char flip : {0x01, 0x10, 0x80, 0xff}) {
      std::string damaged = file;
      char *table = damaged.data() + sizeof(prefix);
      table[i] = char(table[i] ^ flip);
      ArtifactPrefix forged = prefix;
      forged.tableHash = bessemer::format::hash64(table, prefix.tableBytes);
      std::memcpy(damaged.data(), &forged, sizeof(forged));
      auto program = Program::fromBytes(asBytes(damaged), "forged.bsm");
      refused += !program.ok();
    }
  EXPECT_GT(refused, prefix.tableBytes);
}

TEST(Damage, TruncatedTablesUnderAFittingHashNeverCrashTheLoader) {
  std::string file = makeFile();
  ArtifactPrefix prefix;
  std::memcpy(&prefix, file.data(), sizeof(prefix));
  for (size_t size = 0; size < prefix.tableBytes; ++size) {
    std::string damaged = file;
    ArtifactPrefix forged = prefix;
    forged.tableBytes = size;
    forged.tableHash =
        bessemer::format::hash64(damaged.data() + sizeof(prefix), size);
    std::memcpy(damaged.data(), &forged, sizeof(forged));
    (void)use(damaged.substr(0, sizeof(prefix) + size));
    EXPECT_FALSE(Program::fromBytes(asBytes(damaged)).ok());
  }
}
