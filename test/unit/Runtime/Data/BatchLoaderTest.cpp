// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Orders, batches, cursors.
#include "bessemer/runtime/BatchLoader.h"
#include "TestFiles.h"
#include "data/Philox.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <numeric>
#include <pthread.h>

using namespace bessemer::test;
using namespace bessemer::runtime;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Rows 0 .. rows-1 whose value is their index.
std::shared_ptr<const BoundData> indexData(int64_t rows, int64_t batch) {
  static TemporaryFolder folder;
  std::vector<float> values(rows);
  std::iota(values.begin(), values.end(), 0.0f);
  std::vector<int64_t> shape = {rows};
  EXPECT_TRUE(
      writeNpy(folder / "x.npy", {ElementType::F32, shape, values.data()})
          .ok());
  auto set = DataSet::open(std::vector<std::string>{folder / "x.npy"});
  EXPECT_TRUE(set.ok());
  auto bound = BoundData::bind(
      *set, std::vector<ValueInfo>{{"x", {ElementType::F32, {batch}}}}, {});
  EXPECT_TRUE(bound.ok()) << bound.status().message();
  return *bound;
}

std::vector<float> rowsOf(const Batch &batch) {
  auto elements = batch.inputs[0].tensor.elements<float>();
  return {elements.begin(), elements.end()};
}

/// The next `count` training batches, and where they end.
std::pair<std::vector<std::vector<float>>, Cursor>
takeBatches(std::shared_ptr<const BoundData> data, int count, uint64_t seed,
            Cursor start = {}, unsigned depth = 3) {
  BatchOptions options;
  options.seed = seed;
  options.depth = depth;
  auto loader = BatchLoader::create(data, options, start);
  EXPECT_TRUE(loader.ok());
  std::vector<std::vector<float>> batches;
  Cursor end = start;
  for (int i = 0; i < count; ++i) {
    auto batch = (*loader)->next();
    EXPECT_TRUE(batch.ok() && *batch);
    batches.push_back(rowsOf(**batch));
    end = (*batch)->end;
  }
  return {batches, end};
}

} // namespace

TEST(Philox, GivesTheKnownAnswers) {
  // From Random123's kat_vectors.
  EXPECT_THAT(data::philox4x32({0, 0, 0, 0}, {0, 0}),
              ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(data::philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(data::philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                               {0xa4093822, 0x299f31d0}),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(Shuffle, IsAPermutationOfSeedAndEpoch) {
  auto order = shuffledRows(1000, 7, 0);
  EXPECT_EQ(order, shuffledRows(1000, 7, 0));
  EXPECT_NE(order, shuffledRows(1000, 7, 1));
  EXPECT_NE(order, shuffledRows(1000, 8, 0));
  EXPECT_NE(order, shuffledRows(1000, 7ull << 32, 0));
  auto sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (int64_t i = 0; i < 1000; ++i)
    ASSERT_EQ(sorted[i], i);
  EXPECT_TRUE(shuffledRows(0, 1, 1).empty());
  // From shuffled_rows of examples/kjv-gpt/golden.py, written in Python.
  EXPECT_EQ(shuffledRows(10, 0, 0),
            (std::vector<int64_t>{3, 7, 9, 2, 6, 4, 0, 5, 1, 8}));
  EXPECT_EQ(shuffledRows(10, 3, 5),
            (std::vector<int64_t>{4, 8, 2, 3, 1, 6, 0, 5, 9, 7}));
}

TEST(Shuffle, IsUniform) {
  // 4! orders of 4 rows over 24000 epochs: 1000 each; chi-square with 23
  // degrees of freedom exceeds 62 with probability 2e-5, and the seed is fixed.
  std::map<std::vector<int64_t>, int> counts;
  for (uint64_t epoch = 0; epoch < 24000; ++epoch)
    ++counts[shuffledRows(4, 3, epoch)];
  ASSERT_EQ(counts.size(), 24u);
  double chi = 0;
  for (const auto &[order, count] : counts)
    chi += (count - 1000.0) * (count - 1000.0) / 1000;
  EXPECT_LT(chi, 62);
}

TEST(BatchLoader, TrainsInShuffledEpochsAndDropsTheRest) {
  auto [batches, end] = takeBatches(indexData(10, 4), 5, 42);
  // Two batches an epoch; the fifth is the first of epoch 2.
  EXPECT_EQ(end, (Cursor{2, 4}));
  for (uint64_t epoch : {0, 1}) {
    auto order = shuffledRows(10, 42, epoch);
    for (size_t i = 0; i < 8; ++i)
      ASSERT_EQ(batches[epoch * 2 + i / 4][i % 4], float(order[i]));
  }
}

TEST(BatchLoader, DoesNotDependOnDepth) {
  auto data = indexData(11, 3);
  EXPECT_EQ(takeBatches(data, 20, 1, {}, 1), takeBatches(data, 20, 1, {}, 7));
}

TEST(BatchLoader, GoesOnFromAnyCursor) {
  auto data = indexData(10, 3);
  auto whole = takeBatches(data, 12, 5).first;
  for (int cut = 1; cut < 11; ++cut) {
    auto [first, cursor] = takeBatches(data, cut, 5);
    auto rest = takeBatches(data, 12 - cut, 5, cursor).first;
    first.insert(first.end(), rest.begin(), rest.end());
    ASSERT_EQ(first, whole) << cut;
  }
}

TEST(BatchLoader, EvaluatesInOrderAndPads) {
  BatchOptions options;
  options.mode = BatchOptions::Mode::Evaluate;
  auto loader = BatchLoader::create(indexData(5, 3), options);
  ASSERT_TRUE(loader.ok());
  auto first = (*loader)->next();
  EXPECT_THAT(rowsOf(**first), ElementsAre(0, 1, 2));
  EXPECT_EQ((*first)->validRows, 3);
  auto second = (*loader)->next();
  EXPECT_THAT(rowsOf(**second), ElementsAre(3, 4, 0));
  EXPECT_EQ((*second)->validRows, 2);
  for (int again = 0; again < 2; ++again) {
    auto end = (*loader)->next();
    ASSERT_TRUE(end.ok());
    EXPECT_EQ(*end, nullptr);
  }
}

TEST(BatchLoader, AlignsItsBuffers) {
  auto loader = BatchLoader::create(indexData(10, 3), {});
  ASSERT_TRUE(loader.ok());
  for (int i = 0; i < 6; ++i) {
    auto batch = (*loader)->next();
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*batch)->inputs[0].tensor.data) % 64,
              0u);
  }
}

