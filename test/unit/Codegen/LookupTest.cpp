// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kern.gather and kern.scatter against loops, kern.table_update against
// kern.scatter and kern.update.

#include "KernelTest.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <cstring>

using namespace bessemer::test;
using llvm::formatv;

namespace {

struct Sizes {
  int64_t batch, outer, size, count, inner;
};

/// Embeddings, single elements, tables of few rows (shared by columns), long
/// rows (copied in pieces), ragged ends, more than one range of rows, entries
/// that are named several times.
const Sizes kSizes[] = {
    {1, 1, 40, 33, 32},  {1, 1, 5000, 64, 20},  {3, 1, 10, 17, 1},
    {2, 3, 7, 5, 9},     {1, 1, 2, 100, 300},   {1, 2, 3, 4, 20000},
    {1, 1, 1, 1, 1},     {4, 1, 1, 70, 1},      {1, 1, 70001, 9, 3},
    {1, 600, 130, 3, 1}, {1, 1, 900, 3000, 40},
};

std::string tensor(std::initializer_list<int64_t> shape, const char *type) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + type + ">";
}

std::string textOf(const char *op, const Sizes &s, const char *element,
                   const char *index, std::string &signature) {
  bool isGather = std::strcmp(op, "gather") == 0;
  std::string table = tensor({s.batch, s.outer, s.size, s.inner}, element);
  std::string rows = tensor({s.batch, s.outer, s.count, s.inner}, element);
  std::string indices = tensor({s.batch, s.count}, index);
  signature = formatv("(%a: {0}, %i: {1})", isGather ? table : rows, indices);
  return formatv("%r = kern.{0} %a, %i : ({1}, {2}) -> {3}", op,
                 isGather ? table : rows, indices, isGather ? rows : table);
}

/// Indices inside and, now and then, on both sides outside of the table.
template <typename T>
std::vector<T> makeIndices(const Sizes &s, bool hasOutside) {
  std::mt19937 random(s.size);
  std::vector<T> indices;
  for (int64_t i = 0; i < s.batch * s.count; ++i) {
    indices.push_back(T(random() % s.size));
    if (hasOutside && random() % 8 == 0)
      indices.back() = random() % 2 ? T(s.size + random() % 3) : T(-1);
  }
  return indices;
}

/// Calls `visit` with the positions of each looked up row and of its row in the
/// table, or -1.
template <typename T>
void forEachRow(const Sizes &s, const std::vector<T> &indices,
                llvm::function_ref<void(int64_t row, int64_t entry)> visit) {
  for (int64_t plane = 0; plane < s.batch * s.outer; ++plane)
    for (int64_t j = 0; j < s.count; ++j) {
      int64_t key = indices[plane / s.outer * s.count + j];
      bool isInside = key >= 0 && key < s.size;
      visit(plane * s.count + j, isInside ? plane * s.size + key : -1);
    }
}

TEST(Lookup, GathersRowsAndNaNOutside) {
  for (const auto &target : getRunnableTargets()) {
    KernelSet set;
    std::string signature;
    for (const Sizes &s : kSizes) {
      std::string text = textOf("gather", s, "f32", "i64", signature);
      set.add(signature, text);
    }
    set.compile(target);
    for (auto [i, s] : llvm::enumerate(kSizes)) {
      size_t tableSize = s.batch * s.outer * s.size * s.inner;
      std::vector<float> table = randomFloats(tableSize, i);
      auto indices = makeIndices<int64_t>(s, true);
      BufferPtr result = makeFloats(s.batch * s.outer * s.count * s.inner);
      set.run(i, {makeBuffer(table), makeBuffer(indices)}, {result});
      auto got = result->values<float>();
      forEachRow<int64_t>(s, indices, [&](int64_t row, int64_t entry) {
        for (int64_t k = 0; k < s.inner; ++k) {
          float value = got[row * s.inner + k];
          if (entry < 0)
            ASSERT_TRUE(std::isnan(value)) << i;
          else
            ASSERT_EQ(value, table[entry * s.inner + k]) << i;
        }
      });
    }
  }
}

/// Integers outside are 0, i32 indices are as good as i64, i1 is a byte.
TEST(Lookup, GathersIntegers) {
  Sizes s{2, 1, 10, 21, 3}, single{2, 1, 10, 21, 1};
  for (const auto &target : getRunnableTargets()) {
    KernelSet set;
    std::string signature, text;
    text = textOf("gather", s, "i64", "i32", signature);
    set.add(signature, text);
    text = textOf("gather", single, "i1", "i32", signature);
    set.add(signature, text);
    set.compile(target);
    auto indices = makeIndices<int32_t>(s, true);
    std::vector<int64_t> table(s.batch * s.size * s.inner);
    for (size_t k = 0; k < table.size(); ++k)
      table[k] = 1000 + k;
    BufferPtr result =
        makeBuffer(std::vector<int64_t>(s.batch * s.count * s.inner, -7));
    set.run(0, {makeBuffer(table), makeBuffer(indices)}, {result});
    std::vector<uint8_t> bits(single.batch * single.size);
    for (size_t k = 0; k < bits.size(); ++k)
      bits[k] = k % 3 != 0;
    BufferPtr bitResult =
        makeBuffer(std::vector<uint8_t>(single.batch * single.count, 9));
    set.run(1, {makeBuffer(bits), makeBuffer(indices)}, {bitResult});
    forEachRow<int32_t>(s, indices, [&](int64_t row, int64_t entry) {
      for (int64_t k = 0; k < s.inner; ++k)
        ASSERT_EQ(result->as<int64_t>()[row * s.inner + k],
                  entry < 0 ? 0 : table[entry * s.inner + k]);
      ASSERT_EQ(bitResult->as<uint8_t>()[row], entry < 0 ? 0 : bits[entry]);
    });
  }
}

