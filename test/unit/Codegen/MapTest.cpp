// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kern.map against loops.

#include "Codegen/CPU/IterationSpace.h"
#include "KernelTest.h"
#include "llvm/Support/FormatVariadic.h"

using namespace bessemer;
using namespace bessemer::test;
using llvm::formatv;

TEST(Map, BiasAndReluOfManyShapes) {
  KernelSet set;
  std::vector<std::pair<int, int>> shapes = {
      {1, 1}, {1, 5},  {3, 7},    {32, 10},  {2, 16},   {5, 17},
      {7, 1}, {4, 64}, {3, 1000}, {9, 8193}, {2, 40000}};
  for (auto [m, n] : shapes)
    set.add(formatv("(%x: tensor<{0}x{1}xf32>, %b: tensor<{1}xf32>)", m, n),
            formatv(R"(%y = kern.map(%x, %b) bounds = [{0}, {1}] maps = [
              affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>,
              affine_map<(d0, d1) -> (d0, d1)>] {{
            ^bb0(%a: f32, %c: f32):
              %zero = arith.constant 0.0 : f32
              %s = arith.addf %a, %c : f32
              %r = arith.maximumf %s, %zero : f32
              kern.yield %r : f32
            } : (tensor<{0}x{1}xf32>, tensor<{1}xf32>) -> tensor<{0}x{1}xf32>)",
                    m, n));
  for (const auto &target : getRunnableTargets()) {
    set.compile(target);
    for (size_t i = 0; i < shapes.size(); ++i) {
      auto [m, n] = shapes[i];
      auto x = randomFloats(m * n, 1), b = randomFloats(n, 2);
      x[0] = NAN;
      BufferPtr y = makeFloats(m * n);
      set.run(i, {makeBuffer(x), makeBuffer(b)}, {y});
      std::vector<double> expected;
      for (int r = 0; r < m; ++r)
        for (int c = 0; c < n; ++c) {
          float sum = x[r * n + c] + b[c];
          expected.push_back(std::isnan(sum) ? sum : std::max(sum, 0.0f));
        }
      expectNear(y->values<float>(), expected, 0, formatv("{0}x{1}", m, n));
    }
  }
}

TEST(Map, Transposes) {
  KernelSet set;
  set.add("(%x: tensor<5x6x7xf32>)", R"(
    %y = kern.map(%x) bounds = [7, 5, 6] maps = [affine_map<(d0, d1, d2) -> (d1, d2, d0)>,
        affine_map<(d0, d1, d2) -> (d0, d1, d2)>] {
    ^bb0(%a: f32):
      kern.yield %a : f32
    } : (tensor<5x6x7xf32>) -> tensor<7x5x6xf32>)");
  // Two results, one of them transposed.
  set.add("(%x: tensor<19x33xf32>)", R"(
    %y, %z = kern.map(%x) bounds = [19, 33] maps = [affine_map<(d0, d1) -> (d0, d1)>,
        affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>] {
    ^bb0(%a: f32):
      %n = arith.negf %a : f32
      kern.yield %n, %a : f32, f32
    } : (tensor<19x33xf32>) -> (tensor<19x33xf32>, tensor<33x19xf32>))");
  for (const auto &target : getRunnableTargets()) {
    set.compile(target);
    auto x = randomFloats(5 * 6 * 7, 3);
    BufferPtr y = makeFloats(x.size());
    set.run(0, {makeBuffer(x)}, {y});
    std::vector<double> expected;
    for (int a = 0; a < 7; ++a)
      for (int b = 0; b < 5; ++b)
        for (int c = 0; c < 6; ++c)
          expected.push_back(x[(b * 6 + c) * 7 + a]);
    expectNear(y->values<float>(), expected, 0, "transpose");

    auto u = randomFloats(19 * 33, 4);
    BufferPtr v = makeFloats(u.size()), w = makeFloats(u.size());
    set.run(1, {makeBuffer(u)}, {v, w});
    for (int i = 0; i < 19; ++i)
      for (int j = 0; j < 33; ++j) {
        ASSERT_EQ(v->as<float>()[i * 33 + j], -u[i * 33 + j]);
        ASSERT_EQ(w->as<float>()[j * 19 + i], u[i * 33 + j]);
      }
  }
}

