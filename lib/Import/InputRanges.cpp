// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Indices and labels that come straight from an input, as token ids do: the
// input gets the range that its lookups and losses allow, which the runtime
// checks before a step.

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

/// Whether all that `range` allows is allowed by `other`, for the same
/// elements.
static bool implies(graph::InputRangeAttr range, graph::InputRangeAttr other) {
  auto isAllowed = [&](int64_t value) {
    return (value >= other.getLeast() && value <= other.getMost()) ||
           llvm::is_contained(other.getExempt(), value);
  };
  return range.getPart() == other.getPart() &&
         range.getLeast() >= other.getLeast() &&
         range.getMost() <= other.getMost() &&
         llvm::all_of(range.getExempt(), isAllowed);
}

/// Ranges that others imply go.
static void addRange(func::FuncOp function, unsigned argument,
                     graph::InputRangeAttr range) {
  SmallVector<Attribute> ranges;
  if (auto known =
          function.getArgAttrOfType<ArrayAttr>(argument, graph::kRangesAttr))
    llvm::append_range(ranges, known);
  if (llvm::any_of(ranges, [&](Attribute known) {
        return implies(cast<graph::InputRangeAttr>(known), range);
      }))
    return;
  llvm::erase_if(ranges, [&](Attribute known) {
    return implies(range, cast<graph::InputRangeAttr>(known));
  });
  ranges.push_back(range);
  function.setArgAttr(argument, graph::kRangesAttr,
                      ArrayAttr::get(function.getContext(), ranges));
}

/// Notes at the input that `integers` come from what they must be.
static void bound(Value integers, const Twine &meaning, int64_t least,
                  int64_t most, ArrayRef<int64_t> exempt = {}) {
  Part part;
  while (Operation *op = integers.getDefiningOp()) {
    std::optional<Part> before = partOfOperand(op, part);
    if (!before)
      return;
    part = *before;
    integers = op->getOperand(0);
  }
  auto argument = cast<BlockArgument>(integers);
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (!function || !graph::canHaveRanges(argument.getType()))
    return;
  SmallVector<int64_t, 3> box;
  if (part.dim)
    box = {*part.dim, part.begin, part.end};
  addRange(function, argument.getArgNumber(),
           graph::InputRangeAttr::get(function.getContext(), meaning.str(),
                                      least, most, exempt, box));
}

void NodeImport::boundIndices(Value indices, int64_t size) {
  std::string name = node.name().empty() ? node.output(0) : node.name();
  std::string table = node.op_type() == "Gather"
                          ? std::to_string(size) + " rows"
                          : "a dimension of " + std::to_string(size);
  bound(indices,
        "an index into " + table + " (node '" + name + "', " + node.op_type() +
            ")",
        -size, size - 1);
}

void NodeImport::boundLabels(Value labels, int64_t classes,
                             std::optional<int64_t> ignored) {
  bound(labels, "a label (node '" + origin.name + "', " + origin.op + ")", 0,
        classes - 1, ignored ? ArrayRef(*ignored) : ArrayRef<int64_t>());
}
