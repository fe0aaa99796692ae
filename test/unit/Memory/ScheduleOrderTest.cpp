// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scheduling: legality, known gains, and never worse than program order.

#include "bessemer/Memory/ScheduleOrder.h"
#include "ProblemBuilder.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <random>

using namespace bessemer;

namespace {
void expectLegal(const MemoryProblem &problem, const NodeOrder &order) {
  ASSERT_EQ(order.size(), problem.nodes.size());
  std::vector<int> at(order.size(), -1);
  for (size_t position = 0; position < order.size(); ++position)
    at[order[position]] = int(position);
  EXPECT_EQ(std::count(at.begin(), at.end(), -1), 0);
  std::vector<int> producers = problem.producers();
  for (size_t n = 0; n < problem.nodes.size(); ++n)
    for (unsigned v : problem.nodes[n].operands)
      if (producers[v] >= 0) {
        EXPECT_LT(at[producers[v]], at[n]);
      }
}

int64_t peak(const MemoryProblem &problem, const NodeOrder &order) {
  return planStorage(problem, order).alignedBound;
}

/// The lowest peak over all legal orders.
int64_t optimum(const MemoryProblem &problem) {
  std::vector<int> producers = problem.producers();
  NodeOrder order = programOrder(problem);
  int64_t best = INT64_MAX;
  do {
    std::vector<size_t> at(order.size());
    for (size_t position = 0; position < order.size(); ++position)
      at[order[position]] = position;
    bool legal = true;
    for (size_t n = 0; n < order.size(); ++n)
      for (unsigned v : problem.nodes[n].operands)
        legal &= producers[v] < 0 || at[producers[v]] < at[n];
    if (legal)
      best = std::min(best, peak(problem, order));
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(ScheduleOrder, Nothing) {
  EXPECT_TRUE(scheduleOrder(MemoryProblem()).empty());
}

TEST(ScheduleOrder, WeightGradientsComeEarly) {
  // Backward code that first walks all activation gradients, then makes the
  // weight gradients (small) from activations (large). Making each weight
  // gradient at once frees its activation.
  ProblemBuilder b;
  constexpr int layers = 4;
  std::vector<unsigned> activations = {b.node({b.input(6400)}, 6400)};
  for (int i = 0; i < layers; ++i)
    activations.push_back(b.node({activations.back()}, 6400));
  std::vector<unsigned> gradients = {b.node({activations.back()}, 6400)};
  for (int i = 0; i < layers; ++i)
    gradients.push_back(b.node({gradients.back()}, 6400));
  std::vector<unsigned> weights;
  for (int i = 0; i < layers; ++i)
    weights.push_back(b.node({activations[layers - 1 - i], gradients[i]}, 64));
  b.node(weights, 64);
  NodeOrder order = scheduleOrder(b.problem);
  expectLegal(b.problem, order);
  // Program order has all 5 activations but the last and all 5 gradients when
  // the last gradient is made.
  EXPECT_EQ(peak(b.problem, programOrder(b.problem)), 9 * 6400);
  // Now 5 activations and the first gradient; each further gradient takes the
  // place of an activation that has died.
  EXPECT_LE(peak(b.problem, order), 6 * 6400 + 2 * 64);
}

TEST(ScheduleOrder, TheUpdateComesBehindReadersOfTheOldValue) {
  ProblemBuilder b;
  unsigned w = b.state(64000);
  unsigned dy = b.node({b.input(64)}, 64);
  unsigned dw = b.node({dy, b.input(64)}, 64000);
  unsigned now = b.node({w, dw}, 64000, {{0, 0}});
  b.write(now, 0);
  unsigned dx = b.node({dy, w}, 64);
  b.output(dx, 0);
  NodeOrder order = scheduleOrder(b.problem);
  expectLegal(b.problem, order);
  StoragePlan before = planStorage(b.problem, programOrder(b.problem));
  StoragePlan after = planStorage(b.problem, order);
  EXPECT_EQ(before.storage[now].kind, Storage::Work);
  EXPECT_EQ(after.storage[now].kind, Storage::State);
  EXPECT_EQ(after.copiedBytes, 0);
}

TEST(ScheduleOrder, ImpossibleUpdatesAreCopied) {
  // The old value is read by a node that needs the new one.
  ProblemBuilder b;
  unsigned w = b.state(64);
  unsigned now = b.node({w}, 64, {{0, 0}});
  b.write(now, 0);
  unsigned change = b.node({w, now}, 64);
  b.output(change, 0);
  NodeOrder order = scheduleOrder(b.problem);
  EXPECT_EQ(order, programOrder(b.problem));
  EXPECT_EQ(planStorage(b.problem, order).copiedBytes, 64);
}

TEST(ScheduleOrder, KeepsProgramOrderWhenNothingIsGained) {
  ProblemBuilder b;
  unsigned a = b.node({b.input(64)}, 64);
  unsigned c = b.node({b.input(64)}, 64);
  b.node({a, c}, 64);
  EXPECT_EQ(scheduleOrder(b.problem), programOrder(b.problem));
}

TEST(ScheduleOrder, TrailingNodesStay) {
  ProblemBuilder b;
  unsigned big = b.node({b.input(64)}, 6400);
  unsigned other = b.node({b.input(64)}, 6400);
  b.node({other}, 64);
  b.node({big}, 64);
  b.problem.trailing = 2;
  NodeOrder order = scheduleOrder(b.problem);
  expectLegal(b.problem, order);
  EXPECT_EQ(order[2], 2u);
  EXPECT_EQ(order[3], 3u);
}

/// Random graphs in which a node reads up to three earlier values.
MemoryProblem randomProblem(std::mt19937 &random, int nodes) {
  ProblemBuilder b;
  std::vector<unsigned> made = {b.input(64), b.state(640)};
  for (int n = 0; n < nodes; ++n) {
    std::vector<unsigned> operands;
    for (unsigned i = 0; i <= random() % 3; ++i)
      operands.push_back(made[random() % made.size()]);
    ProblemBuilder::Reuses reuse;
    if (random() % 2)
      reuse.push_back({0, 0});
    made.push_back(b.node(operands, 64 * (1 + random() % 10), reuse));
  }
  b.problem.values[made.back()].bytes = 640;
  b.write(made.back(), 0);
  return b.problem;
}

TEST(ScheduleOrder, IsNeverWorseThanProgramOrder) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    MemoryProblem problem = randomProblem(random, 4 + random() % 40);
    NodeOrder order = scheduleOrder(problem);
    expectLegal(problem, order);
    EXPECT_LE(peak(problem, order), peak(problem, programOrder(problem)));
    EXPECT_EQ(order, scheduleOrder(problem));
  }
}

TEST(ScheduleOrder, SmallCasesComeCloseToTheOptimum) {
  std::mt19937 random(9);
  int optimal = 0;
  constexpr int rounds = 60;
  for (int round = 0; round < rounds; ++round) {
    MemoryProblem problem = randomProblem(random, 7);
    int64_t found = peak(problem, scheduleOrder(problem));
    int64_t best = optimum(problem);
    EXPECT_LE(found, best + best / 4) << "round " << round;
    optimal += found == best;
  }
  EXPECT_GE(optimal, rounds * 9 / 10);
}
} // namespace
