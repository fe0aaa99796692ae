// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the kernels of attention and its gradient share: geometry, packing,
// products on scratch.

#ifndef BESSEMER_LIB_CODEGEN_CPU_ATTENTIONPARTS_H
#define BESSEMER_LIB_CODEGEN_CPU_ATTENTIONPARTS_H

#include "Families.h"
#include "MicroKernel.h"
#include "bessemer/Dialect/Graph/IR/StridedView.h"

namespace bessemer::cpu {

class AttentionParts {
public:
  uint64_t getScratchBytes() const { return 4 * scratchElements; }

protected:
  template <typename OpTy>
  AttentionParts(OpTy op, const CPUTarget &target)
      : target(target), lanes(target.lanes), batch(op.getBatch()),
        heads(op.getHeads()), groups(op.getGroups()), queries(op.getQueries()),
        keys(op.getKeys()), isCausal(op.getCausal()),
        scale(op.getScale().convertToDouble()),
        ratio(op.getRatio().convertToDouble()), id(op.getId()),
        depth(makeColumns(op.getDepth())), width(makeColumns(op.getWidth())) {
    chooseKeyPanels();
  }

  /// Rows of queries that meet all visible keys at once: their scores stay in
  /// L2. A multiple of the rows of every register tile.
  static constexpr int64_t kBlockRows = 48;

  /// A number of columns as panels of whole vectors, and the rows of the
  /// register tile for one.
  struct Columns {
    int64_t size, vectors, panels, rows;
    int64_t padded;
  };

  int64_t blocks() const { return llvm::divideCeil(queries, kBlockRows); }
  int64_t headsPerGroup() const { return heads / groups; }
  bool hasDropout() const { return ratio > 0.0; }

  /// Reserves scratch, in elements, for as many rows of this kernel.
  int64_t reserve(int64_t elements);

  /// A tensor seen at one batch and head (or group): its first element there.
  static graph::StridedView viewOf(mlir::AffineMap map) {
    return *graph::StridedView::get(map);
  }
  Val at(KernelBuilder &k, Val base, const graph::StridedView &view, Val b,
         Val h, Val row) const;
  Val scratchAt(KernelBuilder &k, int64_t element) const {
    return k.address(k.scratch, k.ir.getFloatTy(), element);
  }
  Val f32At(KernelBuilder &k, Val base, Val offset) const {
    return k.address(base, k.ir.getFloatTy(), offset);
  }

  /// Keys that some row of the block [first, first + rows) sees.
  Val visibleToBlock(KernelBuilder &k, Val first, Val rows) const;
  /// Keys that row `query` sees.
  Val visibleToRow(KernelBuilder &k, Val query) const;

  /// Packs keys [keys][size] as panels [size][key], the last with zeros.
  void packKeys(KernelBuilder &k, Val source, int64_t rowStride, int64_t size,
                Val target) const;
  /// Copies rows to scratch [rows][columns.padded], with zeros at the end of
  /// each, times `factor` (null: 1).
  void copyRows(KernelBuilder &k, Val source, int64_t rowStride, Val rows,
                const Columns &columns, Val target, Val factor) const;
  /// target[row][key] = a[row] . key, for panels of keys up to `visible`. `a`
  /// is [rows][aStride], `size` long.
  void multiplyByKeys(KernelBuilder &k, Val a, int64_t aStride, int64_t size,
                      Val panels, Val rows, Val visible, Val target) const;

  /// A product with `columns` on the right.
  struct RowProduct {
    /// Strides of the left operand by row and depth; its columns on the right
    /// are [depth][columns.padded].
    Val a;
    int64_t aRow, aDepth;
    Val b;
    Val rows, depth;
  };
  /// Computes a product strip by strip, from `load` (null: from zero), and
  /// gives each vector to `store` with its row, column and mask. Rows go up to
  /// a multiple of the register tile's.
  using VectorAt = llvm::function_ref<Val(Val row, Val column)>;
  using StoreAt =
      llvm::function_ref<void(Val row, Val column, Val value, Val mask)>;
  void multiplyRows(KernelBuilder &k, const RowProduct &product,
                    const Columns &columns, VectorAt load, StoreAt store) const;

  /// Elements of the mask at (row, key), a vector or a scalar to repeat.
  Val loadMask(KernelBuilder &k, Val maskRow, const graph::StridedView &view,
               Val key, Val lanesOn) const;
  /// What dropout multiplies the probabilities of key, key + 1, ... by; `row`
  /// is the number of the first score of the row among all scores.
  Val keptFactor(KernelBuilder &k, Val step, Val row, Val key) const;
  /// Sets scores [from, to) of a row to zero.
  void clear(KernelBuilder &k, Val row, Val from, Val to) const;
  /// Number of the first score of a row among all scores.
  Val scoreNumber(KernelBuilder &k, Val b, Val h, Val query) const;

  Columns makeColumns(int64_t size) const;
  void chooseKeyPanels();

  const CPUTarget target;
  int64_t lanes, batch, heads, groups, queries, keys;
  bool isCausal;
  double scale, ratio;
  uint64_t id;
  Columns depth, width;
  /// Panels of keys: vectors of each, rows of the register tile, keys of each
  /// and of all of them; and elements between rows of scores.
  int64_t keyVectors, keyRows, keyWidth, paddedKeys, scoreStride;
  int64_t scratchElements = 0;
};

} // namespace bessemer::cpu

#endif // BESSEMER_LIB_CODEGEN_CPU_ATTENTIONPARTS_H
