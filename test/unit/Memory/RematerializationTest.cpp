// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rematerialisation: the same values, less memory with every step.

#include "bessemer/Memory/Rematerialization.h"
#include "ProblemBuilder.h"
#include "bessemer/Memory/Liveness.h"
#include "gtest/gtest.h"
#include <cmath>
#include <map>
#include <random>

using namespace bessemer;

namespace {
using Cost = Rematerializer::Cost;

int64_t bound(const MemoryProblem &problem) {
  return planStorage(problem, programOrder(problem)).alignedBound;
}

int64_t peak(const Rematerializer &plan) {
  return packOffsets(plan.getStorage().buffers).peak;
}

std::vector<Cost> equalCosts(const MemoryProblem &problem) {
  return std::vector<Cost>(problem.nodes.size(), 1.0);
}

/// What a value is: a number for each value at entry, and for a result one
/// made of its node, its place there and the node's operands.
class Meaning {
public:
  std::vector<size_t> of(const MemoryProblem &problem,
                         const std::vector<unsigned> &origins) {
    std::vector<size_t> meaning(problem.values.size());
    for (size_t v = 0; v < problem.values.size(); ++v)
      if (problem.values[v].atEntry())
        meaning[v] = numberOf({0, v});
    for (size_t n = 0; n < problem.nodes.size(); ++n) {
      std::vector<size_t> key = {1, origins[n]};
      for (unsigned operand : problem.nodes[n].operands) {
        EXPECT_NE(meaning[operand], 0u) << "used before it is made";
        key.push_back(meaning[operand]);
      }
      for (size_t r = 0; r < problem.nodes[n].results.size(); ++r) {
        key[0] = 1 + r;
        meaning[problem.nodes[n].results[r]] = numberOf(key);
      }
    }
    return meaning;
  }

private:
  size_t numberOf(const std::vector<size_t> &key) {
    return numbers.try_emplace(key, numbers.size() + 1).first->second;
  }
  std::map<std::vector<size_t>, size_t> numbers;
};

/// Steps to the end; every program computes what the first does, and needs
/// less.
void runToTheEnd(Rematerializer &plan) {
  Meaning meaning;
  const size_t given = plan.getProblem().values.size();
  std::vector<size_t> expected =
      meaning.of(plan.getProblem(), plan.getOrigins());
  std::vector<unsigned> firstOrigins = plan.getOrigins();
  int64_t last = plan.getBound();
  EXPECT_EQ(last, bound(plan.getProblem()));
  while (plan.step()) {
    EXPECT_LE(plan.getBound(), last);
    last = plan.getBound();
    EXPECT_EQ(last, bound(plan.getProblem()));
    std::vector<size_t> now = meaning.of(plan.getProblem(), plan.getOrigins());
    now.resize(given);
    ASSERT_EQ(now, expected);
    // The given nodes are there in their order, with their results, and what
    // they use means the same.
    size_t next = 0;
    for (size_t n = 0; n < plan.getOrigins().size(); ++n)
      if (!plan.isRepeated(n)) {
        ASSERT_EQ(plan.getOrigins()[n], firstOrigins[next++]);
      }
    ASSERT_EQ(next, firstOrigins.size());
  }
}

/// A large value that lies idle while a larger one is there.
MemoryProblem makeOneIdle() {
  ProblemBuilder b;
  unsigned x = b.input(64);
  unsigned a = b.node({x}, 1024);
  unsigned v = b.node({a}, 64);
  unsigned c = b.node({v}, 2048);
  unsigned d = b.node({c}, 64);
  b.output(b.node({a, d}, 64), 0);
  return b.problem;
}

/// Two such values, of which the first costs 100 and all else 1.
Rematerializer makeDearAndCheap() {
  ProblemBuilder b;
  unsigned x = b.input(64);
  unsigned dear = b.node({x}, 1024);
  unsigned cheap = b.node({x}, 1024);
  unsigned v = b.node({dear, cheap}, 64);
  unsigned c = b.node({v}, 2048);
  unsigned d = b.node({c}, 64);
  b.output(b.node({dear, cheap, d}, 64), 0);
  std::vector<Cost> costs = equalCosts(b.problem);
  costs[0] = 100;
  return Rematerializer(b.problem, costs);
}

TEST(Rematerialization, OneLargeValue) {
  // x -> a (1024) -> b (64) -> c (2048, from b) -> d (64, from c) -> e (a, d).
  // At c: a + b + c = 3136; without a: c + b = 2112, at e a and d: 1088+64.
  MemoryProblem problem = makeOneIdle();
  Rematerializer plan(problem, equalCosts(problem));
  EXPECT_EQ(plan.getBound(), 1024 + 64 + 2048);
  ASSERT_TRUE(plan.step());
  EXPECT_EQ(plan.getBound(), 64 + 2048);
  EXPECT_EQ(plan.getOrigins(), (std::vector<unsigned>{0, 1, 2, 3, 0, 4}));
  EXPECT_TRUE(plan.isRepeated(4));
  EXPECT_FALSE(plan.step());
  EXPECT_EQ(peak(plan), 64 + 2048);
}

TEST(Rematerialization, WhatMustNotBeRepeatedIsKept) {
  MemoryProblem problem = makeOneIdle();
  std::vector<Cost> costs = equalCosts(problem);
  costs[0] = std::nullopt;
  EXPECT_FALSE(Rematerializer(problem, costs).step());
}

TEST(Rematerialization, TheCheaperOfTwoIsRepeated) {
  Rematerializer plan = makeDearAndCheap();
  ASSERT_TRUE(plan.step());
  EXPECT_EQ(plan.getOrigins(), (std::vector<unsigned>{0, 1, 2, 3, 4, 1, 5}));
}

TEST(Rematerialization, StaysBelowACost) {
  // Both free 1024 bytes at the peak; only the second is cheap enough.
  Rematerializer plan = makeDearAndCheap();
  EXPECT_FALSE(plan.step(0.5));
  EXPECT_TRUE(plan.step(99));
  EXPECT_EQ(plan.getRepeatedCost(), 1);
  EXPECT_FALSE(plan.step(99));
  EXPECT_TRUE(plan.step(100));
  EXPECT_EQ(plan.getRepeatedCost(), 101);
}

TEST(Rematerialization, OffersWhatAStepDoes) {
  Rematerializer plan = makeDearAndCheap();
  ASSERT_TRUE(plan.peek());
  EXPECT_EQ(plan.peek()->cost, 1);
  EXPECT_EQ(plan.peek()->gain, 1024);
  EXPECT_EQ(plan.getRepeatedCost(), 0);
  EXPECT_FALSE(plan.peek(0.5));
  EXPECT_FALSE(plan.step(0.5));
  ASSERT_TRUE(plan.step());
  EXPECT_EQ(plan.getRepeatedCost(), 1);
  EXPECT_EQ(plan.peek()->cost, 100);
}

/// Forward: h[i] = f(h[i-1]); backward: g[i-1] = b(g[i], h[i-1], h[i]).
MemoryProblem makeChain(unsigned layers, int64_t bytes) {
  ProblemBuilder b;
  std::vector<unsigned> h = {b.input(bytes)};
  for (unsigned i = 0; i < layers; ++i)
    h.push_back(b.node({h.back()}, bytes));
  unsigned gradient = b.node({h.back()}, bytes);
  for (unsigned i = layers; i-- > 0;)
    gradient = b.node({gradient, h[i], h[i + 1]}, bytes);
  b.output(gradient, 0);
  return b.problem;
}

TEST(Rematerialization, AChainNeedsFarLess) {
  // Keeping every k-th value needs n / k + k values; Chen et al., "Training
  // Deep Nets with Sublinear Memory Cost", section 4.1: about 2 sqrt(n).
  constexpr int layers = 64, bytes = 64;
  MemoryProblem problem = makeChain(layers, bytes);
  Rematerializer plan(problem, equalCosts(problem));
  EXPECT_GE(plan.getBound(), layers * bytes);
  runToTheEnd(plan);
  EXPECT_LE(plan.getBound(), int64_t(2 * std::sqrt(layers) + 4) * bytes);
}

TEST(Rematerialization, ASmallerLimitNeverNeedsMore) {
  MemoryProblem problem = makeChain(24, 640);
  int64_t all = peak(Rematerializer(problem, equalCosts(problem)));
  int64_t last = INT64_MAX;
  for (int64_t limit = all; limit > 0; limit -= 320) {
    Rematerializer plan(problem, equalCosts(problem));
    while (peak(plan) > limit && plan.step()) {
    }
    EXPECT_LE(peak(plan), last);
    last = peak(plan);
  }
}

TEST(Rematerialization, RandomPrograms) {
  std::mt19937 random(7);
  int lowered = 0;
  for (int round = 0; round < 60; ++round) {
    ProblemBuilder b;
    auto below = [&](unsigned n) { return unsigned(random() % n); };
    std::vector<unsigned> values = {b.input(64), b.state(128), b.input(256)};
    for (int n = 0; n < 40; ++n) {
      std::vector<unsigned> operands;
      for (unsigned k = 0; k <= below(3); ++k)
        operands.push_back(values[values.size() - 1 -
                                  below(std::min<unsigned>(below(4) ? 4 : 30,
                                                           values.size()))]);
      ProblemBuilder::Reuses reuse;
      if (below(3) == 0)
        reuse.push_back({0, 0});
      if (below(4) == 0) {
        auto [first, second] =
            b.node2(operands, 64 * (1 + below(9)), 64 * (1 + below(9)), reuse);
        values.push_back(first);
        values.push_back(second);
      } else {
        values.push_back(b.node(operands, 64 * (1 + below(20)), reuse));
      }
    }
    b.output(values.back(), 0);
    unsigned written = values[values.size() - 3];
    b.problem.values[written].bytes = 128;
    if (!b.problem.values[written].atEntry())
      b.write(written, 0);
    std::vector<Cost> costs;
    for (size_t n = 0; n < b.problem.nodes.size(); ++n)
      costs.push_back(below(8) ? Cost(1 + below(20)) : std::nullopt);
    Rematerializer plan(b.problem, costs);
    int64_t before = plan.getBound();
    runToTheEnd(plan);
    lowered += plan.getBound() < before;
  }
  EXPECT_GT(lowered, 30);
}

TEST(Rematerialization, ResizeCountsAtOnce) {
  ProblemBuilder b;
  unsigned x = b.input(64);
  unsigned a = b.node({x}, 1024);
  b.output(b.node({a}, 64), 0);
  Rematerializer plan(b.problem, equalCosts(b.problem));
  plan.resize(a, 512);
  EXPECT_EQ(peak(plan), 512);
  EXPECT_EQ(plan.getPeakNode(), 0u);
}
} // namespace
