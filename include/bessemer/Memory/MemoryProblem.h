// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the memory stage knows of a function: which node reads and makes which
// value, and where values must lie in the end. Free of MLIR, so that the
// algorithms on it are tested alone.

#ifndef BESSEMER_MEMORY_MEMORYPROBLEM_H
#define BESSEMER_MEMORY_MEMORYPROBLEM_H

#include <cstdint>
#include <vector>

namespace bessemer {

struct MemoryProblem {
  struct Value {
    int64_t bytes = 0;
    /// The value exists at entry (input, constant, step block) in memory that
    /// nothing overwrites.
    bool external = false;
    /// The state whose value at entry this is, or -1. At most one value per
    /// state.
    int entryState = -1;
    /// States that must hold it after the function. A state is in the list of
    /// at most one value. A value at entry is in the list of a state only
    /// when its own memory is not overwritten (external, or a state that no
    /// value is written to); FunctionModel makes copies where it is not so.
    std::vector<unsigned> states;
    /// Outputs that must hold it after the function.
    std::vector<unsigned> outputs;

    bool atEntry() const { return external || entryState >= 0; }
  };

  /// Result `result` of a node may take the memory of operand `operand`.
  struct Reuse {
    unsigned operand;
    unsigned result;
  };

  /// One command.
  struct Node {
    std::vector<unsigned> operands;
    std::vector<unsigned> results;
    std::vector<Reuse> reuse;
  };

  std::vector<Value> values;
  /// In program order: a node's operands are made before it.
  std::vector<Node> nodes;
  /// So many nodes at the end stay there in every order.
  unsigned trailing = 0;
  unsigned states = 0;

  /// The value of each state at entry, or -1 when nothing reads it.
  std::vector<int> entryValues() const;
  /// The node that makes each value, or -1.
  std::vector<int> producers() const;
};

/// Positions of the nodes in time: order[p] is the node at position p.
using NodeOrder = std::vector<unsigned>;

NodeOrder programOrder(const MemoryProblem &problem);

} // namespace bessemer

#endif // BESSEMER_MEMORY_MEMORYPROBLEM_H
