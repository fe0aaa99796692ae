// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kern.gemm against loops in double.

#include "KernelTest.h"
#include "llvm/Support/FormatVariadic.h"

using namespace bessemer::test;
using llvm::formatv;

namespace {
struct Shape {
  int m, n, k;
  bool transA = false, transB = false;
  int batch = 0;

  std::string typeOf(int rows, int columns) const {
    return batch
               ? formatv("tensor<{0}x{1}x{2}xf32>", batch, rows, columns).str()
               : formatv("tensor<{0}x{1}xf32>", rows, columns).str();
  }
  std::string a() const { return transA ? typeOf(k, m) : typeOf(m, k); }
  std::string b() const { return transB ? typeOf(n, k) : typeOf(k, n); }
  std::string c() const { return typeOf(m, n); }
  std::string flags() const {
    return std::string(transA ? " trans_a" : "") + (transB ? " trans_b" : "");
  }
  std::string name() const {
    return formatv("{0}x{1}x{2}{3} batch {4}", m, n, k, flags(), batch);
  }
  std::string map() const {
    return batch ? "affine_map<(d0, d1, d2) -> (d0, d1, d2)>"
                 : "affine_map<(d0, d1) -> (d0, d1)>";
  }
  int batches() const { return batch ? batch : 1; }

  size_t add(KernelSet &set) const {
    return set.add("(%a: " + a() + ", %b: " + b() + ")",
                   "%c = kern.gemm %a, %b" + flags() + " maps = [" + map() +
                       "] {\n^bb0(%x: f32):\nkern.yield %x : f32\n} : (" + a() +
                       ", " + b() + ") -> " + c());
  }
  /// Accumulators in double.
  std::vector<double> multiply(const std::vector<float> &a,
                               const std::vector<float> &b) const {
    std::vector<double> c;
    for (int batchIndex = 0; batchIndex < batches(); ++batchIndex)
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
          double sum = 0;
          for (int l = 0; l < k; ++l)
            sum +=
                double(
                    a[batchIndex * m * k + (transA ? l * m + i : i * k + l)]) *
                b[batchIndex * n * k + (transB ? j * k + l : l * n + j)];
          c.push_back(sum);
        }
    return c;
  }
};
} // namespace

static void check(const std::vector<Shape> &shapes) {
  KernelSet set;
  for (const Shape &shape : shapes)
    shape.add(set);
  for (const auto &target : getRunnableTargets()) {
    set.compile(target);
    for (size_t i = 0; i < shapes.size(); ++i) {
      const Shape &shape = shapes[i];
      auto a = randomFloats(shape.batches() * shape.m * shape.k, 1);
      auto b = randomFloats(shape.batches() * shape.k * shape.n, 2);
      BufferPtr c = makeFloats(shape.batches() * shape.m * shape.n);
      set.run(i, {makeBuffer(a), makeBuffer(b)}, {c});
      expectNear(c->values<float>(), shape.multiply(a, b),
                 3e-6 * std::sqrt(shape.k),
                 shape.name() + " on " + target.name.str());
    }
  }
}

TEST(Gemm, ManyShapes) {
  std::vector<int> sizes = {1, 2, 5, 7, 8, 10, 16, 17, 48, 49, 84, 100};
  std::vector<Shape> shapes;
  // Every pair of sizes in (m, n), (n, k), (m, k) occurs for some flags.
  int count = sizes.size();
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < count; ++j) {
      int flags = (i + 2 * j) % 4;
      shapes.push_back({sizes[i], sizes[j], sizes[(i * 5 + j * 7) % count],
                        flags % 2 != 0, flags / 2 != 0});
    }
  check(shapes);
}

TEST(Gemm, ManyFlags) {
  std::vector<Shape> shapes;
  for (int flags = 0; flags < 4; ++flags) {
    bool transA = flags % 2, transB = flags / 2;
    shapes.push_back({64, 120, 400, transA, transB});
    shapes.push_back({300, 97, 33, transA, transB});
    shapes.push_back({1, 784, 50, transA, transB});
    shapes.push_back({50, 1, 784, transA, transB});
    shapes.push_back({19, 33, 5000, transA, transB});
    shapes.push_back({40, 10, 4096, transA, transB});
    shapes.push_back({5, 50, 9, transA, transB, 3});
    shapes.push_back({17, 17, 17, transA, transB, 7});
    shapes.push_back({21, 220, 2500, transA, transB, 2});
    shapes.push_back({3, 200, 30, transA, transB});
    shapes.push_back({512, 200, 40, transA, transB, 2});
    shapes.push_back({512, 70, 2100, transA, transB});
  }
  check(shapes);
}

