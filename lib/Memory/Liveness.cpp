// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lifetimes and in-place decisions. Pure C++ over a MemoryProblem.

#include "bessemer/Memory/Liveness.h"
#include <algorithm>
#include <numeric>

using namespace bessemer;

std::vector<int> MemoryProblem::entryValues() const {
  std::vector<int> result(states, -1);
  for (size_t v = 0; v < values.size(); ++v)
    if (values[v].entryState >= 0)
      result[values[v].entryState] = int(v);
  return result;
}

std::vector<int> MemoryProblem::producers() const {
  std::vector<int> result(values.size(), -1);
  for (size_t n = 0; n < nodes.size(); ++n)
    for (unsigned v : nodes[n].results)
      result[v] = int(n);
  return result;
}

NodeOrder bessemer::programOrder(const MemoryProblem &problem) {
  NodeOrder order(problem.nodes.size());
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

namespace {
class Planner {
public:
  Planner(const MemoryProblem &problem, const NodeOrder &order)
      : problem(problem), order(order), entryOf(problem.entryValues()) {}

  StoragePlan run();

private:
  void findLastUses();
  void placeEntryValues();
  void placeResult(int64_t position, unsigned node, unsigned resultIndex);
  bool placeInState(int64_t position, unsigned node, unsigned resultIndex);
  void placeInOutput(int64_t position, unsigned node, unsigned resultIndex);
  void placeInWork(int64_t position, unsigned node, unsigned resultIndex);
  /// Whether the result may overwrite `value` wherever the node reads it.
  bool mayOverwrite(unsigned node, unsigned resultIndex, unsigned value) const;
  /// A work buffer whose value dies at the node and that the result may take,
  /// or -1.
  int reusableBuffer(int64_t position, unsigned node,
                     unsigned resultIndex) const;
  void dropUnused();
  void measure();

  const MemoryProblem &problem;
  const NodeOrder &order;
  std::vector<int> entryOf;
  std::vector<int64_t> lastUse;
  /// The value each work buffer holds now; -1: the buffer is given up.
  std::vector<int> holder;
  StoragePlan plan;
};
} // namespace

void Planner::findLastUses() {
  lastUse.assign(problem.values.size(), -1);
  for (size_t position = 0; position < order.size(); ++position) {
    const MemoryProblem::Node &node = problem.nodes[order[position]];
    for (unsigned v : node.operands)
      lastUse[v] = position;
    for (unsigned v : node.results)
      lastUse[v] = position;
  }
  for (size_t v = 0; v < problem.values.size(); ++v) {
    const MemoryProblem::Value &value = problem.values[v];
    bool copiedLast =
        value.atEntry() ? std::any_of(value.states.begin(), value.states.end(),
                                      [&](unsigned s) {
                                        return int(s) != value.entryState;
                                      })
                        : !value.states.empty() || !value.outputs.empty();
    if (copiedLast)
      lastUse[v] = order.size();
  }
}

void Planner::placeEntryValues() {
  for (size_t v = 0; v < problem.values.size(); ++v) {
    const MemoryProblem::Value &value = problem.values[v];
    if (!value.atEntry())
      continue;
    if (value.entryState >= 0)
      plan.storage[v] = {Storage::State, unsigned(value.entryState)};
    for (unsigned output : value.outputs)
      plan.entryCopies.push_back({unsigned(v), {Storage::Output, output}});
    for (unsigned state : value.states)
      if (int(state) != value.entryState)
        plan.finalCopies.push_back({unsigned(v), {Storage::State, state}});
  }
}

bool Planner::mayOverwrite(unsigned node, unsigned resultIndex,
                           unsigned value) const {
  const MemoryProblem::Node &n = problem.nodes[node];
  for (unsigned operand = 0; operand < n.operands.size(); ++operand) {
    if (n.operands[operand] != value)
      continue;
    bool allowed = std::any_of(
        n.reuse.begin(), n.reuse.end(), [&](const MemoryProblem::Reuse &reuse) {
          return reuse.operand == operand && reuse.result == resultIndex;
        });
    if (!allowed)
      return false;
  }
  return true;
}

bool Planner::placeInState(int64_t position, unsigned node,
                           unsigned resultIndex) {
  unsigned v = problem.nodes[node].results[resultIndex];
  for (unsigned state : problem.values[v].states) {
    int old = entryOf[state];
    if (old >= 0 && lastUse[old] > position)
      continue;
    if (old >= 0 && lastUse[old] == position &&
        !mayOverwrite(node, resultIndex, old))
      continue;
    plan.storage[v] = {Storage::State, state};
    return true;
  }
  return false;
}

int Planner::reusableBuffer(int64_t position, unsigned node,
                            unsigned resultIndex) const {
  unsigned v = problem.nodes[node].results[resultIndex];
  for (unsigned operand : problem.nodes[node].operands) {
    const Storage &storage = plan.storage[operand];
    if (problem.values[operand].atEntry() || storage.kind != Storage::Work ||
        lastUse[operand] != position || holder[storage.index] != int(operand) ||
        problem.values[operand].bytes != problem.values[v].bytes)
      continue;
    if (mayOverwrite(node, resultIndex, operand))
      return int(storage.index);
  }
  return -1;
}

void Planner::placeInOutput(int64_t position, unsigned node,
                            unsigned resultIndex) {
  unsigned v = problem.nodes[node].results[resultIndex];
  Storage output = {Storage::Output, problem.values[v].outputs.front()};
  plan.storage[v] = output;
  // What it could be computed in place of may as well lie in the output, too.
  int buffer = reusableBuffer(position, node, resultIndex);
  if (buffer < 0)
    return;
  for (Storage &storage : plan.storage)
    if (storage == Storage{Storage::Work, unsigned(buffer)})
      storage = output;
  holder[buffer] = -1;
}

void Planner::placeInWork(int64_t position, unsigned node,
                          unsigned resultIndex) {
  unsigned v = problem.nodes[node].results[resultIndex];
  int buffer = reusableBuffer(position, node, resultIndex);
  if (buffer < 0) {
    buffer = int(plan.buffers.size());
    plan.buffers.push_back({problem.values[v].bytes, position, position});
    holder.push_back(-1);
  }
  plan.storage[v] = {Storage::Work, unsigned(buffer)};
  plan.buffers[buffer].last = lastUse[v];
  holder[buffer] = int(v);
}

void Planner::placeResult(int64_t position, unsigned node,
                          unsigned resultIndex) {
  unsigned v = problem.nodes[node].results[resultIndex];
  const MemoryProblem::Value &value = problem.values[v];
  if (!placeInState(position, node, resultIndex)) {
    if (!value.outputs.empty())
      placeInOutput(position, node, resultIndex);
    else
      placeInWork(position, node, resultIndex);
  }
  for (unsigned state : value.states)
    if (plan.storage[v] != Storage{Storage::State, state})
      plan.finalCopies.push_back({v, {Storage::State, state}});
  for (unsigned output : value.outputs)
    if (plan.storage[v] != Storage{Storage::Output, output})
      plan.finalCopies.push_back({v, {Storage::Output, output}});
}

/// Removes the buffers that were given up for outputs.
void Planner::dropUnused() {
  std::vector<unsigned> renamed(plan.buffers.size());
  std::vector<BufferLifetime> kept;
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    renamed[b] = kept.size();
    if (holder[b] >= 0)
      kept.push_back(plan.buffers[b]);
  }
  for (Storage &storage : plan.storage)
    if (storage.kind == Storage::Work)
      storage.index = renamed[storage.index];
  plan.buffers = std::move(kept);
}