// As a transposed convolution's tiles: vectors run along the dimension of 9,
// not along that of 2, whose stores are contiguous.
TEST(Map, InterleavesPairs) {
  KernelSet set;
  set.add("(%x: tensor<2x5x9xf32>)", R"(
    %y = kern.map(%x) bounds = [5, 9, 2] maps = [affine_map<(d0, d1, d2) -> (d2, d0, d1)>,
        affine_map<(d0, d1, d2) -> (d0, d1, d2)>] {
    ^bb0(%a: f32):
      kern.yield %a : f32
    } : (tensor<2x5x9xf32>) -> tensor<5x9x2xf32>)");
  EXPECT_EQ(cpu::IterationSpace::get(set.getOp(0)).pickVectorDim(false), 0);
  for (const auto &target : getRunnableTargets()) {
    set.compile(target);
    auto x = randomFloats(2 * 5 * 9, 6);
    BufferPtr y = makeFloats(x.size());
    set.run(0, {makeBuffer(x)}, {y});
    for (int i = 0; i < 45; ++i)
      for (int j = 0; j < 2; ++j)
        ASSERT_EQ(y->as<float>()[i * 2 + j], x[j * 45 + i]);
  }
}

// Four elements are the shortest vector.
TEST(Map, VectorsHaveFourElementsOrMore) {
  // Dimensions 0 and 1 are one, of 45 elements, in an iteration space.
  for (auto [size, expected] : {std::pair(3, 0), std::pair(4, 1)}) {
    KernelSet set;
    set.add(formatv("(%x: tensor<{0}x5x9xf32>)", size), formatv(R"(
    %y = kern.map(%x) bounds = [5, 9, {0}] maps = [affine_map<(d0, d1, d2) -> (d2, d0, d1)>,
        affine_map<(d0, d1, d2) -> (d0, d1, d2)>] {{
    ^bb0(%a: f32):
      kern.yield %a : f32
    } : (tensor<{0}x5x9xf32>) -> tensor<5x9x{0}xf32>)",
                                                                size));
    EXPECT_EQ(cpu::IterationSpace::get(set.getOp(0)).pickVectorDim(false),
              expected);
  }
}

TEST(Map, ComputesOnScalars) {
  KernelSet set;
  set.add("(%t: tensor<i64>, %n: tensor<i64>)", R"(
    %c, %u, %big = kern.map(%t, %n) bounds = [] maps = [affine_map<() -> ()>, affine_map<() -> ()>,
        affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>] {
    ^bb0(%i: i64, %m: i64):
      %one = arith.constant 1 : i64
      %next = arith.addi %i, %one : i64
      %f = arith.sitofp %next : i64 to f64
      %log = arith.constant -0.10536051565782628 : f64
      %p = arith.mulf %f, %log : f64
      %e = math.exp %p : f64
      %l = arith.constant 1.0 : f64
      %d = arith.subf %l, %e : f64
      %s = arith.truncf %d : f64 to f32
      %more = arith.cmpi sgt, %next, %m : i64
      kern.yield %s, %next, %more : f32, i64, i1
    } : (tensor<i64>, tensor<i64>) -> (tensor<f32>, tensor<i64>, tensor<i1>))");
  for (const auto &target : getRunnableTargets()) {
    set.compile(target);
    EXPECT_EQ(set.getTiles(0), 1);
    for (int64_t t : {0, 1, 9, 500}) {
      BufferPtr correction = makeFloats(1);
      BufferPtr next = makeBuffer(std::vector<int64_t>{0});
      BufferPtr more = makeBuffer(std::vector<char>{7});
      set.run(0,
              {makeBuffer(std::vector<int64_t>{t}),
               makeBuffer(std::vector<int64_t>{9})},
              {correction, next, more});
      EXPECT_FLOAT_EQ(correction->as<float>()[0],
                      float(1 - std::pow(0.9, t + 1)));
      EXPECT_EQ(next->as<int64_t>()[0], t + 1);
      EXPECT_EQ(more->as<char>()[0], t + 1 > 9);
    }
  }
}

