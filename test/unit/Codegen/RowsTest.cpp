// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kern.rows against loops in double.

#include "KernelTest.h"
#include "llvm/Support/FormatVariadic.h"

using namespace bessemer::test;
using llvm::formatv;

/// Loss and log-sum-exp per row, as cross entropy needs them.
static std::string crossEntropy(int rows, int n) {
  return formatv(
      R"(%loss, %lse = kern.rows(%x, %l) bounds = [{0}, {1}] reduced = [1] maps = [
      affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>,
      affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>] {{
    ^bb0(%a: f32, %label: i64):
      %m = kern.fold max %a : f32
      %d = arith.subf %a, %m : f32
      %e = math.exp %d : f32
      %s = kern.fold sum %e : f32
      %log = math.log %s : f32
      %lse = arith.addf %m, %log : f32
      %j = kern.index 1 : i64
      %is = arith.cmpi eq, %j, %label : i64
      %zero = arith.constant 0.0 : f32
      %picked = arith.select %is, %a, %zero : f32
      %logit = kern.fold sum %picked : f32
      %loss = arith.subf %lse, %logit : f32
      kern.yield %loss, %lse : f32, f32
    } : (tensor<{0}x{1}xf32>, tensor<{0}xi64>) -> (tensor<{0}xf32>, tensor<{0}xf32>))",
      rows, n);
}

static std::string softmax(int rows, int n) {
  return formatv(
      R"(%y = kern.rows(%x) bounds = [{0}, {1}] reduced = [1] maps = [
      affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] {{
    ^bb0(%a: f32):
      %m = kern.fold max %a : f32
      %d = arith.subf %a, %m : f32
      %e = math.exp %d : f32
      %s = kern.fold sum %e : f32
      %q = arith.divf %e, %s : f32
      kern.yield %q : f32
    } : (tensor<{0}x{1}xf32>) -> tensor<{0}x{1}xf32>)",
      rows, n);
}

static std::vector<int> rowLengths() {
  std::vector<int> lengths = {1000, 20011};
  for (int n = 1; n <= 70; ++n)
    lengths.push_back(n);
  return lengths;
}

TEST(Rows, SoftmaxOfManyLengths) {
  KernelSet set;
  const int rows = 5;
  std::vector<int> lengths = rowLengths();
  for (int n : lengths)
    set.add(formatv("(%x: tensor<{0}x{1}xf32>)", rows, n), softmax(rows, n));
  for (const auto &target : getRunnableTargets()) {
    set.compile(target);
    for (size_t i = 0; i < lengths.size(); ++i) {
      int n = lengths[i];
      auto x = randomFloats(rows * n, n);
      for (float &value : x)
        value *= 10;
      // Row 1 holds a NaN, row 2 only large negative numbers, row 3 minus
      // infinity.
      x[n + n / 2] = NAN;
      for (int j = 0; j < n; ++j)
        x[2 * n + j] -= 1e4f;
      if (n > 1)
        x[3 * n + n - 1] = -INFINITY;
      std::vector<double> expected;
      for (int r = 0; r < rows; ++r) {
        double largest = -INFINITY, sum = 0;
        bool isNaN = r == 1;
        for (int j = 0; j < n; ++j)
          largest = std::max<double>(largest, x[r * n + j]);
        for (int j = 0; j < n; ++j)
          sum += std::exp(x[r * n + j] - largest);
        for (int j = 0; j < n; ++j)
          expected.push_back(isNaN ? NAN
                                   : std::exp(x[r * n + j] - largest) / sum);
      }
      BufferPtr y = makeFloats(x.size());
      set.run(i, {makeBuffer(x)}, {y});
      expectNear(y->values<float>(), expected, 1e-6, formatv("length {0}", n));
      // In place.
      BufferPtr buffer = makeBuffer(x);
      set.runOnce(i, {buffer, buffer});
      expectNear(buffer->values<float>(), expected, 1e-6,
                 formatv("in place, length {0}", n));
    }
  }
}

TEST(Rows, CrossEntropyGivesValuesPerRow) {
  KernelSet set;
  std::vector<std::pair<int, int>> shapes = {{1, 1},   {32, 10},   {3, 2},
                                             {7, 100}, {2000, 10}, {4, 1000}};
  for (auto [rows, n] : shapes)
    set.add(formatv("(%x: tensor<{0}x{1}xf32>, %l: tensor<{0}xi64>)", rows, n),
            crossEntropy(rows, n));
  for (const auto &target : getRunnableTargets()) {
    set.compile(target);
    for (size_t i = 0; i < shapes.size(); ++i) {
      auto [rows, n] = shapes[i];
      auto x = randomFloats(rows * n, 7);
      std::vector<int64_t> labels;
      std::vector<double> losses, sums;
      for (int r = 0; r < rows; ++r) {
        labels.push_back(r * 7 % n);
        double sum = 0;
        for (int j = 0; j < n; ++j)
          sum += std::exp(double(x[r * n + j]));
        sums.push_back(std::log(sum));
        losses.push_back(sums.back() - x[r * n + labels.back()]);
      }
      BufferPtr loss = makeFloats(rows), lse = makeFloats(rows);
      set.run(i, {makeBuffer(x), makeBuffer(labels)}, {loss, lse});
      expectNear(loss->values<float>(), losses, 2e-6, "loss");
      expectNear(lse->values<float>(), sums, 2e-6, "log-sum-exp");
    }
  }
}