void Planner::measure() {
  plan.bound = livenessBound(plan.buffers);
  std::vector<BufferLifetime> rounded = plan.buffers;
  for (BufferLifetime &buffer : rounded)
    buffer.bytes = alignBuffer(buffer.bytes);
  plan.alignedBound = livenessBound(rounded);
  for (const auto &copies : {plan.entryCopies, plan.finalCopies})
    for (const StoragePlan::Copy &copy : copies)
      plan.copiedBytes += problem.values[copy.value].bytes;
}

StoragePlan Planner::run() {
  plan.storage.resize(problem.values.size());
  findLastUses();
  placeEntryValues();
  for (size_t position = 0; position < order.size(); ++position)
    for (unsigned r = 0; r < problem.nodes[order[position]].results.size(); ++r)
      placeResult(position, order[position], r);
  dropUnused();
  measure();
  return std::move(plan);
}

StoragePlan bessemer::planStorage(const MemoryProblem &problem,
                                  const NodeOrder &order) {
  return Planner(problem, order).run();
}

LivePeak bessemer::findLivePeak(const StoragePlan &plan, int64_t end) {
  std::vector<int64_t> change(end + 1);
  auto add = [&](int64_t position, int64_t bytes) {
    if (position < end)
      change[position] += bytes;
  };
  for (const BufferLifetime &buffer : plan.buffers) {
    add(buffer.first, alignBuffer(buffer.bytes));
    add(buffer.last + 1, -alignBuffer(buffer.bytes));
  }
  LivePeak peak;
  peak.bytes = plan.alignedBound;
  int64_t live = 0;
  for (int64_t position = 0; position < end; ++position) {
    live += change[position];
    if (live == peak.bytes && !peak.positions++)
      peak.first = position;
  }
  return peak;
}
