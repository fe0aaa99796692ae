// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kern.columns against loops in double.

#include "KernelTest.h"
#include "llvm/Support/FormatVariadic.h"

using namespace bessemer::test;
using llvm::formatv;

TEST(Columns, BiasGradientsOfManyShapes) {
  KernelSet set;
  std::vector<std::pair<int, int>> shapes = {{1, 1},    {32, 10},    {8192, 64},
                                             {5, 16},   {3, 17},     {2, 300},
                                             {100, 48}, {3000, 101}, {7, 5000}};
  for (auto [m, n] : shapes)
    set.add(
        formatv("(%x: tensor<{0}x{1}xf32>)", m, n),
        formatv(
            R"(%s, %m = kern.columns(%x) bounds = [{0}, {1}] reduced = [0] maps = [
              affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>] {{
            ^bb0(%a: f32):
              %s = kern.fold sum %a : f32
              %m = kern.fold max %a : f32
              kern.yield %s, %m : f32, f32
            } : (tensor<{0}x{1}xf32>) -> (tensor<{1}xf32>, tensor<{1}xf32>))",
            m, n));
  for (const auto &target : getRunnableTargets()) {
    set.compile(target);
    for (size_t i = 0; i < shapes.size(); ++i) {
      auto [m, n] = shapes[i];
      auto x = randomFloats(m * n, 1);
      x[(m - 1) * n + n / 2] = NAN;
      std::vector<double> sums(n, 0), largest(n, -INFINITY);
      for (int r = 0; r < m; ++r)
        for (int c = 0; c < n; ++c) {
          double value = x[r * n + c];
          sums[c] += value;
          largest[c] = std::isnan(value) || std::isnan(largest[c])
                           ? NAN
                           : std::max(largest[c], value);
        }
      BufferPtr s = makeFloats(n), l = makeFloats(n);
      set.run(i, {makeBuffer(x)}, {s, l});
      expectNear(s->values<float>(), sums, 3e-7 * std::sqrt(m) + 1e-6,
                 formatv("{0}x{1}", m, n));
      expectNear(l->values<float>(), largest, 0, formatv("{0}x{1}", m, n));
    }
  }
  set.compile(getRunnableTargets().back());
  EXPECT_GE(set.getTiles(2), 2) << "[8192, 64] on one thread only";
}

TEST(Columns, SoftmaxOverChannels) {
  // Phases, with the result over all dimensions; [n, c, s] over c.
  KernelSet set;
  struct Shape {
    int n, c, s;
  };
  std::vector<Shape> shapes = {{2, 3, 5}, {3, 10, 64}, {1, 7, 100}};
  for (auto [n, c, s] : shapes)
    set.add(
        formatv("(%x: tensor<{0}x{1}x{2}xf32>)", n, c, s),
        formatv(
            R"(%y = kern.columns(%x) bounds = [{0}, {1}, {2}] reduced = [1] maps = [
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
      auto x = randomFloats(n * c * s, 2);
      std::vector<double> expected(x.size());
      for (int b = 0; b < n; ++b)
        for (int j = 0; j < s; ++j) {
          double sum = 0;
          for (int k = 0; k < c; ++k)
            sum += std::exp(double(x[(b * c + k) * s + j]));
          for (int k = 0; k < c; ++k)
            expected[(b * c + k) * s + j] =
                std::exp(double(x[(b * c + k) * s + j])) / sum;
        }
      BufferPtr y = makeFloats(x.size());
      set.run(i, {makeBuffer(x)}, {y});
      expectNear(y->values<float>(), expected, 1e-6, "softmax");
      BufferPtr buffer = makeBuffer(x);
      set.runOnce(i, {buffer, buffer});
      expectNear(buffer->values<float>(), expected, 1e-6, "in place");
    }
  }
}

TEST(Columns, ReducesAnyDimensions) {
  KernelSet set;
  set.add("(%x: tensor<2x3x4x5xf32>)", R"(
    %s = kern.columns(%x) bounds = [2, 3, 4, 5] reduced = [1] maps = [
        affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>] {
    ^bb0(%a: f32):
      %s = kern.fold sum %a : f32
      kern.yield %s : f32
    } : (tensor<2x3x4x5xf32>) -> tensor<2x4x5xf32>)");
  // Weighted by an operand that varies along a reduced dimension only, and by
  // the index along the other.
  set.add("(%x: tensor<2x3x4x5xf32>, %w: tensor<4xf32>)", R"(
    %s = kern.columns(%x, %w) bounds = [2, 3, 4, 5] reduced = [0, 2] maps = [
        affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d2)>,
        affine_map<(d0, d1, d2, d3) -> (d1, d3)>] {
    ^bb0(%a: f32, %b: f32):
      %i = kern.index 0 : i64
      %f = arith.sitofp %i : i64 to f32
      %g = arith.addf %f, %b : f32
      %p = arith.mulf %a, %g : f32
      %s = kern.fold sum %p : f32
      kern.yield %s : f32
    } : (tensor<2x3x4x5xf32>, tensor<4xf32>) -> tensor<3x5xf32>)");
  for (const auto &target : getRunnableTargets()) {
    set.compile(target);
    auto x = randomFloats(120, 3), w = randomFloats(4, 4);
    std::vector<double> first(40, 0), second(15, 0);
    for (int i = 0; i < 120; ++i) {
      int d3 = i % 5, d2 = i / 5 % 4, d1 = i / 20 % 3, d0 = i / 60;
      first[(d0 * 4 + d2) * 5 + d3] += x[i];
      second[d1 * 5 + d3] += x[i] * (d0 + double(w[d2]));
    }
    BufferPtr s = makeFloats(40), t = makeFloats(15);
    set.run(0, {makeBuffer(x)}, {s});
    expectNear(s->values<float>(), first, 1e-6, "over 1");
    set.run(1, {makeBuffer(x), makeBuffer(w)}, {t});
    expectNear(t->values<float>(), second, 1e-6, "over 0, 2");
  }
}
