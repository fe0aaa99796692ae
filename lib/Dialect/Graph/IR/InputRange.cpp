// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the integers of an input must be.

#include "bessemer/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::graph;

bool graph::canHaveRanges(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && (tensor.getElementType().isSignlessInteger(32) ||
                    tensor.getElementType().isSignlessInteger(64));
}

LogicalResult
InputRangeAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef,
                       int64_t least, int64_t most, ArrayRef<int64_t>,
                       ArrayRef<int64_t> part) {
  if (least > most)
    return emitError() << "expected a range that is not empty, got " << least
                       << " to " << most;
  if (!part.empty() && part.size() != 3)
    return emitError() << "expected a part of [dim, begin, end], got [" << part
                       << "]";
  if (!part.empty() && (part[0] < 0 || part[1] < 0 || part[1] > part[2]))
    return emitError() << "expected a part of 0 <= dim and 0 <= begin <= end, "
                          "got ["
                       << part << "]";
  return success();
}

LogicalResult
graph::verifyRanges(Attribute ranges, Type type,
                    function_ref<InFlightDiagnostic()> emitError) {
  auto list = dyn_cast<ArrayAttr>(ranges);
  if (!list || !llvm::all_of(list, llvm::IsaPred<InputRangeAttr>))
    return emitError() << "expected ranges to be an array of "
                          "#graph.input_range, got "
                       << ranges;
  if (!list.empty() && !canHaveRanges(type))
    return emitError() << "expected ranges of an i32 or i64 tensor, got "
                       << type;
  for (auto range : list.getAsRange<InputRangeAttr>()) {
    ArrayRef<int64_t> part = range.getPart(),
                      shape = cast<RankedTensorType>(type).getShape();
    if (!part.empty() && (part[0] >= static_cast<int64_t>(shape.size()) ||
                          part[2] > shape[part[0]]))
      return emitError() << "expected ranges of parts of " << type << ", got "
                         << range;
  }
  return success();
}

LogicalResult GraphDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                     unsigned argument,
                                                     NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function || attribute.getName() != kRangesAttr)
    return success();
  return verifyRanges(
      attribute.getValue(), function.getArgumentTypes()[argument],
      [&] { return op->emitError() << "argument " << argument << ": "; });
}
