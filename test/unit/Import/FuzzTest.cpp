// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Damaged models through the importer: each is imported or refused with a
// message; none crashes, hangs or throws. Besides cuts and flipped bytes, the
// fields of the protobuf are removed, doubled, exchanged and given the numbers
// that break sizes, so that most mutants get past the parser.
// test/e2e/test_fuzz_models.py takes such mutants through the whole compiler.

#include "../MutateProtobuf.h"
#include "bessemer/Import/Import.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <chrono>
#include <fstream>
#include <gtest/gtest.h>

using namespace bessemer;
using namespace bessemer::test;

namespace {

std::string damaged(const std::string &bytes, Random &random) {
  std::string result = bytes;
  if (below(random, 4) == 0) {
    result.resize(below(random, result.size()));
    return result;
  }
  for (size_t i = 0, end = 1 + below(random, 8); i < end; ++i)
    result[below(random, result.size())] = static_cast<char>(random());
  return result;
}

} // namespace

TEST(ImportFuzz, EveryMutantIsImportedOrRefused) {
  std::vector<std::string> models;
  std::vector<std::string> paths;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator
           entry(BESSEMER_SOURCE_DIR "/test/e2e/goldens", error),
       end;
       entry != end && !error; entry.increment(error))
    paths.push_back(entry->path() + "/model.onnx");
  std::sort(paths.begin(), paths.end());
  for (const std::string &path : paths)
    if (auto file = llvm::MemoryBuffer::getFile(path))
      models.push_back((*file)->getBuffer().str());
  ASSERT_GE(models.size(), 5u);
  std::vector<Fields> trees;
  for (const std::string &model : models) {
    trees.push_back(readFields(model));
    ASSERT_EQ(writeFields(trees.back()), model);
  }

  const char *rounds = getenv("BESSEMER_FUZZ_ROUNDS");
  const char *dump = getenv("BESSEMER_FUZZ_DUMP");
  int accepted = 0, total = rounds ? atoi(rounds) : 2000;
  for (int round = 0; round < total; ++round) {
    Random random(round);
    size_t index = below(random, models.size());
    std::string mutant;
    if (round % 4 == 0) {
      mutant = damaged(models[index], random);
    } else {
      Fields model = trees[index];
      Fields donor = trees[below(random, trees.size())];
      for (size_t i = 0, end = 1 + below(random, 3); i < end; ++i)
        mutateFields(model, donor, random);
      mutant = writeFields(model);
    }
    // To look at a mutant that crashes.
    if (dump)
      std::ofstream(dump, std::ios::binary) << mutant;
    SCOPED_TRACE(round);
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    mlir::ScopedDiagnosticHandler quiet(
        &context, [](mlir::Diagnostic &) { return mlir::success(); });
    ImportDiagnostics diagnostics;
    ImportOptions options;
    options.batch = 2;
    options.bytes = mutant;
    auto begin = std::chrono::steady_clock::now();
    bool isImported = false;
    EXPECT_NO_THROW(isImported = llvm::succeeded(
                        importOnnx(context, options, diagnostics)));
    auto seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin);
    EXPECT_LT(seconds.count(), 5);
    accepted += isImported;
    if (isImported)
      continue;
    EXPECT_FALSE(diagnostics.errors.empty());
    for (const std::string &line : diagnostics.errors) {
      EXPECT_EQ(line.find('\n'), std::string::npos) << line;
      EXPECT_EQ(line.find("internal error"), std::string::npos) << line;
    }
  }
  // Otherwise only the parser would be tested.
  EXPECT_GT(accepted, total / 20);
}
