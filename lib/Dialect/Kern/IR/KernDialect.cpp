// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration of the kern dialect and small accessors.

#include "bessemer/Dialect/Kern/IR/Kern.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace bessemer::kern;

#include "bessemer/Dialect/Kern/IR/KernDialect.cpp.inc"
#include "bessemer/Dialect/Kern/IR/KernEnums.cpp.inc"
#include "bessemer/Dialect/Kern/IR/KernInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "bessemer/Dialect/Kern/IR/KernAttributes.cpp.inc"
#define GET_OP_CLASSES
#include "bessemer/Dialect/Kern/IR/KernOps.cpp.inc"

void KernDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "bessemer/Dialect/Kern/IR/KernAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "bessemer/Dialect/Kern/IR/KernOps.cpp.inc"
      >();
}

bool GemmOp::isBatched() {
  return cast<RankedTensorType>(getA().getType()).getRank() == 3;
}

int64_t GemmOp::getM() {
  auto type = cast<RankedTensorType>(getA().getType());
  return type.getDimSize(type.getRank() - (getTransA() ? 1 : 2));
}

int64_t GemmOp::getK() {
  auto type = cast<RankedTensorType>(getA().getType());
  return type.getDimSize(type.getRank() - (getTransA() ? 2 : 1));
}

int64_t GemmOp::getN() {
  auto type = cast<RankedTensorType>(getB().getType());
  return type.getDimSize(type.getRank() - (getTransB() ? 2 : 1));
}

int64_t GemmOp::getBatch() {
  return isBatched() ? cast<RankedTensorType>(getA().getType()).getDimSize(0)
                     : 1;
}

SmallVector<int64_t> GemmOp::getBounds() {
  if (isBatched())
    return {getBatch(), getM(), getN()};
  return {getM(), getN()};
}

unsigned UpdateOp::getMomentsPerParameter() {
  return getMoments().size() / getParameters().size();
}

/// An empty builder body in the .td is only a declaration.
void YieldOp::build(OpBuilder &, OperationState &) {}
