// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides for one order of the nodes in which memory each value lies and how
// long that memory is in use.

#ifndef BESSEMER_MEMORY_LIVENESS_H
#define BESSEMER_MEMORY_LIVENESS_H

#include "bessemer/Memory/MemoryProblem.h"
#include "bessemer/Memory/OffsetPacking.h"

namespace bessemer {

/// Where a value lies.
struct Storage {
  enum Kind {
    /// Its own memory: input, constant or step block.
    External,
    /// The slice of state `index`.
    State,
    /// Output `index`.
    Output,
    /// Work buffer `index`.
    Work
  };
  Kind kind = External;
  unsigned index = 0;

  bool operator==(const Storage &) const = default;
};

struct StoragePlan {
  /// Per value.
  std::vector<Storage> storage;
  /// Work buffers. Positions are those of the order; a buffer that a final
  /// copy reads is live to the position behind the last node. A buffer may
  /// hold several values one after the other (in place).
  std::vector<BufferLifetime> buffers;

  struct Copy {
    unsigned value;
    Storage to;
  };
  /// Values at entry that are outputs: copied before the first node.
  std::vector<Copy> entryCopies;
  /// Values that could not be computed where they belong: copied after the
  /// last node. None reads what another one writes.
  std::vector<Copy> finalCopies;

  /// Most bytes of work buffers live at once, as they are and with sizes
  /// rounded up to the alignment.
  int64_t bound = 0, alignedBound = 0;
  /// Bytes that copies move in each call.
  int64_t copiedBytes = 0;
};

/// A result is computed in the slice of the state it is written to when every
/// reader of the state's old value comes before (or is the node itself, where
/// the kernel allows it); else in the output it is returned as; else in the
/// memory of an operand that dies there, where the kernel allows it; else in
/// a work buffer of its own.
StoragePlan planStorage(const MemoryProblem &problem, const NodeOrder &order);

/// Where the most bytes of work buffers are live, with sizes rounded up.
struct LivePeak {
  int64_t bytes = 0;
  /// At how many positions, and the first of them.
  int64_t positions = 0;
  int64_t first = 0;
};

/// Looks at the positions below `end`.
LivePeak findLivePeak(const StoragePlan &plan, int64_t end);

} // namespace bessemer

#endif // BESSEMER_MEMORY_LIVENESS_H
