// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The region of kern.gemm, applied to accumulators.

#ifndef BESSEMER_LIB_CODEGEN_CPU_GEMMEPILOGUE_H
#define BESSEMER_LIB_CODEGEN_CPU_GEMMEPILOGUE_H

#include "IterationSpace.h"
#include <optional>

namespace bessemer::cpu {

class GemmEpilogue {
public:
  explicit GemmEpilogue(kern::GemmOp op)
      : body(op.getBody().front()), space(IterationSpace::get(op)) {}

  /// Whether it may be emitted once per accumulator.
  bool isCheap() const { return countRegionOps(body) <= 4; }

  /// Indices of the first element: batch, row, column.
  using Origin = std::array<Val, 3>;

  /// Loads the buffers' addresses; at the kernel's begin.
  void begin(KernelBuilder &k) { buffers = Position::begin(k, space); }
  /// Stores `rows` x `vectors` accumulators (row by row); the last vector has
  /// `last` columns.
  void emitStrip(KernelBuilder &k, Origin origin,
                 llvm::ArrayRef<Val> accumulators, int64_t rows,
                 int64_t vectors, int64_t last);
  /// The same for accumulators in memory, in a loop over rows.
  void emitRows(KernelBuilder &k, Origin origin, Val accumulators, Val rows,
                int64_t vectors, int64_t last);

private:
  /// What all rows share: the operands that depend on the column only.
  struct Column {
    Val offset, mask;
    RegionEmitter scope;
  };
  std::vector<Column> beginColumns(KernelBuilder &k, RegionEmitter &outer,
                                   const Position &position, int64_t vectors,
                                   int64_t last);
  void emitElement(KernelBuilder &k, Column &column, const Position &row,
                   Val accumulator);

  mlir::Block &body;
  IterationSpace space;
  Position buffers;
};

} // namespace bessemer::cpu

#endif // BESSEMER_LIB_CODEGEN_CPU_GEMMEPILOGUE_H
