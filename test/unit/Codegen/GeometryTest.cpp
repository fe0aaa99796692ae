// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// map, rows and columns on random bounds, indexing maps, shifts and reduced
// dimensions against loops in double.

#include "KernelTest.h"
#include "bessemer/Dialect/Kern/IR/Kern.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace bessemer::test;
using llvm::formatv;

namespace {
using Dims = std::vector<int>;

/// A random op. It computes u = a + b c + index(d), and with folds
/// s = sum(u), m = max(u): element results u (map) or u m + s, row results s.
struct RandomOp {
  std::string family;
  Dims bounds, reduced;
  std::vector<Dims> inputs, results; // dimensions of each operand, in order
  /// Of each input, dimension by dimension: where the bounds begin, and its
  /// size, which may end before or after them.
  std::vector<Dims> shifts, sizes;
  int indexDim;

  explicit RandomOp(unsigned seed);

  bool isMap() const { return family == "map"; }
  Dims shapeOf(const Dims &dims) const {
    Dims shape;
    for (int dim : dims)
      shape.push_back(bounds[dim]);
    return shape;
  }
  static size_t size(const Dims &shape) {
    size_t product = 1;
    for (int bound : shape)
      product *= bound;
    return product;
  }
  static std::string typeOf(const Dims &shape) {
    std::string text = "tensor<";
    for (int bound : shape)
      text += std::to_string(bound) + "x";
    return text + "f32>";
  }
  std::string mapOf(const Dims &dims, const Dims &shift) const;
  std::string signature() const;
  std::string text() const;
  /// Offset of the element of an operand at the given iteration.
  size_t offset(const Dims &dims, const Dims &point) const {
    size_t result = 0;
    for (int dim : dims)
      result = result * bounds[dim] + point[dim];
    return result;
  }
  /// The element of input `i` at the given iteration, zero outside.
  double element(const std::vector<float> &operand, int i,
                 const Dims &point) const {
    size_t result = 0;
    for (size_t j = 0; j < inputs[i].size(); ++j) {
      int index = point[inputs[i][j]] + shifts[i][j];
      if (index < 0 || index >= sizes[i][j])
        return 0;
      result = result * sizes[i][j] + index;
    }
    return operand[result];
  }
  void forEachPoint(llvm::function_ref<void(const Dims &)> body) const;
  std::vector<std::vector<double>>
  evaluate(const std::vector<std::vector<float>> &operands) const;
};
} // namespace

RandomOp::RandomOp(unsigned seed) {
  std::mt19937 random(seed);
  auto below = [&](int n) { return int(random() % n); };
  int rank = 1 + below(4);
  const int choices[] = {1, 2, 3, 5, 7, 17, 33, 40};
  for (int i = 0; i < rank; ++i)
    bounds.push_back(choices[below(rank > 3 ? 6 : 8)]);
  Dims all(rank), kept;
  for (int i = 0; i < rank; ++i)
    all[i] = i;
  family = std::vector<std::string>{"map", "rows", "columns"}[below(3)];
  if (!isMap())
    while (reduced.empty())
      for (int dim : all)
        if (below(2))
          reduced.push_back(dim);
  std::sort(reduced.begin(), reduced.end());
  reduced.erase(std::unique(reduced.begin(), reduced.end()), reduced.end());
  for (int dim : all)
    if (!llvm::is_contained(reduced, dim))
      kept.push_back(dim);
  auto shuffled = [&](Dims dims) {
    if (below(2))
      std::shuffle(dims.begin(), dims.end(), random);
    return dims;
  };
  inputs.push_back(shuffled(all));
  for (int i = 0; i < 2; ++i) {
    Dims some;
    for (int dim : all)
      if (below(2))
        some.push_back(dim);
    inputs.push_back(shuffled(some));
  }
  results.push_back(shuffled(all));
  results.push_back(shuffled(isMap() ? all : kept));
  indexDim = below(rank);
  for (const Dims &dims : inputs) {
    Dims shift(dims.size(), 0), shape = shapeOf(dims);
    bool isShifted = seed % 2 && below(2);
    for (size_t i = 0; i < dims.size() && isShifted; ++i) {
      if (below(2))
        continue;
      shift[i] = below(7) - 3;
      shape[i] = std::max(1, shape[i] + below(7) - 3);
    }
    shifts.push_back(shift);
    sizes.push_back(shape);
  }
}

std::string RandomOp::mapOf(const Dims &dims, const Dims &shift) const {
  std::string from, to;
  for (size_t i = 0; i < bounds.size(); ++i)
    from += formatv("{0}d{1}", i ? ", " : "", i);
  for (size_t i = 0; i < dims.size(); ++i)
    to += formatv("{0}d{1} + {2}", i ? ", " : "", dims[i], shift[i]);
  return "affine_map<(" + from + ") -> (" + to + ")>";
}

std::string RandomOp::signature() const {
  return formatv("(%x: {0}, %y: {1}, %z: {2})", typeOf(sizes[0]),
                 typeOf(sizes[1]), typeOf(sizes[2]));
}

