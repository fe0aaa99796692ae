// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Mutants of an artifact whose hash fits, so that they get to the checks behind
// it: each is loaded or refused with one line, and a session of one that loads
// can be made. Their kernels are what the file says, so none is run.
#include "../Random.h"
#include "TestArtifact.h"

#include <bit>
#include <chrono>
#include <cstring>

using namespace bessemer::test;
using namespace bessemer::runtime;
using bessemer::format::ArtifactPrefix;
using Type = bessemer::format::ElementType;

namespace {

/// One of every kind of command, arena, state and blob.
std::string makeFile() {
  TestArtifact artifact;
  std::vector<float> numbers(64, 3.0f);
  uint64_t w =
      artifact.addState("w", Type::f32, {4, 16}, 0, artifact.addBlob(numbers));
  artifact.addState("n", Type::i64, {}, 7);
  artifact.addState("blocks", Type::f32, {16, 32, 1, 1}, 1);
  artifact.program.states.back()->layout = "OIhw16i16o";
  int64_t table = artifact.addBlob(numbers);
  uint32_t kernel = artifact.addKernel(scaleAdd, 128);
  for (const char *name : {"predict", "train_step"}) {
    auto exec = artifact.addFunction(
        name, {{"x", Type::f32, {64}}, {"labels", Type::i64, {4}}},
        {{"y", Type::f32, {64}}});
    uint32_t work = exec.addWork(256), constant = exec.addConstant(table, 256);
    exec.fill(exec.slice(work), 0);
    exec.copy(exec.slice(constant), exec.slice(work));
    exec.launch(kernel, 4,
                {exec.operand(exec.slice(exec.input(0))),
                 exec.operand(exec.slice(exec.state, w, 256)),
                 exec.immediate(std::bit_cast<uint32_t>(2.0f)),
                 exec.operand(exec.slice(exec.output(0)))});
    bessemer::format::ConvolutionT conv;
    conv.x = {1, 1, 4, 4};
    conv.w = {1, 1, 1, 1};
    conv.y = {1, 1, 4, 4};
    conv.strides = conv.dilations = {1, 1};
    conv.pads = {0, 0, 0, 0};
    exec.convolution(conv, {exec.slice(work, 0, 64), exec.slice(constant, 0, 4),
                            exec.slice(exec.output(0), 0, 64)});
  }
  return artifact.pack();
}

/// Numbers that break sizes, and those of offsets and enumerators nearby.
uint64_t oddNumber(Random &random) {
  static constexpr uint64_t numbers[] = {0,
                                         1,
                                         2,
                                         3,
                                         4,
                                         7,
                                         8,
                                         16,
                                         63,
                                         64,
                                         255,
                                         256,
                                         1u << 16,
                                         0x7fffffff,
                                         0x80000000,
                                         0xffffffff,
                                         1ull << 32,
                                         1ull << 40,
                                         1ull << 62,
                                         INT64_MAX,
                                         1ull << 63,
                                         uint64_t(-1),
                                         uint64_t(-2),
                                         uint64_t(-64)};
  return numbers[below(random, std::size(numbers))];
}

void mutate(std::string &table, Random &random) {
  if (table.size() < 16)
    return;
  const size_t width = size_t(1) << below(random, 4);
  const size_t places = table.size() / width;
  char *at = table.data() + below(random, places) * width;
  switch (below(random, 5)) {
  case 0:
    *at = static_cast<char>(random());
    return;
  case 1: {
    // The word of another place.
    std::memmove(at, table.data() + below(random, places) * width, width);
    return;
  }
  case 2: {
    uint64_t word = 0;
    std::memcpy(&word, at, width);
    word += below(random, 2) ? 1 : uint64_t(-1);
    std::memcpy(at, &word, width);
    return;
  }
  default: {
    uint64_t word = oddNumber(random);
    std::memcpy(at, &word, width);
  }
  }
}

/// The file with another table under a hash that fits; blobs stay in place.
std::string withTable(const std::string &file, const std::string &table) {
  ArtifactPrefix prefix;
  std::memcpy(&prefix, file.data(), sizeof(prefix));
  std::string forged = file;
  forged.replace(sizeof(prefix), table.size(), table);
  prefix.tableHash = bessemer::format::hash64(table.data(), table.size());
  std::memcpy(forged.data(), &prefix, sizeof(prefix));
  return forged;
}

/// A forged file may ask for any memory; then making a session proves nothing.
bool isSmall(const Program &program) {
  constexpr uint64_t most = 1 << 20;
  const auto &table = program.table();
  if (table.state_bytes() > most)
    return false;
  for (const auto *exec : *table.programs())
    for (unsigned i = 0; exec->arenas() && i < exec->arenas()->size(); ++i)
      if (exec->arenas()->Get(i)->bytes() > most)
        return false;
  for (unsigned i = 0; table.kernels() && i < table.kernels()->size(); ++i)
    for (uint64_t bytes : *table.kernels()->Get(i)->scratch())
      if (bytes > most)
        return false;
  return true;
}

void expectOneLine(const Status &status) {
  EXPECT_FALSE(status.message().empty());
  EXPECT_EQ(status.message().find('\n'), std::string::npos) << status.message();
}

} // namespace

TEST(ArtifactFuzz, EveryMutantIsLoadedOrRefused) {
  const std::string file = makeFile();
  ArtifactPrefix prefix;
  std::memcpy(&prefix, file.data(), sizeof(prefix));
  const std::string intact = file.substr(sizeof(prefix), prefix.tableBytes);
  ASSERT_TRUE(Program::fromBytes(asBytes(withTable(file, intact))).ok());
  int loaded = 0, total = 2000;
  for (int round = 0; round < total; ++round) {
    SCOPED_TRACE(round);
    Random random(static_cast<unsigned>(round));
    std::string table = intact;
    for (size_t i = 0, end = 1 + below(random, 4); i < end; ++i)
      mutate(table, random);
    auto begin = std::chrono::steady_clock::now();
    auto program =
        Program::fromBytes(asBytes(withTable(file, table)), "forged.bsm");
    if (!program) {
      expectOneLine(program.status());
      EXPECT_EQ(program.status().message().find("forged.bsm: "), 0u)
          << program.status().message();
    } else {
      ++loaded;
      (void)(*program)->verifyBlobs();
      if (isSmall(**program))
        if (auto session = Session::create(*program, {"cpu", 1}); !session)
          expectOneLine(session.status());
    }
    std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - begin;
    EXPECT_LT(seconds.count(), 5);
  }
  // Otherwise only the first check would be tested.
  EXPECT_GT(loaded, total / 20);
  EXPECT_LT(loaded, total * 9 / 10);
}
