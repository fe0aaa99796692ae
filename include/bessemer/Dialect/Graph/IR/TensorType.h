// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The type of a value that is a tensor.

#ifndef BESSEMER_DIALECT_GRAPH_IR_TENSORTYPE_H
#define BESSEMER_DIALECT_GRAPH_IR_TENSORTYPE_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace bessemer {

inline mlir::RankedTensorType tensorOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

} // namespace bessemer

#endif // BESSEMER_DIALECT_GRAPH_IR_TENSORTYPE_H
