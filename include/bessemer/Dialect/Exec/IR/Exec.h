// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `exec` dialect: WHEN and WHERE. See ExecDialect.td.

#ifndef BESSEMER_DIALECT_EXEC_IR_EXEC_H
#define BESSEMER_DIALECT_EXEC_IR_EXEC_H

#include "bessemer/Dialect/Kern/IR/Kern.h"
#include "mlir/IR/RegionKindInterface.h"

#include "bessemer/Dialect/Exec/IR/ExecDialect.h.inc"
#include "bessemer/Dialect/Exec/IR/ExecEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "bessemer/Dialect/Exec/IR/ExecAttributes.h.inc"
#define GET_OP_CLASSES
#include "bessemer/Dialect/Exec/IR/ExecOps.h.inc"

#endif // BESSEMER_DIALECT_EXEC_IR_EXEC_H