/// KernelSet::run compares the bits of all tiles at once with those of one
/// after the other from the last: the sums do not depend on who adds.
TEST(Lookup, ScattersInTheOrderOfTheIndices) {
  for (const auto &target : getRunnableTargets()) {
    KernelSet set;
    std::string signature;
    for (const Sizes &s : kSizes) {
      std::string text = textOf("scatter", s, "f32", "i64", signature);
      set.add(signature, text);
    }
    set.compile(target);
    for (auto [i, s] : llvm::enumerate(kSizes)) {
      std::vector<float> updates =
          randomFloats(s.batch * s.outer * s.count * s.inner, i);
      auto indices = makeIndices<int64_t>(s, true);
      std::vector<float> expected(s.batch * s.outer * s.size * s.inner, 0.0f);
      BufferPtr result = makeFloats(expected.size());
      set.run(i, {makeBuffer(updates), makeBuffer(indices)}, {result});
      forEachRow<int64_t>(s, indices, [&](int64_t row, int64_t entry) {
        if (entry >= 0)
          for (int64_t k = 0; k < s.inner; ++k)
            expected[entry * s.inner + k] += updates[row * s.inner + k];
      });
      // The same additions in the same order: equal to the bit.
      ASSERT_EQ(result->values<float>(), expected) << i;
    }
  }
}

/// SGD with momentum: p, g, m and the learning rate.
constexpr const char *kRegion = R"({
  ^bb0(%a: f32, %b: f32, %c: f32, %e: f32):
    %beta = arith.constant 0.9 : f32
    %old = arith.mulf %c, %beta : f32
    %new = arith.addf %old, %b : f32
    %step = arith.mulf %new, %e : f32
    %q = arith.subf %a, %step : f32
    kern.yield %q, %new : f32, f32
  })";

/// The joined kernel against kern.scatter and kern.update one after the other,
/// to the bit. `touchedOnly`: entries that no index names stay as they are.
void checkTableUpdate(bool touchedOnly) {
  for (const auto &target : getRunnableTargets()) {
    KernelSet set;
    for (const Sizes &s : kSizes) {
      std::string table = tensor({s.batch, s.outer, s.size, s.inner}, "f32");
      std::string rows = tensor({s.batch, s.outer, s.count, s.inner}, "f32");
      std::string indices = tensor({s.batch, s.count}, "i64"), signature;
      std::string scatter = textOf("scatter", s, "f32", "i64", signature);
      set.add(signature, scatter);
      set.add(formatv("(%p: {0}, %g: {0}, %m: {0}, %l: tensor<f32>)", table),
              formatv("%r:2 = kern.update parameters(%p) gradients(%g) "
                      "moments(%m) scalars(%l) {1} : ({0}, {0}, {0}, "
                      "tensor<f32>) -> ({0}, {0})",
                      table, kRegion));
      set.add(formatv("(%p: {0}, %d: {1}, %i: {2}, %m: {0}, %l: tensor<f32>)",
                      table, rows, indices),
              formatv("%r:2 = kern.table_update %p, %d, %i moments(%m) "
                      "scalars(%l) {4} {3} : ({0}, {1}, {2}, {0}, "
                      "tensor<f32>) -> ({0}, {0})",
                      table, rows, indices, kRegion,
                      touchedOnly ? "touched_only" : ""));
    }
    set.compile(target);
    for (auto [i, s] : llvm::enumerate(kSizes)) {
      size_t size = s.batch * s.outer * s.size * s.inner;
      auto p = randomFloats(size, i), m = randomFloats(size, i + 50);
      BufferPtr rate = makeBuffer(std::vector<float>{0.1f});
      BufferPtr rows = makeBuffer(
          randomFloats(s.batch * s.outer * s.count * s.inner, i + 100));
      auto keys = makeIndices<int64_t>(s, true);
      BufferPtr indices = makeBuffer(keys), gradient = makeFloats(size);
      BufferPtr wantP = makeFloats(size), wantM = makeFloats(size);
      set.run(3 * i, {rows, indices}, {gradient});
      set.run(3 * i + 1, {makeBuffer(p), gradient, makeBuffer(m), rate},
              {wantP, wantM});
      if (touchedOnly) {
        std::vector<bool> touched(s.batch * s.outer * s.size);
        forEachRow<int64_t>(s, keys, [&](int64_t, int64_t entry) {
          if (entry >= 0)
            touched[entry] = true;
        });
        for (size_t k = 0; k < size; ++k)
          if (!touched[k / s.inner]) {
            wantP->as<float>()[k] = p[k];
            wantM->as<float>()[k] = m[k];
          }
      }
      BufferPtr gotP = makeFloats(size), gotM = makeFloats(size);
      set.run(3 * i + 2, {makeBuffer(p), rows, indices, makeBuffer(m), rate},
              {gotP, gotM});
      ASSERT_EQ(gotP->values<float>(), wantP->values<float>()) << i;
      ASSERT_EQ(gotM->values<float>(), wantM->values<float>()) << i;
      // In place.
      BufferPtr newP = makeBuffer(p), newM = makeBuffer(m);
      set.runOnce(3 * i + 2, {newP, rows, indices, newM, rate, newP, newM});
      ASSERT_EQ(newP->values<float>(), wantP->values<float>()) << i;
      ASSERT_EQ(newM->values<float>(), wantM->values<float>()) << i;
    }
  }
}

TEST(Lookup, UpdatesATableAsScatterAndUpdateDo) { checkTableUpdate(false); }

TEST(Lookup, UpdatesWhatIsTouchedAlone) { checkTableUpdate(true); }

} // namespace
