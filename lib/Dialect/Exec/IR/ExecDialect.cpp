// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration of the exec dialect and its verifiers.

#include "bessemer/Dialect/Exec/IR/Exec.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
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

LogicalResult ProgramOp::verify() {
  for (ArrayAttr values : {getInputs(), getOutputs()})
    for (Attribute value : values) {
      auto entry = dyn_cast<DictionaryAttr>(value);
      if (!entry || !entry.getAs<StringAttr>("name") ||
          !entry.getAs<TypeAttr>("type"))
        return emitOpError("expected entries {name, type}, got ") << value;
    }
  return success();
}
