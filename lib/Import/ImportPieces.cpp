// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that take tensors apart and put them together: slices, splits,
// concatenations, padding, tiles, triangles.

#include "NodeImport.h"
#include <algorithm>
#include <limits>

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

/// Fails when a list of `count` indices or pieces would be too long to make.
static LogicalResult requireList(NodeImport &n, int64_t count) {
  constexpr int64_t longest = int64_t(1) << 22;
  if (count <= longest)
    return success();
  return n.fail("expected at most " + Twine(longest) +
                " indices or pieces, got " + Twine(count));
}

//===----------------------------------------------------------------------===//
// Slice
//===----------------------------------------------------------------------===//

Value NodeImport::strided(Value x, int64_t axis, int64_t begin, int64_t count,
                          int64_t step) {
  if (step == 1 || count == 1)
    return slice(x, axis, begin, count);
  auto type = cast<RankedTensorType>(x.getType());
  if (step < 0) {
    SmallVector<int64_t> keys;
    for (int64_t i = 0; i < count; ++i)
      keys.push_back(begin + i * step);
    return lookUpKnown(x, axis, keys, {count});
  }
  // Blocks of `step` elements, of each the first.
  int64_t size = type.getDimSize(axis), whole = count * step;
  x = slice(x, axis, begin, std::min(whole, size - begin));
  SmallVector<int64_t> shape(type.getShape());
  shape[axis] = whole;
  if (x.getType() != type.clone(shape))
    x = graph::PadOp::create(builder, loc, type.clone(shape), x,
                             SmallVector<int64_t>(shape.size(), 0));
  shape[axis] = count;
  SmallVector<int64_t> blocks = shape;
  blocks.insert(blocks.begin() + axis + 1, step);
  return reshape(slice(reshape(x, blocks), axis + 1, 0, 1), shape);
}

static LogicalResult importSlice(NodeImport &n) {
  auto starts = n.knownInts(1, "starts");
  if (failed(starts))
    return failure();
  auto ends = n.knownInts(2, "ends");
  if (failed(ends))
    return failure();
  std::vector<int64_t> axes(starts->size()), steps(starts->size(), 1);
  for (size_t i = 0; i < axes.size(); ++i)
    axes[i] = i;
  for (auto [i, list] : {std::pair(3, &axes), std::pair(4, &steps)})
    if (n.has(i)) {
      auto given = n.knownInts(i, i == 3 ? "axes" : "steps");
      if (failed(given))
        return failure();
      *list = *given;
    }
  if (ends->size() != starts->size() || axes.size() != starts->size() ||
      steps.size() != starts->size())
    return n.fail("expected equally many starts, ends, axes and steps");
  Value result = n.value(0);
  SmallVector<int64_t> seen;
  for (auto [start, end, entry, step] :
       llvm::zip_equal(*starts, *ends, axes, steps)) {
    auto axis = n.axis(entry, n.rank(0));
    if (failed(axis))
      return failure();
    if (llvm::is_contained(seen, *axis))
      return n.fail("axis " + Twine(*axis) + " is given twice");
    seen.push_back(*axis);
    if (step == 0 || step == std::numeric_limits<int64_t>::min())
      return n.fail("expected a step other than " + Twine(step));
    int64_t size = n.shape(0)[*axis];
    auto position = [&, step = step](int64_t value) {
      if (value < 0)
        value = std::max<int64_t>(value, -size - 1) + size;
      return step > 0 ? std::clamp<int64_t>(value, 0, size)
                      : std::clamp<int64_t>(value, -1, size - 1);
    };
    int64_t begin = position(start);
    int64_t length = step > 0 ? position(end) - begin : begin - position(end);
    int64_t count = length <= 0 ? 0 : (length - 1) / std::abs(step) + 1;
    if (failed(n.requireSizes({count})) ||
        (step < 0 && failed(requireList(n, count))))
      return failure();
    // A step beyond the end is one of any size.
    step = step > 0 ? std::min(step, size) : step;
    result = n.strided(result, *axis, begin, count, step);
  }
  n.setResult(result);
  return success();
}