TEST(Rows, BatchNormNormalisesChannels) {
  KernelSet set;
  struct Shape {
    int n, c, s;
  };
  std::vector<Shape> shapes = {{3, 5, 7}, {2, 4, 64}, {9, 1, 49}, {1, 6, 33}};
  for (auto [n, c, s] : shapes)
    set.add(
        formatv("(%x: tensor<{0}x{1}x{2}xf32>, %g: tensor<{1}xf32>)", n, c, s),
        formatv(
            R"(%y, %mean, %var = kern.rows(%x, %g) bounds = [{0}, {1}, {2}] reduced = [0, 2] maps = [
          affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1)>,
          affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1)>,
          affine_map<(d0, d1, d2) -> (d1)>] {{
        ^bb0(%a: f32, %scale: f32):
          %count = arith.constant {3} : f32
          %s = kern.fold sum %a : f32
          %m = arith.divf %s, %count : f32
          %d = arith.subf %a, %m : f32
          %d2 = arith.mulf %d, %d : f32
          %s2 = kern.fold sum %d2 : f32
          %v = arith.divf %s2, %count : f32
          %eps = arith.constant 1.0e-5 : f32
          %ve = arith.addf %v, %eps : f32
          %r = math.rsqrt %ve : f32
          %n = arith.mulf %d, %r : f32
          %y = arith.mulf %n, %scale : f32
          kern.yield %y, %m, %v : f32, f32, f32
        } : (tensor<{0}x{1}x{2}xf32>, tensor<{1}xf32>) -> (tensor<{0}x{1}x{2}xf32>, tensor<{1}xf32>, tensor<{1}xf32>))",
            n, c, s, formatv("{0:f1}", double(n * s)).str()));
  for (const auto &target : getRunnableTargets()) {
    set.compile(target);
    for (size_t i = 0; i < shapes.size(); ++i) {
      auto [n, c, s] = shapes[i];
      auto x = randomFloats(n * c * s, 8), scale = randomFloats(c, 9);
      std::vector<double> expected(x.size()), means, variances;
      for (int ch = 0; ch < c; ++ch) {
        auto at = [&](int b, int j) { return (b * c + ch) * s + j; };
        double sum = 0, squares = 0;
        for (int b = 0; b < n; ++b)
          for (int j = 0; j < s; ++j)
            sum += x[at(b, j)];
        double mean = sum / (n * s);
        for (int b = 0; b < n; ++b)
          for (int j = 0; j < s; ++j)
            squares += std::pow(x[at(b, j)] - mean, 2);
        double variance = squares / (n * s);
        for (int b = 0; b < n; ++b)
          for (int j = 0; j < s; ++j)
            expected[at(b, j)] =
                (x[at(b, j)] - mean) / std::sqrt(variance + 1e-5) * scale[ch];
        means.push_back(mean);
        variances.push_back(variance);
      }
      BufferPtr y = makeFloats(x.size()), mean = makeFloats(c),
                variance = makeFloats(c);
      set.run(i, {makeBuffer(x), makeBuffer(scale)}, {y, mean, variance});
      expectNear(y->values<float>(), expected, 3e-6, "y");
      expectNear(mean->values<float>(), means, 1e-6, "mean");
      expectNear(variance->values<float>(), variances, 1e-6, "variance");
    }
  }
}

TEST(Rows, SoftmaxOverSeveralRuns) {
  // Over dimensions 0 and 2: costly values wait in scratch, run by run.
  KernelSet set;
  struct Shape {
    int n, c, s;
  };
  std::vector<Shape> shapes = {{3, 5, 70}, {2, 2, 300}, {40, 3, 7}};
  for (auto [n, c, s] : shapes)
    set.add(
        formatv("(%x: tensor<{0}x{1}x{2}xf32>)", n, c, s),
        formatv(
            R"(%y = kern.rows(%x) bounds = [{0}, {1}, {2}] reduced = [0, 2] maps = [
              affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>] {{
            ^bb0(%a: f32):
              %m = kern.fold max %a : f32
              %d = arith.subf %a, %m : f32
              %e = math.exp %d : f32
              %s = kern.fold sum %e : f32
              %q = arith.divf %e, %s : f32
              kern.yield %q : f32
            } : (tensor<{0}x{1}x{2}xf32>) -> tensor<{0}x{1}x{2}xf32>)",
            n, c, s));
  for (const auto &target : getRunnableTargets()) {
    set.compile(target);
    for (size_t i = 0; i < shapes.size(); ++i) {
      auto [n, c, s] = shapes[i];
      EXPECT_GT(set.getBlob().kernels[i].scratchBytes, 0u);
      auto x = randomFloats(n * c * s, 12);
      std::vector<double> sums(c, 0), expected;
      for (size_t e = 0; e < x.size(); ++e)
        sums[e / s % c] += std::exp(double(x[e]));
      for (size_t e = 0; e < x.size(); ++e)
        expected.push_back(std::exp(double(x[e])) / sums[e / s % c]);
      BufferPtr y = makeFloats(x.size());
      set.run(i, {makeBuffer(x)}, {y});
      expectNear(y->values<float>(), expected, 1e-6, "softmax");
      BufferPtr buffer = makeBuffer(x);
      set.runOnce(i, {buffer, buffer});
      expectNear(buffer->values<float>(), expected, 1e-6, "in place");
    }
  }
}

