// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What both ways to compute kern.table_update share: buffers, sums of rows, and
// the region over a run of elements.

#ifndef BESSEMER_LIB_CODEGEN_CPU_TABLEUPDATE_H
#define BESSEMER_LIB_CODEGEN_CPU_TABLEUPDATE_H

#include "Families.h"
#include "Lookup.h"
#include "RegionEmitter.h"

namespace bessemer::cpu {

class TableUpdateEmitter {
protected:
  explicit TableUpdateEmitter(kern::TableUpdateOp op)
      : op(op),
        lookup(mlir::cast<mlir::RankedTensorType>(op.getTable().getType()),
               mlir::cast<mlir::RankedTensorType>(op.getIndices().getType())) {}

  /// Pointers that the kernel loads once, and the region with its scalars.
  struct Context {
    Context(KernelBuilder &k, kern::TableUpdateOp op);

    KernelBuilder &k;
    Val rows, indices;
    /// The table and its moments, before and after.
    Vals from, to;
    RegionEmitter region;
  };

  /// Lists of positions among the indices, and entries of the table.
  int64_t linkBytes() const {
    return std::max(lookup.count, lookup.size) <= INT32_MAX ? 4 : 8;
  }
  llvm::Type *linkType(KernelBuilder &k) const {
    return k.ir.getIntNTy(linkBytes() * 8);
  }
  Val loadLink(KernelBuilder &k, Val base, Val number) const {
    llvm::Type *type = linkType(k);
    return k.ir.CreateSExt(k.load(type, k.address(base, type, number)),
                           k.ir.getInt64Ty());
  }
  void storeLink(KernelBuilder &k, Val value, Val base, Val number) const {
    llvm::Type *type = linkType(k);
    k.store(k.ir.CreateTrunc(value, type), k.address(base, type, number));
  }

  Val index(const Context &c, Val plane, Val number) const {
    return lookup.loadIndices(c.k, c.indices, plane, number,
                              /*isVector=*/false, nullptr);
  }

  /// Element `column` of row `number` of the rows of `plane`.
  Val rowAddress(const Context &c, Val plane, Val number, Val column) const;

  void clear(KernelBuilder &k, Val sums, Val count) const;
  /// Adds `count` elements at `row` to `sums`.
  void addRow(KernelBuilder &k, Val sums, Val row, Val count) const;
  /// Updates `count` elements from element `first` on, whose gradients begin at
  /// `gradient`.
  void update(const Context &c, Val first, Val gradient, Val count) const;

  kern::TableUpdateOp op;
  Lookup lookup;
};

/// Updates what the indices name.
KernelPlan planTouchedUpdate(kern::TableUpdateOp op);

} // namespace bessemer::cpu

#endif // BESSEMER_LIB_CODEGEN_CPU_TABLEUPDATE_H