TEST(Gemm, EpiloguesReadExtras) {
  KernelSet set;
  std::vector<Shape> shapes = {
      {33, 50, 20, false, true}, {7, 10, 84, false, true}, {64, 300, 5000}};
  for (const Shape &shape : shapes) {
    std::string signature =
        formatv("(%a: {0}, %b: {1}, %bias: tensor<{2}xf32>, %row: "
                "tensor<{3}xf32>, %old: {4})",
                shape.a(), shape.b(), shape.n, shape.m, shape.c());
    std::string head = formatv(
        R"(= kern.gemm %a, %b{0} extras(%bias, %row, %old) maps = [affine_map<(d0, d1) -> (d1)>,
           affine_map<(d0, d1) -> (d0)>, {1}, {1})",
        shape.flags(), shape.map());
    std::string types =
        formatv("({0}, {1}, tensor<{2}xf32>, tensor<{3}xf32>, {4})", shape.a(),
                shape.b(), shape.n, shape.m, shape.c());
    // One that is emitted per accumulator, and one that is a loop and has two
    // results, the second a mask.
    set.add(signature, "%y " + head + R"(] {
      ^bb0(%x: f32, %c: f32, %r: f32, %o: f32):
        %s = arith.addf %x, %c : f32
        %t = arith.mulf %s, %r : f32
        %u = arith.addf %t, %o : f32
        kern.yield %u : f32
      } : )" + types + " -> " +
                           shape.c());
    std::string mask = formatv("tensor<{0}x{1}xi1>", shape.m, shape.n);
    set.add(signature, "%y, %m " + head + ", " + shape.map() + R"(] {
      ^bb0(%x: f32, %c: f32, %r: f32, %o: f32):
        %i = kern.index 0 : i64
        %j = kern.index 1 : i64
        %ij = arith.addi %i, %j : i64
        %f = arith.sitofp %ij : i64 to f32
        %s = arith.addf %x, %c : f32
        %t = math.tanh %s : f32
        %d = arith.divf %t, %r : f32
        %u = arith.addf %d, %o : f32
        %v = arith.addf %u, %f : f32
        %zero = arith.constant 0.0 : f32
        %p = arith.cmpf ogt, %t, %zero : f32
        kern.yield %v, %p : f32, i1
      } : )" + types + " -> (" +
                           shape.c() + ", " + mask + ")");
  }
  for (const auto &target : getRunnableTargets()) {
    set.compile(target);
    for (size_t i = 0; i < shapes.size(); ++i) {
      const Shape &shape = shapes[i];
      auto a = randomFloats(shape.m * shape.k, 1);
      auto b = randomFloats(shape.k * shape.n, 2);
      auto bias = randomFloats(shape.n, 3), row = randomFloats(shape.m, 4);
      auto old = randomFloats(shape.m * shape.n, 5);
      for (float &value : row)
        value = 1 + std::fabs(value);
      std::vector<double> product = shape.multiply(a, b), first, second;
      double tolerance = 2e-6 * std::sqrt(shape.k);
      for (int r = 0; r < shape.m; ++r)
        for (int c = 0; c < shape.n; ++c) {
          double sum = product[r * shape.n + c] + bias[c];
          first.push_back(sum * row[r] + old[r * shape.n + c]);
          second.push_back(std::tanh(sum) / row[r] + old[r * shape.n + c] + r +
                           c);
        }
      BufferPtr y = makeFloats(product.size());
      std::vector<BufferPtr> operands = {makeBuffer(a), makeBuffer(b),
                                         makeBuffer(bias), makeBuffer(row),
                                         makeBuffer(old)};
      set.run(2 * i, operands, {y});
      expectNear(y->values<float>(), first, 4 * tolerance, shape.name());
      BufferPtr mask = makeBuffer(std::vector<char>(product.size()));
      set.run(2 * i + 1, operands, {y, mask});
      expectNear(y->values<float>(), second, 4 * tolerance, shape.name());
      for (size_t e = 0; e < product.size(); ++e)
        if (double sum = product[e] + bias[e % shape.n];
            std::fabs(sum) > 1e-3) {
          ASSERT_EQ(mask->as<char>()[e], sum > 0);
        }
      // The result over an extra.
      BufferPtr inPlace = makeBuffer(old);
      operands.back() = inPlace;
      operands.push_back(inPlace);
      set.runOnce(2 * i, operands);
      expectNear(inPlace->values<float>(), first, 4 * tolerance, "in place");
    }
  }
}

TEST(Gemm, SmallProductsHaveSeveralTiles) {
  KernelSet set;
  Shape{128, 1024, 784}.add(set);
  Shape{128, 64, 256}.add(set);
  for (const auto &target : getRunnableTargets()) {
    set.compile(target);
    EXPECT_GE(set.getTiles(0), 8);
    EXPECT_GE(set.getTiles(1), 2);
  }
}