TEST(Rows, ReducesEverything) {
  KernelSet set;
  const int n = 300007;
  set.add("(%x: tensor<300007xf32>)", R"(
    %s, %m, %k = kern.rows(%x) bounds = [300007] reduced = [0] maps = [affine_map<(d0) -> (d0)>,
        affine_map<(d0) -> ()>, affine_map<(d0) -> ()>, affine_map<(d0) -> ()>] {
    ^bb0(%a: f32):
      %s = kern.fold sum %a : f32
      %m = kern.fold min %a : f32
      %zero = arith.constant 0.0 : f32
      %pos = arith.cmpf ogt, %a, %zero : f32
      %one = arith.extui %pos : i1 to i64
      %k = kern.fold sum %one : i64
      kern.yield %s, %m, %k : f32, f32, i64
    } : (tensor<300007xf32>) -> (tensor<f32>, tensor<f32>, tensor<i64>))");
  for (const auto &target : getRunnableTargets()) {
    set.compile(target);
    auto x = randomFloats(n, 10);
    double sum = 0, least = INFINITY;
    int64_t positive = 0;
    for (float &value : x) {
      value += 0.1f;
      sum += value;
      least = std::min<double>(least, value);
      positive += value > 0;
    }
    BufferPtr s = makeFloats(1), m = makeFloats(1),
              count = makeBuffer(std::vector<int64_t>(1));
    set.run(0, {makeBuffer(x)}, {s, m, count});
    EXPECT_NEAR(s->as<float>()[0], sum, 1e-6 * sum);
    EXPECT_EQ(m->as<float>()[0], float(least));
    EXPECT_EQ(count->as<int64_t>()[0], positive);
  }
}

TEST(Rows, ReducesAnyDimensions) {
  // [2, 3, 4, 5] over {1, 3} and {2, 3} and, transposed, {0}.
  KernelSet set;
  set.add("(%x: tensor<2x3x4x5xf32>)", R"(
    %s = kern.rows(%x) bounds = [2, 3, 4, 5] reduced = [1, 3] maps = [
        affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2)>] {
    ^bb0(%a: f32):
      %s = kern.fold sum %a : f32
      kern.yield %s : f32
    } : (tensor<2x3x4x5xf32>) -> tensor<2x4xf32>)");
  set.add("(%x: tensor<2x3x4x5xf32>)", R"(
    %s = kern.rows(%x) bounds = [2, 3, 4, 5] reduced = [2, 3] maps = [
        affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d0)>] {
    ^bb0(%a: f32):
      %s = kern.fold product %a : f32
      kern.yield %s : f32
    } : (tensor<2x3x4x5xf32>) -> tensor<3x2xf32>)");
  set.add("(%x: tensor<19x6xf32>)", R"(
    %s = kern.rows(%x) bounds = [6, 19] reduced = [1] maps = [affine_map<(d0, d1) -> (d1, d0)>,
        affine_map<(d0, d1) -> (d0)>] {
    ^bb0(%a: f32):
      %s = kern.fold sum %a : f32
      kern.yield %s : f32
    } : (tensor<19x6xf32>) -> tensor<6xf32>)");
  for (const auto &target : getRunnableTargets()) {
    set.compile(target);
    auto x = randomFloats(120, 11);
    std::vector<double> first(8, 0), second(6, 1), third(6, 0);
    for (int i = 0; i < 120; ++i) {
      int d3 = i % 5, d2 = i / 5 % 4, d1 = i / 20 % 3, d0 = i / 60;
      (void)d3;
      first[d0 * 4 + d2] += x[i];
      second[d1 * 2 + d0] *= x[i];
      if (i < 114)
        third[i % 6] += x[i];
    }
    BufferPtr s = makeFloats(8), p = makeFloats(6), t = makeFloats(6);
    set.run(0, {makeBuffer(x)}, {s});
    expectNear(s->values<float>(), first, 1e-6, "sum over 1, 3");
    set.run(1, {makeBuffer(x)}, {p});
    expectNear(p->values<float>(), second, 1e-6, "product over 2, 3");
    x.resize(114);
    set.run(2, {makeBuffer(x)}, {t});
    expectNear(t->values<float>(), third, 1e-6, "sum over 0, gathered");
  }
}
