// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the states of a module lie, the same for every function.

#ifndef BESSEMER_MEMORY_STATELAYOUT_H
#define BESSEMER_MEMORY_STATELAYOUT_H

#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace bessemer {

/// States in the order of the module, each at the next multiple of 64 bytes.
struct StateLayout {
  struct Entry {
    graph::StateOp op;
    int64_t offset;
    int64_t bytes;
  };
  std::vector<Entry> entries;
  /// Bytes of the arena.
  int64_t bytes = 0;

  explicit StateLayout(mlir::ModuleOp module);

  /// The number of a state, or -1.
  int find(llvm::StringRef name) const;

private:
  llvm::StringMap<int> numbers;
};

} // namespace bessemer

#endif // BESSEMER_MEMORY_STATELAYOUT_H