TEST(BatchLoader, RefusesTooFewRowsAndForeignCursors) {
  EXPECT_THAT(BatchLoader::create(indexData(2, 3), {}).status().message(),
              HasSubstr("2 rows, fewer than one batch of 3"));
  EXPECT_THAT(
      BatchLoader::create(indexData(5, 3), {}, {0, 6}).status().message(),
      HasSubstr("position is 6"));
}

TEST(BatchLoader, PassesErrorsOn) {
  TemporaryFolder folder;
  std::vector<int64_t> values = {1, 2, 3, int64_t(1) << 33}, shape = {4};
  ASSERT_TRUE(
      writeNpy(folder / "x.npy", {ElementType::I64, shape, values.data()})
          .ok());
  auto set = DataSet::open(std::vector<std::string>{folder / "x.npy"});
  auto bound = BoundData::bind(
      *set, std::vector<ValueInfo>{{"x", {ElementType::I32, {2}}}}, {});
  ASSERT_TRUE(bound.ok());
  BatchOptions options;
  options.mode = BatchOptions::Mode::Evaluate;
  auto loader = BatchLoader::create(*bound, options);
  EXPECT_TRUE((*loader)->next().ok());
  EXPECT_THAT((*loader)->next().status().message(), HasSubstr("row 3"));
  EXPECT_FALSE((*loader)->next().ok());
}

TEST(BatchLoader, TurnsExceptionsOfItsThreadIntoErrors) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's operator new does not throw";
#endif
  // Rows without bytes, so many that no order of them fits into memory.
  for (int64_t rows : {int64_t(1) << 58, int64_t(1) << 61}) {
    TemporaryFolder folder;
    writeFile(folder / "x.npy",
              npy(npyHeader("<f4", "(" + std::to_string(rows) + ", 0)"), ""));
    auto set = DataSet::open(std::vector<std::string>{folder / "x.npy"});
    ASSERT_TRUE(set.ok()) << set.status().message();
    auto bound = BoundData::bind(
        *set, std::vector<ValueInfo>{{"x", {ElementType::F32, {4, 0}}}}, {});
    ASSERT_TRUE(bound.ok()) << bound.status().message();
    auto loader = BatchLoader::create(*bound, {});
    ASSERT_TRUE(loader.ok());
    for (int again = 0; again < 2; ++again)
      EXPECT_THAT((*loader)->next().status().message(),
                  HasSubstr("the data's batches"));
  }
}

TEST(BatchLoader, AThreadThatCannotStartIsAnError) {
  auto data = indexData(10, 3);
  pthread_attr_t before, huge;
  ASSERT_EQ(pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(pthread_getattr_default_np(&huge), 0);
  // More than there are addresses.
  ASSERT_EQ(pthread_attr_setstacksize(&huge, size_t(1) << 50), 0);
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  auto loader = BatchLoader::create(data, {});
  ASSERT_EQ(pthread_setattr_default_np(&before), 0);
  EXPECT_THAT(loader.status().message(), HasSubstr("cannot start the thread"));
}
