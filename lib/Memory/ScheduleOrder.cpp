// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// List scheduling for memory. Pure C++ over a MemoryProblem.

#include "bessemer/Memory/ScheduleOrder.h"
#include <algorithm>
#include <set>
#include <tuple>

using namespace bessemer;

namespace {
/// Bounds the moves tried, so that thousands of nodes take a fraction of a
/// second.
constexpr int64_t kMoveWork = 20'000'000;

class Scheduler {
public:
  explicit Scheduler(const MemoryProblem &problem)
      : problem(problem), movable(problem.nodes.size() - problem.trailing) {}

  NodeOrder run();

private:
  using Edges = std::vector<std::set<unsigned>>;

  void findEdges();
  /// Readers of a state's old value before the node that overwrites it, where
  /// that is possible.
  void addStateEdges();
  bool reaches(unsigned from, unsigned to) const;
  /// Bytes of work memory that a value takes, when states and outputs are
  /// computed in place.
  int64_t workBytes(unsigned value) const;

  template <typename Cost> NodeOrder listForward(Cost cost) const;
  NodeOrder listBackward() const;
  /// Keeps the order if it is the best so far.
  bool consider(const NodeOrder &order);
  void moveSingleNodes();

  /// Peak, bytes copied, and for how long the peak lasts.
  using Score = std::tuple<int64_t, int64_t, int64_t>;
  Score score(const NodeOrder &order);

  const MemoryProblem &problem;
  const size_t movable;
  Edges successors, predecessors;
  NodeOrder best;
  Score bestScore;
  /// Where the peak of the order that was scored last is.
  int64_t peakPosition = 0;
};
} // namespace

void Scheduler::findEdges() {
  successors.resize(problem.nodes.size());
  predecessors.resize(problem.nodes.size());
  std::vector<int> producers = problem.producers();
  for (size_t n = 0; n < problem.nodes.size(); ++n)
    for (unsigned v : problem.nodes[n].operands)
      if (producers[v] >= 0) {
        successors[producers[v]].insert(n);
        predecessors[n].insert(producers[v]);
      }
}

bool Scheduler::reaches(unsigned from, unsigned to) const {
  std::vector<unsigned> stack = {from};
  std::vector<bool> seen(problem.nodes.size());
  while (!stack.empty()) {
    unsigned node = stack.back();
    stack.pop_back();
    if (node == to)
      return true;
    if (seen[node])
      continue;
    seen[node] = true;
    stack.insert(stack.end(), successors[node].begin(), successors[node].end());
  }
  return false;
}

void Scheduler::addStateEdges() {
  std::vector<int> producers = problem.producers();
  std::vector<int> entryValues = problem.entryValues();
  for (size_t v = 0; v < problem.values.size(); ++v) {
    if (producers[v] < 0)
      continue;
    for (unsigned state : problem.values[v].states) {
      unsigned writer = producers[v];
      for (unsigned reader = 0; reader < problem.nodes.size(); ++reader) {
        const auto &operands = problem.nodes[reader].operands;
        if (reader == writer || entryValues[state] < 0 ||
            std::find(operands.begin(), operands.end(),
                      unsigned(entryValues[state])) == operands.end())
          continue;
        if (successors[reader].count(writer) || reaches(writer, reader))
          continue;
        successors[reader].insert(writer);
        predecessors[writer].insert(reader);
      }
    }
  }
}

int64_t Scheduler::workBytes(unsigned value) const {
  const MemoryProblem::Value &v = problem.values[value];
  return v.atEntry() || !v.states.empty() || !v.outputs.empty()
             ? 0
             : alignBuffer(v.bytes);
}

/// Takes, again and again, the ready node of lowest cost, the first among
/// equals. `cost` gets the node, the bytes it allocates and those it frees.
template <typename Cost> NodeOrder Scheduler::listForward(Cost cost) const {
  std::vector<size_t> waiting(movable);
  std::vector<size_t> usesLeft(problem.values.size());
  std::set<unsigned> ready;
  for (size_t n = 0; n < problem.nodes.size(); ++n) {
    std::set<unsigned> operands(problem.nodes[n].operands.begin(),
                                problem.nodes[n].operands.end());
    for (unsigned v : operands)
      ++usesLeft[v];
    if (n < movable && !(waiting[n] = predecessors[n].size()))
      ready.insert(n);
  }
  NodeOrder order;
  while (!ready.empty()) {
    unsigned chosen = 0;
    auto lowest = std::make_pair(INT64_MAX, INT64_MAX);
    for (unsigned n : ready) {
      int64_t allocates = 0, frees = 0;
      for (unsigned v : problem.nodes[n].results)
        allocates += workBytes(v);
      std::set<unsigned> operands(problem.nodes[n].operands.begin(),
                                  problem.nodes[n].operands.end());
      for (unsigned v : operands)
        if (usesLeft[v] == 1)
          frees += workBytes(v);
      auto value = cost(n, allocates, frees);
      if (value < lowest) {
        lowest = value;
        chosen = n;
      }
    }
    ready.erase(chosen);
    order.push_back(chosen);
    std::set<unsigned> operands(problem.nodes[chosen].operands.begin(),
                                problem.nodes[chosen].operands.end());
    for (unsigned v : operands)
      --usesLeft[v];
    for (unsigned next : successors[chosen])
      if (next < movable && --waiting[next] == 0)
        ready.insert(next);
  }
  for (size_t n = movable; n < problem.nodes.size(); ++n)
    order.push_back(n);
  return order;
}

