// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes memory problems in few words.

#ifndef BESSEMER_TEST_UNIT_MEMORY_PROBLEMBUILDER_H
#define BESSEMER_TEST_UNIT_MEMORY_PROBLEMBUILDER_H

#include "bessemer/Memory/MemoryProblem.h"
#include <utility>

struct ProblemBuilder {
  bessemer::MemoryProblem problem;

  using Reuses = std::vector<bessemer::MemoryProblem::Reuse>;

  unsigned value(int64_t bytes) {
    problem.values.emplace_back();
    problem.values.back().bytes = bytes;
    return problem.values.size() - 1;
  }
  unsigned input(int64_t bytes) {
    unsigned v = value(bytes);
    problem.values[v].external = true;
    return v;
  }
  /// The old value of a new state.
  unsigned state(int64_t bytes) {
    unsigned v = value(bytes);
    problem.values[v].entryState = problem.states++;
    return v;
  }
  unsigned node(std::vector<unsigned> operands, int64_t bytes,
                Reuses reuse = {}) {
    unsigned v = value(bytes);
    problem.nodes.push_back({std::move(operands), {v}, std::move(reuse)});
    return v;
  }
  std::pair<unsigned, unsigned> node2(std::vector<unsigned> operands,
                                      int64_t first, int64_t second,
                                      Reuses reuse = {}) {
    unsigned a = value(first), b = value(second);
    problem.nodes.push_back({std::move(operands), {a, b}, std::move(reuse)});
    return {a, b};
  }
  void write(unsigned v, unsigned state) {
    problem.values[v].states.push_back(state);
  }
  void output(unsigned v, unsigned output) {
    problem.values[v].outputs.push_back(output);
  }
};

#endif // BESSEMER_TEST_UNIT_MEMORY_PROBLEMBUILDER_H
