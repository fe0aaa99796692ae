// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes values again instead of keeping them, so that a function needs less
// memory. Pure C++ over a MemoryProblem.

#ifndef BESSEMER_MEMORY_REMATERIALIZATION_H
#define BESSEMER_MEMORY_REMATERIALIZATION_H

#include "bessemer/Memory/Liveness.h"
#include <limits>
#include <memory>
#include <optional>

namespace bessemer {

/// A sequence of programs that compute the same, each with a lower liveness
/// bound than the one before, or with the same bound at fewer positions.
///
/// A step looks at the first position where most bytes are live, and at the
/// values that lie there only because something needs them later. It repeats,
/// right before that later use, the node that makes such a value, and what has
/// to be repeated for it, and picks the node that frees most bytes for its
/// cost. This is the greedy choice of Kirisame et al., "Dynamic Tensor
/// Rematerialization" (ICLR 2021), section 2, made ahead of time and checked
/// against the planned memory.
///
/// The sequence does not depend on how much memory there is. So whoever takes
/// its first program that fits never gets a larger peak for a smaller limit.
class Rematerializer {
public:
  /// What repeating a node costs, in any unit; nothing: it must not be
  /// repeated.
  using Cost = std::optional<double>;

  /// The nodes of `problem` run in their order.
  Rematerializer(MemoryProblem problem, std::vector<Cost> costs);

  /// What the next program repeats, and the bytes that it no longer keeps at
  /// the peak.
  struct Offer {
    double cost = 0;
    int64_t gain = 0;
    double getRatio() const { return double(gain) / (cost + 1e-9); }
  };

  /// What a step would do; nothing at the last program, or when every next one
  /// repeats work of a larger cost than `most`.
  std::optional<Offer>
  peek(double most = std::numeric_limits<double>::infinity());
  /// Goes to the next program. Returns false, and stays, where there is none.
  bool step(double most = std::numeric_limits<double>::infinity());

  /// The program: the given nodes in the given order, with repeated ones
  /// between them. Values of the given problem keep their numbers.
  const MemoryProblem &getProblem() const { return problem; }
  /// Per node of the program, the given node that it is, or repeats.
  const std::vector<unsigned> &getOrigins() const { return origins; }
  /// Whether node `n` of the program is a repetition.
  bool isRepeated(unsigned n) const { return repeated[n]; }

  /// The cost of all repetitions.
  double getRepeatedCost() const { return repeatedCost; }

  /// Most bytes of work memory live at once.
  int64_t getBound() const { return score.bound; }
  /// Where the program keeps its values.
  const StoragePlan &getStorage() const { return storage; }
  /// The first node at which most bytes are live.
  std::optional<unsigned> getPeakNode() const;

  /// Changes the size of a value of the given problem (the temporaries of a
  /// loop whose body got a new program).
  void resize(unsigned value, int64_t bytes);

private:
  /// Most bytes live, and at how many positions.
  struct Score {
    int64_t bound = 0, positions = 0;
    auto operator<=>(const Score &) const = default;
  };
  struct Trial;
  class TrialBuilder;

  std::vector<Trial> findTrials() const;
  void measure();

  MemoryProblem problem;
  std::vector<Cost> costs; // by node of the given problem
  std::vector<unsigned> origins;
  std::vector<bool> repeated;
  /// Per value, the value of the given problem that it equals.
  std::vector<unsigned> families;
  StoragePlan storage;
  Score score;
  /// The next program, once it has been looked for.
  std::shared_ptr<const Rematerializer> next;
  Offer offer;
  double repeatedCost = 0;
  size_t peakPosition = 0;
};

} // namespace bessemer

#endif // BESSEMER_MEMORY_REMATERIALIZATION_H