TEST(Map, ReadsAndWritesMasksAndIntegers) {
  KernelSet set;
  const int n = 77;
  set.add("(%l: tensor<77xi64>, %x: tensor<77xf32>, %m: tensor<77xi1>)", R"(
    %y, %k = kern.map(%l, %x, %m) bounds = [77] maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>,
        affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
    ^bb0(%i: i64, %a: f32, %b: i1):
      %j = kern.index 0 : i64
      %three = arith.constant 3 : i64
      %r = arith.remsi %i, %three : i64
      %d = arith.divsi %j, %i : i64
      %f = arith.sitofp %d : i64 to f32
      %s = arith.select %b, %a, %f : f32
      %eq = arith.cmpi eq, %r, %three : i64
      %zero = arith.constant 0.0 : f32
      %pos = arith.cmpf ogt, %s, %zero : f32
      kern.yield %s, %pos : f32, i1
    } : (tensor<77xi64>, tensor<77xf32>, tensor<77xi1>) -> (tensor<77xf32>, tensor<77xi1>))");
  std::vector<int64_t> labels(n);
  std::vector<char> masks(n);
  auto x = randomFloats(n, 5);
  for (int i = 0; i < n; ++i) {
    labels[i] = i % 7 + 1;
    masks[i] = i % 3 == 0;
  }
  for (const auto &target : getRunnableTargets()) {
    set.compile(target);
    BufferPtr y = makeFloats(n), positive = makeBuffer(std::vector<char>(n));
    set.run(0, {makeBuffer(labels), makeBuffer(x), makeBuffer(masks)},
            {y, positive});
    for (int i = 0; i < n; ++i) {
      float expected = masks[i] ? x[i] : float(i / labels[i]);
      ASSERT_EQ(y->as<float>()[i], expected) << i;
      ASSERT_EQ(positive->as<char>()[i], expected > 0) << i;
    }
  }
}

TEST(Map, MayRunInPlace) {
  KernelSet set;
  set.add("(%x: tensor<10000xf32>)", R"(
    %y = kern.map(%x) bounds = [10000] maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
    ^bb0(%a: f32):
      %s = arith.mulf %a, %a : f32
      kern.yield %s : f32
    } : (tensor<10000xf32>) -> tensor<10000xf32>)");
  for (const auto &target : getRunnableTargets()) {
    set.compile(target);
    EXPECT_GE(set.getTiles(0), 1);
    auto x = randomFloats(10000, 6);
    BufferPtr buffer = makeBuffer(x);
    set.runOnce(0, {buffer, buffer});
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(buffer->as<float>()[i], x[i] * x[i]);
  }
}

/// Philox4x32-10, written from the paper.
static std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c,
                                      std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t(0xD2511F53) * c[0], p1 = uint64_t(0xCD9E8D57) * c[2];
    c = {uint32_t(p1 >> 32) ^ c[1] ^ key[0], uint32_t(p1),
         uint32_t(p0 >> 32) ^ c[3] ^ key[1], uint32_t(p0)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return c;
}

TEST(Map, RandomNumbersAreThoseOfRandom123) {
  // kat_vectors of the Random123 library.
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0})[0], 0x6627e8d5u);
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                   {0xffffffff, 0xffffffff})[0],
            0x408f276du);
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                   {0xa4093822, 0x299f31d0})[0],
            0xd16cfe09u);

  KernelSet set;
  // The first number is that of element 0x85a308d3243f6a88.
  set.add("(%step: !graph.step)", R"(
    %y = kern.map(%step) bounds = [9, 37] maps = [affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>] {
    ^bb0(%s: !graph.step):
      %i = kern.index 0 : i64
      %j = kern.index 1 : i64
      %n = arith.constant 37 : i64
      %first = arith.constant 0x85a308d3243f6a88 : i64
      %row = arith.muli %i, %n : i64
      %e = arith.addi %row, %j : i64
      %f = arith.addi %e, %first : i64
      %u = kern.random %s, %f id = 5 : f32
      kern.yield %u : f32
    } : (!graph.step) -> tensor<9x37xf32>)");
  uint64_t step = 0x0370734413198a2e, seed = 0x299f31d0a4093822 ^ 5;
  std::vector<uint64_t> block = {step, seed, 0, 0, 0, 0, 0, 0};
  for (const auto &target : getRunnableTargets()) {
    set.compile(target);
    BufferPtr y = makeFloats(9 * 37);
    set.run(0, {makeBuffer(block)}, {y});
    for (uint64_t i = 0; i < 9 * 37; ++i) {
      uint64_t element = 0x85a308d3243f6a88 + i;
      uint32_t word = philox(
          {uint32_t(element), uint32_t(element >> 32), 0x13198a2e, 0x03707344},
          {0xa4093822, 0x299f31d0})[0];
      ASSERT_EQ(y->as<float>()[i], float(word >> 8) * 0x1p-24f) << i;
    }
  }
}
