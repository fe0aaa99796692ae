// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results of costly ops, by what they were computed from.

#ifndef BESSEMER_REFERENCE_MEMO_H
#define BESSEMER_REFERENCE_MEMO_H

#include "bessemer/Reference/Tensor.h"
#include "mlir/IR/Operation.h"
#include <array>
#include <map>

namespace bessemer::reference {

/// Remembers the results of contractions, convolutions and pooling across
/// evaluations in one context: the function before a pass and the one behind it
/// have nearly all of them in common. An op's key is its name, attributes and
/// result types, and a 128-bit hash of every operand's elements.
class Memo {
public:
  using Key = std::vector<uint64_t>;

  /// Whether the results of `op` are worth remembering.
  static bool isCostly(mlir::Operation *op);

  static Key keyOf(mlir::Operation *op,
                   llvm::ArrayRef<const Tensor *> operands);

  /// The results, or null.
  const std::vector<Tensor> *find(const Key &key);
  void insert(Key key, const std::vector<Tensor> &results);

private:
  struct Entry {
    std::vector<Tensor> results;
    uint64_t lastUse;
  };
  /// Forgets what was not used for longest until half of the room is free.
  void shrink();

  std::map<Key, Entry> entries;
  uint64_t clock = 0;
  int64_t bytes = 0;
};

} // namespace bessemer::reference

#endif // BESSEMER_REFERENCE_MEMO_H