//===----------------------------------------------------------------------===//
// Split, Concat
//===----------------------------------------------------------------------===//

/// Pieces of operand 0 of the given lengths along `axis`.
static FailureOr<std::vector<Value>> split(NodeImport &n, int64_t axis,
                                           ArrayRef<int64_t> lengths) {
  int64_t size = n.shape(0)[axis], begin = 0;
  std::vector<Value> pieces;
  for (int64_t length : lengths) {
    if (failed(n.requireSizes({length})))
      return failure();
    if (length > size - begin)
      break; // then they do not add up
    pieces.push_back(n.slice(n.value(0), axis, begin, length));
    begin += length;
  }
  if (begin != size || pieces.size() != lengths.size())
    return n.fail("expected pieces that add up to the " + Twine(size) +
                  " elements of dimension " + Twine(axis));
  return pieces;
}

/// Lengths of pieces of `length`, the last of which may be shorter.
static SmallVector<int64_t> equalLengths(int64_t size, int64_t length) {
  SmallVector<int64_t> lengths;
  for (int64_t begin = 0; begin < size; begin += length)
    lengths.push_back(std::min(length, size - begin));
  return lengths;
}

static LogicalResult importSplit(NodeImport &n) {
  auto axis = n.axis(intAttribute(n.node, "axis", 0), n.rank(0));
  if (failed(axis))
    return failure();
  int64_t size = n.shape(0)[*axis];
  int64_t outputs = n.node.output_size();
  SmallVector<int64_t> lengths;
  if (n.has(1)) {
    auto given = n.knownInts(1, "lengths");
    if (failed(given))
      return failure();
    lengths.assign(given->begin(), given->end());
    if (static_cast<int64_t>(lengths.size()) != outputs)
      return n.fail("expected a length for each of " + Twine(outputs) +
                    " outputs, got " + Twine(lengths.size()) + " lengths");
  } else {
    int64_t length = std::max<int64_t>(llvm::divideCeil(size, outputs), 1);
    lengths = equalLengths(size, length);
    if (static_cast<int64_t>(lengths.size()) != outputs)
      return n.fail("expected a dimension that fills " + Twine(outputs) +
                    " outputs, got " + Twine(size) + " elements along axis " +
                    Twine(*axis) + ", which are " + Twine(lengths.size()) +
                    " pieces of up to " + Twine(length));
  }
  auto pieces = split(n, *axis, lengths);
  if (failed(pieces))
    return failure();
  n.setResults(*pieces);
  return success();
}

static LogicalResult importConcat(NodeImport &n) {
  SmallVector<Value> values;
  for (size_t i = 0; i < n.operandCount(); ++i)
    if (n.type(i).getNumElements() != 0)
      values.push_back(n.value(i));
  if (values.empty())
    return n.fail("expected an input that is not empty");
  auto typeOf = [](Value value) {
    return cast<RankedTensorType>(value.getType());
  };
  RankedTensorType first = typeOf(values.front());
  auto axis = n.axis(intAttribute(n.node, "axis", 0), first.getRank());
  if (failed(axis))
    return failure();
  SmallVector<int64_t> shape(first.getShape());
  shape[*axis] = 0;
  for (Value value : values) {
    RankedTensorType type = typeOf(value);
    SmallVector<int64_t> other(type.getShape());
    if (type.getRank() == first.getRank())
      other[*axis] = first.getDimSize(*axis);
    if (ArrayRef<int64_t>(other) != first.getShape() ||
        type.getElementType() != first.getElementType())
      return n.fail("expected inputs of one element type that differ along "
                    "axis " +
                    Twine(*axis) + " only, got shapes " +
                    shapeText(first.getShape()) + " and " +
                    shapeText(type.getShape()));
    shape[*axis] += type.getDimSize(*axis);
  }
  if (failed(n.requireSizes(shape)))
    return failure();
  n.setResult(values.size() == 1
                  ? values.front()
                  : Value(graph::ConcatOp::create(
                        n.builder, n.loc, first.clone(shape), values, *axis)));
  return success();
}

