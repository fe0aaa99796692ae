// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration of the exec dialect and its verifiers.

#include "bessemer/Dialect/Exec/IR/Exec.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::exec;

#include "bessemer/Dialect/Exec/IR/ExecDialect.cpp.inc"
#include "bessemer/Dialect/Exec/IR/ExecEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "bessemer/Dialect/Exec/IR/ExecAttributes.cpp.inc"
#define GET_OP_CLASSES
#include "bessemer/Dialect/Exec/IR/ExecOps.cpp.inc"

void ExecDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "bessemer/Dialect/Exec/IR/ExecAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "bessemer/Dialect/Exec/IR/ExecOps.cpp.inc"
      >();
}

/// Buffers are the operands, then the results: operand i must be argument i.
LogicalResult KernelOp::verify() {
  Block &block = getBody().front();
  if (!llvm::hasSingleElement(block) ||
      !isa<kern::KernelOpInterface>(block.front()))
    return emitOpError("expected one kern op in its body");
  if (!llvm::equal(block.front().getOperands(), block.getArguments()))
    return emitOpError("expected the operands of its kern op to be the "
                       "arguments of its block, in order");
  return success();
}

LogicalResult ProgramOp::verify() {
  for (ArrayAttr values : {getInputs(), getOutputs()})
    for (Attribute value : values) {
      auto entry = dyn_cast<DictionaryAttr>(value);
      if (!entry || !entry.getAs<StringAttr>("name") ||
          !entry.getAs<TypeAttr>("type"))
        return emitOpError("expected entries {name, type}, got ") << value;
      if (Attribute ranges = entry.get("ranges");
          ranges && failed(graph::verifyRanges(
                        ranges, entry.getAs<TypeAttr>("type").getValue(), [&] {
                          return emitOpError() << entry.get("name") << ": ";
                        })))
        return failure();
    }
  return success();
}

LogicalResult RepeatOp::verify() {
  if (static_cast<int64_t>(getCount()) < 1)
    return emitOpError("expected a count of at least 1, got ")
           << static_cast<int64_t>(getCount());
  if (getScratch().size() > 1)
    return emitOpError("expected at most one slice of scratch, got ")
           << getScratch().size();
  if (auto values = getValues();
      values && values->size() != 3 * getCarried().size())
    return emitOpError("expected three values per carried slice, got ")
           << values->size() << " for " << getCarried().size();
  return success();
}
