// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `kern` dialect: HOW one device computes a fused piece. See KernDialect.td.

#ifndef BESSEMER_DIALECT_KERN_IR_KERN_H
#define BESSEMER_DIALECT_KERN_IR_KERN_H

#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

#include "bessemer/Dialect/Kern/IR/KernDialect.h.inc"
#include "bessemer/Dialect/Kern/IR/KernEnums.h.inc"
#include "bessemer/Dialect/Kern/IR/KernInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "bessemer/Dialect/Kern/IR/KernAttributes.h.inc"
#define GET_OP_CLASSES
#include "bessemer/Dialect/Kern/IR/KernOps.h.inc"

#endif // BESSEMER_DIALECT_KERN_IR_KERN_H