//===----------------------------------------------------------------------===//
// Pad, Tile, Trilu
//===----------------------------------------------------------------------===//

/// The index of the element that padding of kind `mode` has at `index`.
static int64_t paddedIndex(StringRef mode, int64_t index, int64_t size) {
  if (mode == "edge")
    return std::clamp<int64_t>(index, 0, size - 1);
  int64_t period = mode == "wrap" ? size : std::max<int64_t>(2 * (size - 1), 1);
  index = (index % period + period) % period;
  return index < size ? index : period - index;
}

static Value padAlong(NodeImport &n, Value x, int64_t axis, int64_t low,
                      int64_t high, StringRef mode, double constant) {
  auto type = cast<RankedTensorType>(x.getType());
  int64_t size = type.getDimSize(axis);
  if (mode != "constant") {
    SmallVector<int64_t> keys;
    for (int64_t i = -low; i < size + high; ++i)
      keys.push_back(paddedIndex(mode, i, size));
    int64_t count = keys.size();
    return n.lookUpKnown(x, axis, keys, {count});
  }
  // Negative padding cuts.
  int64_t begin = std::max<int64_t>(-low, 0);
  x = n.slice(x, axis, begin, size - begin - std::max<int64_t>(-high, 0));
  SmallVector<Value> pieces;
  auto addConstant = [&](int64_t length) {
    if (length <= 0)
      return;
    SmallVector<int64_t> shape(type.getShape());
    shape[axis] = length;
    pieces.push_back(
        graph::buildSplat(n.builder, n.loc, type.clone(shape), constant));
  };
  addConstant(low);
  pieces.push_back(x);
  addConstant(high);
  if (pieces.size() == 1)
    return x;
  SmallVector<int64_t> shape(type.getShape());
  shape[axis] = size + low + high;
  if (constant != 0)
    return graph::ConcatOp::create(n.builder, n.loc, type.clone(shape), pieces,
                                   axis);
  SmallVector<int64_t> lows(shape.size(), 0);
  lows[axis] = std::max<int64_t>(low, 0);
  return graph::PadOp::create(n.builder, n.loc, type.clone(shape), x, lows);
}

static LogicalResult importPad(NodeImport &n) {
  StringRef mode = stringAttribute(n.node, "mode", "constant");
  if (!llvm::is_contained({"constant", "edge", "reflect", "wrap"}, mode))
    return n.fail("expected mode constant, edge, reflect or wrap, got '" +
                  mode + "'");
  auto pads = n.knownInts(1, "pads");
  if (failed(pads))
    return failure();
  double constant = 0;
  if (n.has(2)) {
    auto given = n.splat(2);
    if (!given || n.type(2).getNumElements() != 1)
      return n.fail("expected a constant value that is known when compiling");
    constant = *given;
  }
  std::vector<int64_t> axes;
  if (n.has(3)) {
    auto given = n.knownInts(3, "axes");
    if (failed(given))
      return failure();
    axes = *given;
  } else {
    for (int64_t dim = 0; dim < n.rank(0); ++dim)
      axes.push_back(dim);
  }
  if (pads->size() != 2 * axes.size())
    return n.fail("expected " + Twine(2 * axes.size()) + " pads, got " +
                  Twine(pads->size()));
  Value result = n.value(0);
  SmallVector<int64_t> seen;
  for (auto [i, entry] : llvm::enumerate(axes)) {
    auto axis = n.axis(entry, n.rank(0));
    if (failed(axis))
      return failure();
    if (llvm::is_contained(seen, *axis))
      return n.fail("axis " + Twine(*axis) + " is given twice");
    seen.push_back(*axis);
    int64_t low = (*pads)[i], high = (*pads)[axes.size() + i];
    int64_t size = n.shape(0)[*axis];
    // What is left and what there will be.
    constexpr int64_t largest = std::numeric_limits<int32_t>::max();
    if (low < -size || high < -size || low > largest || high > largest)
      return n.fail("expected pads between -" + Twine(size) + " and " +
                    Twine(largest) + ", got " + Twine(low) + " and " +
                    Twine(high));
    if (failed(n.requireSizes(
            {size + std::min<int64_t>(low, 0) + std::min<int64_t>(high, 0)})) ||
        failed(n.requireSizes({size + low + high})))
      return failure();
    if (mode != "constant" && failed(requireList(n, size + low + high)))
      return failure();
    if (low || high)
      result = padAlong(n, result, *axis, low, high, mode, constant);
    if (failed(n.requireSizes(
            cast<RankedTensorType>(result.getType()).getShape())))
      return failure();
  }
  n.setResult(result);
  return success();
}

