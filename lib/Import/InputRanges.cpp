// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Indices that come straight from an input, as token ids do: the input gets
// the range that its lookups allow, which the runtime checks before a step.

#include "NodeImport.h"

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

namespace {
/// Elements of a value: all, or those in [begin, end) along a dimension.
struct Part {
  std::optional<int64_t> dim;
  int64_t begin = 0, end = 0;
};
} // namespace

/// The dimension of `from` that dimension `dim` of `to` is, of one element
/// order.
static std::optional<int64_t> sameDimension(ArrayRef<int64_t> from,
                                            ArrayRef<int64_t> to, int64_t dim) {
  auto before = [](ArrayRef<int64_t> shape, int64_t end) {
    int64_t product = 1;
    for (int64_t size : shape.take_front(end))
      product *= size;
    return product;
  };
  for (int64_t i = 0, end = from.size(); i < end; ++i)
    if (from[i] == to[dim] && before(from, i) == before(to, dim))
      return i;
  return std::nullopt;
}

/// `part` of the result of `op` as elements of its operand; nothing when these
/// are no such part, or other numbers.
static std::optional<Part> partOfOperand(Operation *op, Part part) {
  auto shapeOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  };
  if (auto slice = dyn_cast<graph::SliceOp>(op)) {
    ArrayRef<int64_t> from = shapeOf(slice.getInput()),
                      to = shapeOf(slice.getResult());
    for (auto [dim, offset] : llvm::enumerate(slice.getOffsets())) {
      bool isCut = from[dim] != to[dim];
      int64_t d = dim;
      if (part.dim == d) {
        part.begin += offset;
        part.end += offset;
      } else if (isCut && !part.dim) {
        part = {d, offset, offset + to[dim]};
      } else if (isCut) {
        return std::nullopt;
      }
    }
    return part;
  }
  if (auto transpose = dyn_cast<graph::TransposeOp>(op)) {
    if (part.dim)
      part.dim = transpose.getPermutation()[*part.dim];
    return part;
  }
  if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op)) {
    if (part.dim)
      part.dim = sameDimension(shapeOf(op->getOperand(0)),
                               shapeOf(op->getResult(0)), *part.dim);
    else
      return part;
    return part.dim ? std::optional(part) : std::nullopt;
  }
  if (isa<graph::BroadcastOp>(op))
    return part.dim ? std::nullopt : std::optional(part);
  if (isa<arith::ExtSIOp, arith::TruncIOp>(op))
    return part;
  return std::nullopt;
}

/// Of two ranges for the same elements the tighter one stays.
static void addRange(func::FuncOp function, unsigned argument,
                     graph::InputRangeAttr range) {
  SmallVector<Attribute> ranges;
  if (auto known =
          function.getArgAttrOfType<ArrayAttr>(argument, graph::kRangesAttr))
    llvm::append_range(ranges, known);
  for (Attribute &entry : ranges) {
    auto known = cast<graph::InputRangeAttr>(entry);
    if (known.getPart() != range.getPart())
      continue;
    if (range.getMost() >= known.getMost())
      return;
    entry = range;
    range = {};
    break;
  }
  if (range)
    ranges.push_back(range);
  function.setArgAttr(argument, graph::kRangesAttr,
                      ArrayAttr::get(function.getContext(), ranges));
}

void NodeImport::boundIndices(Value indices, int64_t size) {
  Part part;
  while (Operation *op = indices.getDefiningOp()) {
    std::optional<Part> before = partOfOperand(op, part);
    if (!before)
      return;
    part = *before;
    indices = op->getOperand(0);
  }
  auto argument = cast<BlockArgument>(indices);
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (!function || !graph::canHaveRanges(argument.getType()))
    return;
  SmallVector<int64_t, 3> box;
  if (part.dim)
    box = {*part.dim, part.begin, part.end};
  std::string name = node.name().empty() ? node.output(0) : node.name();
  std::string table = node.op_type() == "Gather"
                          ? std::to_string(size) + " rows"
                          : "a dimension of " + std::to_string(size);
  std::string meaning = "an index into " + table + " (node '" + name + "', " +
                        node.op_type() + ")";
  addRange(function, argument.getArgNumber(),
           graph::InputRangeAttr::get(builder.getContext(), meaning, -size,
                                      size - 1, /*exempt=*/{}, box));
}
