// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of a module: equal kern ops become one exec.kernel.

#ifndef BESSEMER_LIB_MEMORY_KERNELTABLE_H
#define BESSEMER_LIB_MEMORY_KERNELTABLE_H

#include "bessemer/Dialect/Exec/IR/Exec.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace bessemer {

/// The family, the shape and the first arithmetic of a kern op, such as
/// `gemm_32x256x784_add_max`. A name for people, not unique.
std::string kernelName(mlir::Operation *op);

class KernelTable {
public:
  /// Names of kernels avoid the symbols that the module has.
  explicit KernelTable(mlir::ModuleOp module);

  /// The kernel that computes `op`, made at the builder's insertion point when
  /// it is new. Ops that print alike, locations aside, share one.
  exec::KernelOp getOrCreate(mlir::Operation *op, mlir::OpBuilder &builder);

private:
  llvm::StringMap<exec::KernelOp> byText;
  llvm::StringSet<> taken;
};

} // namespace bessemer

#endif // BESSEMER_LIB_MEMORY_KERNELTABLE_H