static std::string listOf(const Dims &values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i)
    text += formatv("{0}{1}", i ? ", " : "", values[i]);
  return text + "]";
}

std::string RandomOp::text() const {
  std::string maps;
  for (size_t i = 0; i < inputs.size(); ++i)
    maps += (maps.empty() ? "" : ", ") + mapOf(inputs[i], shifts[i]);
  for (const Dims &dims : results)
    maps += ", " + mapOf(dims, Dims(dims.size(), 0));
  std::string body = formatv(R"(^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %b, %c : f32
    %q = arith.addf %a, %p : f32
    %i = kern.index {0} : i64
    %f = arith.sitofp %i : i64 to f32
    %u = arith.addf %q, %f : f32
    )",
                             indexDim);
  if (isMap())
    body += "kern.yield %u, %q : f32, f32\n";
  else
    body += R"(%s = kern.fold sum %u : f32
    %m = kern.fold max %u : f32
    %um = arith.mulf %u, %m : f32
    %e = arith.addf %um, %s : f32
    kern.yield %e, %s : f32, f32
    )";
  return formatv("%r, %t = kern.{0}(%x, %y, %z) bounds = {1}{2} maps = [{3}] "
                 "{{\n{4}} : ({5}, {6}, {7}) -> ({8}, {9})",
                 family, listOf(bounds),
                 isMap() ? "" : " reduced = " + listOf(reduced), maps, body,
                 typeOf(sizes[0]), typeOf(sizes[1]), typeOf(sizes[2]),
                 typeOf(shapeOf(results[0])), typeOf(shapeOf(results[1])));
}

void RandomOp::forEachPoint(llvm::function_ref<void(const Dims &)> body) const {
  Dims point(bounds.size(), 0);
  while (true) {
    body(point);
    int dim = bounds.size() - 1;
    while (dim >= 0 && ++point[dim] == bounds[dim])
      point[dim--] = 0;
    if (dim < 0)
      return;
  }
}

std::vector<std::vector<double>>
RandomOp::evaluate(const std::vector<std::vector<float>> &operands) const {
  auto q = [&](const Dims &point) {
    return element(operands[0], 0, point) +
           element(operands[1], 1, point) * element(operands[2], 2, point);
  };
  auto u = [&](const Dims &point) { return q(point) + point[indexDim]; };
  std::vector<std::vector<double>> values = {
      std::vector<double>(size(shapeOf(results[0]))),
      std::vector<double>(size(shapeOf(results[1])))};
  if (isMap()) {
    forEachPoint([&](const Dims &point) {
      values[0][offset(results[0], point)] = u(point);
      values[1][offset(results[1], point)] = q(point);
    });
    return values;
  }
  std::vector<double> largest(values[1].size(), -INFINITY);
  forEachPoint([&](const Dims &point) {
    size_t row = offset(results[1], point);
    values[1][row] += u(point);
    largest[row] = std::max(largest[row], u(point));
  });
  forEachPoint([&](const Dims &point) {
    size_t row = offset(results[1], point);
    values[0][offset(results[0], point)] =
        u(point) * largest[row] + values[1][row];
  });
  return values;
}

TEST(Geometry, RandomOpsMatchLoops) {
  KernelSet set;
  std::vector<RandomOp> ops;
  for (unsigned seed = 0; seed < 300; ++seed) {
    ops.emplace_back(seed);
    set.add(ops.back().signature(), ops.back().text());
  }
  int reused = 0;
  for (const auto &target : getRunnableTargets()) {
    set.compile(target);
    for (size_t i = 0; i < ops.size(); ++i) {
      const RandomOp &op = ops[i];
      std::vector<std::vector<float>> operands;
      std::vector<BufferPtr> from, to;
      for (const Dims &shape : op.sizes) {
        operands.push_back(randomFloats(op.size(shape), operands.size()));
        from.push_back(makeBuffer(operands.back()));
      }
      for (const Dims &dims : op.results)
        to.push_back(makeFloats(op.size(op.shapeOf(dims))));
      set.run(i, from, to);
      auto expected = op.evaluate(operands);
      auto check = [&](int result, const std::string &how) {
        expectNear(to[result]->values<float>(), expected[result], 1e-5,
                   formatv("seed {0} on {1}, result {2}{3}: {4}", i,
                           target.name, result, how, op.text()));
      };
      check(0, "");
      check(1, "");
      // Every result in every operand's buffer that the memory planner may
      // choose.
      auto kernel = llvm::cast<bessemer::kern::KernelOpInterface>(set.getOp(i));
      for (int operand = 0; operand < 3; ++operand)
        for (int result = 0; result < 2; ++result) {
          if (!kernel.canReuseOperand(operand, result))
            continue;
          ++reused;
          BufferPtr shared = makeBuffer(operands[operand]);
          std::vector<BufferPtr> buffers = {from[0], from[1], from[2], to[0],
                                            to[1]};
          buffers[operand] = buffers[3 + result] = shared;
          set.runOnce(i, buffers);
          std::swap(to[result], shared);
          check(0, " in place");
          check(1, " in place");
          std::swap(to[result], shared);
        }
    }
  }
  EXPECT_GT(reused, 50);
}
