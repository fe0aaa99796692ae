// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Greedy rematerialisation. Pure C++ over a MemoryProblem.

#include "bessemer/Memory/Rematerialization.h"
#include "bessemer/Memory/Liveness.h"
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

using namespace bessemer;

namespace {
/// Trials that a step plans in full before it gives up.
constexpr size_t kTrialsPerStep = 48;
/// Nodes that are repeated for one value.
constexpr unsigned kMostRepeated = 64;
/// A value so much smaller than what is freed is kept longer rather than
/// computed again, too.
constexpr int64_t kSmallShare = 8;
/// A program grows to so many times its nodes at most.
constexpr size_t kMostGrowth = 8;

/// When the values of a problem are made and used.
struct Timeline {
  std::vector<int> producers;
  /// Positions, ascending.
  std::vector<std::vector<unsigned>> uses;

  explicit Timeline(const MemoryProblem &problem)
      : producers(problem.producers()), uses(problem.values.size()) {
    for (unsigned n = 0; n < problem.nodes.size(); ++n)
      for (unsigned v : problem.nodes[n].operands)
        if (uses[v].empty() || uses[v].back() != n)
          uses[v].push_back(n);
  }

  /// The position where the value is last made or used.
  int last(unsigned v) const {
    return uses[v].empty() ? producers[v] : int(uses[v].back());
  }
  /// The first use behind `position`, or -1.
  int nextUse(unsigned v, unsigned position) const {
    auto next = std::upper_bound(uses[v].begin(), uses[v].end(), position);
    return next == uses[v].end() ? -1 : int(*next);
  }
  bool isUsedAt(unsigned v, unsigned position) const {
    return std::binary_search(uses[v].begin(), uses[v].end(), position);
  }
};
} // namespace

/// Nodes to repeat, in order, right before a position.
struct Rematerializer::Trial : Offer {
  unsigned position = 0;
  std::vector<unsigned> nodes;
  /// By operand of those nodes that another value of its family replaces:
  /// (index in `nodes`, value) -> value. A value that is itself repeated is
  /// not in here.
  std::map<std::pair<size_t, unsigned>, unsigned> replacements;
};

/// Finds what has to be repeated to have the results of one node once more.
class Rematerializer::TrialBuilder {
public:
  TrialBuilder(const Rematerializer &owner, const Timeline &time,
               const std::vector<std::vector<unsigned>> &versions)
      : owner(owner), time(time), versions(versions) {}

  /// The results of `node` before `position`, which free `gain` bytes.
  std::optional<Trial> build(unsigned node, unsigned position, int64_t gain) {
    trial = {};
    trial.position = position;
    trial.gain = gain;
    freed = gain;
    chosen.clear();
    if (!repeat(node) || trial.gain <= 0)
      return std::nullopt;
    return std::move(trial);
  }

private:
  bool repeat(unsigned node);
  /// Sees to it that the value, or one equal to it, is there. Sets
  /// `replacement` when it is another one that exists.
  bool provide(unsigned value, std::optional<unsigned> &replacement);

  const Rematerializer &owner;
  const Timeline &time;
  const std::vector<std::vector<unsigned>> &versions;
  Trial trial;
  int64_t freed = 0;
  /// Nodes that are repeated already.
  std::set<unsigned> chosen;
};

bool Rematerializer::TrialBuilder::provide(
    unsigned value, std::optional<unsigned> &replacement) {
  const MemoryProblem &problem = owner.problem;
  if (problem.values[value].atEntry())
    return true;
  // The version that is used last, of those that are there.
  unsigned best = value;
  for (unsigned version : versions[owner.families[value]])
    if (time.producers[version] < int(trial.position) &&
        time.last(version) > time.last(best))
      best = version;
  auto keep = [&] {
    if (best != value)
      replacement = best;
    return true;
  };
  bool isKept = !problem.values[best].states.empty() ||
                !problem.values[best].outputs.empty();
  if (isKept || time.last(best) >= int(trial.position))
    return keep();
  int64_t bytes = alignBuffer(problem.values[best].bytes);
  bool addsAtPeak = time.last(best) < int(owner.peakPosition);
  if (!addsAtPeak || bytes * kSmallShare <= freed) {
    if (addsAtPeak)
      trial.gain -= bytes;
    return keep();
  }
  return repeat(time.producers[value]);
}

bool Rematerializer::TrialBuilder::repeat(unsigned node) {
  if (chosen.count(node))
    return true;
  const Cost &cost = owner.costs[owner.origins[node]];
  if (!cost || chosen.size() >= kMostRepeated)
    return false;
  chosen.insert(node);
  trial.cost += *cost;
  std::vector<std::pair<unsigned, unsigned>> replaced;
  for (unsigned operand : owner.problem.nodes[node].operands) {
    std::optional<unsigned> replacement;
    if (!provide(operand, replacement))
      return false;
    if (replacement)
      replaced.emplace_back(operand, *replacement);
  }
  size_t index = trial.nodes.size();
  for (auto [operand, replacement] : replaced)
    trial.replacements[{index, operand}] = replacement;
  trial.nodes.push_back(node);
  return true;
}