/// Takes from the end the node that adds the fewest live bytes before it, the
/// last among equals.
NodeOrder Scheduler::listBackward() const {
  std::vector<size_t> waiting(movable);
  std::vector<bool> live(problem.values.size());
  std::set<unsigned> ready;
  for (size_t n = 0; n < problem.nodes.size(); ++n) {
    if (n >= movable) {
      for (unsigned v : problem.nodes[n].operands)
        live[v] = true;
      continue;
    }
    for (unsigned next : successors[n])
      waiting[n] += next < movable;
    if (!waiting[n])
      ready.insert(n);
  }
  NodeOrder order;
  while (!ready.empty()) {
    unsigned chosen = 0;
    int64_t lowest = INT64_MAX;
    for (unsigned n : ready) {
      int64_t change = 0;
      std::set<unsigned> operands(problem.nodes[n].operands.begin(),
                                  problem.nodes[n].operands.end());
      for (unsigned v : operands)
        change += live[v] ? 0 : workBytes(v);
      for (unsigned v : problem.nodes[n].results)
        change -= workBytes(v);
      if (change <= lowest) {
        lowest = change;
        chosen = n;
      }
    }
    ready.erase(chosen);
    order.push_back(chosen);
    for (unsigned v : problem.nodes[chosen].operands)
      live[v] = true;
    for (unsigned previous : predecessors[chosen])
      if (--waiting[previous] == 0)
        ready.insert(previous);
  }
  std::reverse(order.begin(), order.end());
  for (size_t n = movable; n < problem.nodes.size(); ++n)
    order.push_back(n);
  return order;
}

Scheduler::Score Scheduler::score(const NodeOrder &order) {
  StoragePlan plan = planStorage(problem, order);
  LivePeak live = findLivePeak(plan, order.size());
  peakPosition = live.first;
  return {plan.alignedBound, plan.copiedBytes, live.positions};
}

bool Scheduler::consider(const NodeOrder &order) {
  Score candidate = score(order);
  bool better = best.empty() || candidate < bestScore;
  // How long the peak lasts only guides the moves.
  if (better) {
    best = order;
    bestScore = candidate;
  }
  return better;
}

/// Moves single nodes as long as that lowers the peak or shortens it: first
/// across the peak as far as their neighbours allow, then to any place.
void Scheduler::moveSingleNodes() {
  int64_t tries =
      kMoveWork / int64_t(64 * std::max<size_t>(1, problem.nodes.size()));
  auto tryMove = [&](size_t from, size_t to) {
    NodeOrder order = best;
    if (from < to)
      std::rotate(order.begin() + from, order.begin() + from + 1,
                  order.begin() + to + 1);
    else
      std::rotate(order.begin() + to, order.begin() + from,
                  order.begin() + from + 1);
    --tries;
    return consider(order);
  };
  auto improveOnce = [&] {
    score(best);
    size_t peak = peakPosition;
    for (bool anywhere : {false, true})
      for (size_t from = 0; from < movable; ++from) {
        const auto &before = predecessors[best[from]];
        const auto &after = successors[best[from]];
        size_t first = from, last = from;
        while (first > 0 && !before.count(best[first - 1]))
          --first;
        while (last + 1 < movable && !after.count(best[last + 1]))
          ++last;
        if (!anywhere) {
          size_t to =
              from <= peak ? std::min(last, peak + 1) : std::max(first, peak);
          if (tries > 0 && (from <= peak) != (to <= peak) && tryMove(from, to))
            return true;
          continue;
        }
        for (size_t to = first; to <= last && tries > 0; ++to)
          if (to != from && tryMove(from, to))
            return true;
      }
    return false;
  };
  while (tries > 0 && improveOnce()) {
  }
}

NodeOrder Scheduler::run() {
  findEdges();
  NodeOrder program = programOrder(problem);
  consider(program);
  Score programScore = bestScore;
  addStateEdges();
  using Pair = std::pair<int64_t, int64_t>;
  consider(
      listForward([](unsigned n, int64_t, int64_t) { return Pair(0, n); }));
  consider(listForward([](unsigned, int64_t allocates, int64_t frees) {
    return Pair(allocates - frees, allocates);
  }));
  consider(listForward([](unsigned, int64_t allocates, int64_t frees) {
    return Pair(allocates, -frees);
  }));
  consider(listBackward());
  moveSingleNodes();
  // An order that saves nothing is not worth its difference.
  auto saved = [](const Score &s) {
    return std::make_pair(std::get<0>(s), std::get<1>(s));
  };
  return saved(bestScore) < saved(programScore) ? best : program;
}

NodeOrder bessemer::scheduleOrder(const MemoryProblem &problem) {
  if (problem.nodes.size() <= problem.trailing)
    return programOrder(problem);
  return Scheduler(problem).run();
}
