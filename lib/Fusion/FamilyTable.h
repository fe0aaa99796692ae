// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which kernel family computes which op: the one answer.

#ifndef BESSEMER_LIB_FUSION_FAMILYTABLE_H
#define BESSEMER_LIB_FUSION_FAMILYTABLE_H

#include "mlir/IR/Operation.h"

namespace bessemer::fusion {

/// What becomes of an op of the graph level.
enum class Family {
  Map,       ///< kern.map: one point of an iteration space from other points
  Fold,      ///< kern.rows or kern.columns, by which dimension is innermost
  Move,      ///< a kern.map that reads shifted, kern.gather or kern.scatter
  Gemm,      ///< kern.gemm
  Attention, ///< kern.attention and kern.attention_grad
  Conv,      ///< kern.conv
  Window,    ///< kern.window
  Update,    ///< kern.update, grouped
  Norm,      ///< kern.norm and a finishing fold
  Alias,     ///< a reshape: no kernel, the same bytes
  Constant,  ///< a constant tensor: no kernel
  Boundary   ///< state, step block and function ops: no kernel
};

/// The family of `op`, or none when no kernel computes it.
std::optional<Family> getFamily(mlir::Operation *op);

} // namespace bessemer::fusion

#endif // BESSEMER_LIB_FUSION_FAMILYTABLE_H
