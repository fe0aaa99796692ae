// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kern.update and kern.norm against loops in double.

#include "KernelTest.h"
#include "llvm/Support/FormatVariadic.h"

using namespace bessemer::test;
using llvm::formatv;

static const std::vector<int> kSizes = {840, 1, 10, 16384, 16385, 40000, 7};

/// "%p0, %p1, ..." and the types.
static std::string names(char prefix, int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += formatv("{0}%{1}{2}", i ? ", " : "", prefix, i);
  return text;
}

TEST(Update, AdamWOverOddSizes) {
  KernelSet set;
  int count = kSizes.size();
  auto typesOf = [&](int repeat) {
    std::string text;
    for (int size : kSizes)
      for (int i = 0; i < repeat; ++i)
        text += formatv("tensor<{0}xf32>, ", size);
    return text;
  };
  auto arguments = [&](char prefix, int repeat) {
    std::string text;
    for (int i = 0; i < count * repeat; ++i)
      text +=
          formatv("%{0}{1}: tensor<{2}xf32>, ", prefix, i, kSizes[i / repeat]);
    return text;
  };
  std::string results = typesOf(1) + typesOf(2);
  results.resize(results.size() - 2);
  set.add(
      "(" + arguments('p', 1) + arguments('g', 1) + arguments('m', 2) +
          "%lr: tensor<f32>)",
      formatv(
          R"(%r:{0} = kern.update parameters({1}) gradients({2}) moments({3}) scalars(%lr) {{
        ^bb0(%a: f32, %d: f32, %m: f32, %v: f32, %l: f32):
          %beta = arith.constant 0.9 : f32
          %rest = arith.constant 0.1 : f32
          %gamma = arith.constant 0.999 : f32
          %more = arith.constant 0.001 : f32
          %eps = arith.constant 1.0e-8 : f32
          %x = arith.mulf %m, %beta : f32
          %y = arith.mulf %d, %rest : f32
          %mean = arith.addf %x, %y : f32
          %z = arith.mulf %v, %gamma : f32
          %square = arith.mulf %d, %d : f32
          %w = arith.mulf %square, %more : f32
          %variance = arith.addf %z, %w : f32
          %s = math.sqrt %variance : f32
          %t = arith.addf %s, %eps : f32
          %q = arith.divf %mean, %t : f32
          %u = arith.mulf %q, %l : f32
          %new = arith.subf %a, %u : f32
          kern.yield %new, %mean, %variance : f32, f32, f32
        } : ({4}{4}{5}tensor<f32>) -> ({6}))",
          3 * count, names('p', count), names('g', count),
          names('m', 2 * count), typesOf(1), typesOf(2), results));
  for (const auto &target : getRunnableTargets()) {
    set.compile(target);
    EXPECT_EQ(set.getTiles(0), 1 + 1 + 1 + 1 + 2 + 3 + 1);
    std::vector<std::vector<float>> p, g, m, v;
    std::vector<BufferPtr> operands, results;
    for (int i = 0; i < count; ++i) {
      p.push_back(randomFloats(kSizes[i], 4 * i));
      g.push_back(randomFloats(kSizes[i], 4 * i + 1));
      m.push_back(randomFloats(kSizes[i], 4 * i + 2));
      v.push_back(randomFloats(kSizes[i], 4 * i + 3));
      for (float &value : v.back())
        value *= value;
    }
    for (const auto &values : p)
      operands.push_back(makeBuffer(values));
    for (const auto &values : g)
      operands.push_back(makeBuffer(values));
    for (int i = 0; i < count; ++i) {
      operands.push_back(makeBuffer(m[i]));
      operands.push_back(makeBuffer(v[i]));
    }
    operands.push_back(makeBuffer(std::vector<float>{0.01f}));
    for (int i = 0; i < 3 * count; ++i)
      results.push_back(makeFloats(kSizes[i < count ? i : (i - count) / 2]));
    set.run(0, operands, results);
    for (int i = 0; i < count; ++i) {
      std::vector<double> newP, newM, newV;
      for (int j = 0; j < kSizes[i]; ++j) {
        double gradient = g[i][j];
        newM.push_back(0.9 * m[i][j] + 0.1 * gradient);
        newV.push_back(0.999 * v[i][j] + 0.001 * gradient * gradient);
        newP.push_back(p[i][j] - 0.01 * newM[j] / (std::sqrt(newV[j]) + 1e-8));
      }
      expectNear(results[i]->values<float>(), newP, 2e-6, "parameter");
      expectNear(results[count + 2 * i]->values<float>(), newM, 1e-6, "m");
      expectNear(results[count + 2 * i + 1]->values<float>(), newV, 1e-6, "v");
    }
  }
}

TEST(Norm, SumsSquaresOfChunks) {
  KernelSet set;
  std::string arguments, operandNames, types;
  const int chunk = 1000;
  std::vector<double> expected;
  std::vector<BufferPtr> operands;
  for (size_t i = 0; i < kSizes.size(); ++i) {
    arguments +=
        formatv("{0}%g{1}: tensor<{2}xf32>", i ? ", " : "", i, kSizes[i]);
    types += formatv("{0}tensor<{1}xf32>", i ? ", " : "", kSizes[i]);
    auto values = randomFloats(kSizes[i], i);
    for (int first = 0; first < kSizes[i]; first += chunk) {
      double sum = 0;
      for (int j = first; j < std::min(first + chunk, kSizes[i]); ++j)
        sum += double(values[j]) * values[j];
      expected.push_back(sum);
    }
    operands.push_back(makeBuffer(values));
  }
  set.add("(" + arguments + ")",
          formatv("%s = kern.norm({0}) {{chunk = {1} : i64} : ({2}) -> "
                  "tensor<{3}xf32>",
                  names('g', kSizes.size()), chunk, types, expected.size()));
  for (const auto &target : getRunnableTargets()) {
    set.compile(target);
    BufferPtr sums = makeFloats(expected.size());
    set.run(0, operands, {sums});
    expectNear(sums->values<float>(), expected, 1e-6, "norm");
  }
}
