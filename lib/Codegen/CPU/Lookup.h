// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kern.gather and kern.scatter share: sizes and indices.

#ifndef BESSEMER_LIB_CODEGEN_CPU_LOOKUP_H
#define BESSEMER_LIB_CODEGEN_CPU_LOOKUP_H

#include "KernelBuilder.h"
#include "mlir/IR/BuiltinTypes.h"

namespace bessemer::cpu {

/// A table [batch, outer, size, inner] and indices [batch, count].
struct Lookup {
  Lookup(mlir::RankedTensorType table, mlir::RankedTensorType indices)
      : batch(table.getDimSize(0)), outer(table.getDimSize(1)),
        size(table.getDimSize(2)), inner(table.getDimSize(3)),
        count(indices.getDimSize(1)), element(table.getElementType()),
        indexElement(indices.getElementType()) {}

  int64_t batch, outer, size, inner, count;
  mlir::Type element, indexElement;

  /// Planes [size, inner] of the table.
  int64_t planes() const { return batch * outer; }

  /// Index `number` of the row `plane` / outer of the indices, or the vector of
  /// indices from there on, as i64.
  Val loadIndices(KernelBuilder &k, Val indices, Val plane, Val number,
                  bool isVector, Val mask) const {
    Val row = k.mul(batch == 1 ? Val(k.i64(0)) : k.div(plane, outer), count);
    Val pointer =
        k.address(indices, k.memoryType(indexElement), k.add(row, number));
    Val value = k.loadElements(indexElement, pointer, isVector ? 1 : 0, mask);
    llvm::Type *wide = k.ir.getInt64Ty();
    return k.ir.CreateSExt(value, isVector ? k.vectorOf(wide) : wide);
  }
};

} // namespace bessemer::cpu

#endif // BESSEMER_LIB_CODEGEN_CPU_LOOKUP_H
