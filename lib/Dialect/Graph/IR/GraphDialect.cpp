// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration of the graph dialect.

#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace bessemer::graph;

#include "bessemer/Dialect/Graph/IR/GraphDialect.cpp.inc"
#include "bessemer/Dialect/Graph/IR/GraphEnums.cpp.inc"
#include "bessemer/Dialect/Graph/IR/GraphInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "bessemer/Dialect/Graph/IR/GraphAttributes.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "bessemer/Dialect/Graph/IR/GraphTypes.cpp.inc"
#define GET_OP_CLASSES
#include "bessemer/Dialect/Graph/IR/GraphOps.cpp.inc"

void GraphDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "bessemer/Dialect/Graph/IR/GraphTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "bessemer/Dialect/Graph/IR/GraphAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "bessemer/Dialect/Graph/IR/GraphOps.cpp.inc"
      >();
}

Operation *GraphDialect::materializeConstant(OpBuilder &builder,
                                             Attribute value, Type type,
                                             Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}