Rematerializer::Rematerializer(MemoryProblem given, std::vector<Cost> costs)
    : problem(std::move(given)), costs(std::move(costs)),
      origins(problem.nodes.size()), repeated(problem.nodes.size()),
      families(problem.values.size()) {
  std::iota(origins.begin(), origins.end(), 0u);
  std::iota(families.begin(), families.end(), 0u);
  measure();
}

void Rematerializer::measure() {
  storage = planStorage(problem, programOrder(problem));
  // Final copies read buffers behind the last node.
  LivePeak live = findLivePeak(storage, problem.nodes.size() + 1);
  score = {live.bytes, live.positions};
  peakPosition = live.first;
  next = nullptr;
}

std::optional<unsigned> Rematerializer::getPeakNode() const {
  if (peakPosition >= problem.nodes.size())
    return std::nullopt;
  return peakPosition;
}

void Rematerializer::resize(unsigned value, int64_t bytes) {
  for (size_t v = 0; v < problem.values.size(); ++v)
    if (families[v] == value)
      problem.values[v].bytes = bytes;
  measure();
}

/// The most promising first.
std::vector<Rematerializer::Trial> Rematerializer::findTrials() const {
  Timeline time(problem);
  std::vector<std::vector<unsigned>> versions(problem.values.size());
  for (unsigned v = 0; v < problem.values.size(); ++v)
    versions[families[v]].push_back(v);
  TrialBuilder builder(*this, time, versions);
  std::vector<Trial> trials;
  unsigned nodes = std::min(peakPosition, problem.nodes.size());
  for (unsigned n = 0; n < nodes; ++n) {
    // The results that lie there at the peak and wait for a later use.
    int position = -1;
    int64_t gain = 0;
    for (unsigned v : problem.nodes[n].results) {
      const MemoryProblem::Value &value = problem.values[v];
      int next = time.nextUse(v, peakPosition);
      if (!value.states.empty() || !value.outputs.empty() || next < 0 ||
          time.isUsedAt(v, peakPosition))
        continue;
      gain += alignBuffer(value.bytes);
      position = position < 0 ? next : std::min(position, next);
    }
    if (position < 0 || gain == 0)
      continue;
    if (std::optional<Trial> trial = builder.build(n, position, gain))
      trials.push_back(std::move(*trial));
  }
  std::stable_sort(trials.begin(), trials.end(),
                   [](const Trial &a, const Trial &b) {
                     return a.getRatio() > b.getRatio();
                   });
  return trials;
}

/// Repeats nodes and lets what comes behind use their results.
static void
apply(MemoryProblem &problem, std::vector<unsigned> &families,
      unsigned position, const std::vector<unsigned> &nodes,
      const std::map<std::pair<size_t, unsigned>, unsigned> &replacements) {
  std::map<unsigned, unsigned> renamed;
  std::vector<MemoryProblem::Node> copies;
  for (size_t index = 0; index < nodes.size(); ++index) {
    MemoryProblem::Node copy = problem.nodes[nodes[index]];
    for (unsigned &operand : copy.operands)
      if (auto other = replacements.find({index, operand});
          other != replacements.end())
        operand = other->second;
      else if (auto again = renamed.find(operand); again != renamed.end())
        operand = again->second;
    for (unsigned &result : copy.results) {
      MemoryProblem::Value value;
      value.bytes = problem.values[result].bytes;
      unsigned id = problem.values.size();
      problem.values.push_back(value);
      families.push_back(families[result]);
      renamed[result] = id;
      result = id;
    }
    copies.push_back(std::move(copy));
  }
  for (size_t n = position; n < problem.nodes.size(); ++n)
    for (unsigned &operand : problem.nodes[n].operands)
      if (auto again = renamed.find(operand); again != renamed.end())
        operand = again->second;
  problem.nodes.insert(problem.nodes.begin() + position, copies.begin(),
                       copies.end());
}

std::optional<Rematerializer::Offer> Rematerializer::peek(double most) {
  if (next && offer.cost <= most)
    return offer;
  if (problem.nodes.size() > kMostGrowth * costs.size())
    return std::nullopt;
  std::vector<Trial> trials = findTrials();
  std::erase_if(trials, [&](const Trial &trial) { return trial.cost > most; });
  if (trials.size() > kTrialsPerStep)
    trials.resize(kTrialsPerStep);
  for (const Trial &trial : trials) {
    Rematerializer changed = *this;
    apply(changed.problem, changed.families, trial.position, trial.nodes,
          trial.replacements);
    auto insert = [&](auto &list, auto value) {
      size_t at = trial.position;
      for (unsigned node : trial.nodes)
        list.insert(list.begin() + at++, value(node));
    };
    insert(changed.origins, [&](unsigned node) { return origins[node]; });
    insert(changed.repeated, [](unsigned) { return true; });
    changed.repeatedCost += trial.cost;
    changed.measure();
    if (changed.score < score) {
      next = std::make_shared<const Rematerializer>(std::move(changed));
      offer = trial;
      return offer;
    }
  }
  return std::nullopt;
}

bool Rematerializer::step(double most) {
  if (!peek(most))
    return false;
  // The next program, which the assignment must not free, has none yet.
  *this = Rematerializer(*next);
  return true;
}