static LogicalResult importTile(NodeImport &n) {
  auto repeats = n.knownInts(1, "repeats");
  if (failed(repeats))
    return failure();
  if (static_cast<int64_t>(repeats->size()) != n.rank(0))
    return n.fail("expected " + Twine(n.rank(0)) + " repeats, got " +
                  Twine(repeats->size()));
  // Each repeated dimension is a new one before the old one.
  SmallVector<int64_t> shape, tiled, dims;
  for (auto [size, times] : llvm::zip_equal(n.shape(0), *repeats)) {
    if (failed(n.requireSizes({times})) ||
        failed(n.requireSizes({size, times})))
      return failure();
    if (times != 1)
      tiled.push_back(times);
    dims.push_back(tiled.size());
    tiled.push_back(size);
    shape.push_back(size * times);
  }
  if (failed(n.requireSizes(shape)))
    return failure();
  Value copies = graph::buildBroadcast(n.builder, n.loc, n.value(0),
                                       n.type(0).clone(tiled), dims);
  n.setResult(n.reshape(copies, shape));
  return success();
}

static LogicalResult importTrilu(NodeImport &n) {
  int64_t rank = n.rank(0);
  if (rank < 2)
    return n.fail("expected a matrix or a batch of them, got rank " +
                  Twine(rank));
  int64_t diagonal = 0;
  if (n.has(1)) {
    auto given = n.knownInts(1, "diagonals");
    if (failed(given))
      return failure();
    if (given->size() != 1)
      return n.fail("expected one diagonal");
    // Beyond the matrix all diagonals are alike.
    int64_t limit = n.shape(0)[rank - 2] + n.shape(0)[rank - 1];
    diagonal = std::clamp<int64_t>(given->front(), -limit, limit);
  }
  Value x = n.value(0);
  auto type = n.type(0).clone(n.builder.getI64Type());
  auto index = [&](int64_t dim) -> Value {
    return graph::IotaOp::create(n.builder, n.loc, type, dim);
  };
  Value row = arith::AddIOp::create(
      n.builder, n.loc, index(rank - 2),
      graph::buildSplat(n.builder, n.loc, type, static_cast<double>(diagonal)));
  bool upper = intAttribute(n.node, "upper", 1) != 0;
  Value kept = arith::CmpIOp::create(n.builder, n.loc,
                                     upper ? arith::CmpIPredicate::sge
                                           : arith::CmpIPredicate::sle,
                                     index(rank - 1), row);
  n.setResult(
      arith::SelectOp::create(n.builder, n.loc, kept, x, n.splatLike(x, 0)));
  return success();
}

void ingest::addPieceHandlers(HandlerTable &table) {
  static constexpr std::pair<const char *, Handler> entries[] = {
      {"Concat", importConcat}, {"Pad", importPad},   {"Slice", importSlice},
      {"Split", importSplit},   {"Tile", importTile}, {"Trilu", importTrilu},
  };
  for (auto [name, handler] : entries)
    table[name] = handler;
}
