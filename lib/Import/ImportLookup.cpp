// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lookups: Gather, GatherElements, GatherND, and the scatters.
// Negative indices count from the end; they are wrapped here, so that the
// graph's own ops know nothing of them.

#include "NodeImport.h"
#include <numeric>

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

/// Fails unless operand `i` holds integers wide enough for indices.
static LogicalResult requireIndices(NodeImport &n, size_t i) {
  Type element = n.type(i).getElementType();
  if (element.isInteger(64) || element.isInteger(32))
    return success();
  return n.fail("expected int64 or int32 indices");
}

/// Wraps known indices; fails at one outside of `size`.
static FailureOr<std::vector<int64_t>>
wrapKnown(NodeImport &n, ArrayRef<int64_t> indices, int64_t size) {
  std::vector<int64_t> keys;
  for (int64_t index : indices) {
    if (index < -size || index >= size)
      return n.fail("index " + Twine(index) +
                    " lies outside of a dimension of size " + Twine(size));
    keys.push_back(index < 0 ? index + size : index);
  }
  return keys;
}

static Value wrap(NodeImport &n, Value indices, int64_t size) {
  n.boundIndices(indices, size);
  Value isNegative =
      arith::CmpIOp::create(n.builder, n.loc, arith::CmpIPredicate::slt,
                            indices, n.splatLike(indices, 0));
  Value fromEnd =
      arith::AddIOp::create(n.builder, n.loc, indices,
                            n.splatLike(indices, static_cast<double>(size)));
  return arith::SelectOp::create(n.builder, n.loc, isNegative, fromEnd,
                                 indices);
}

/// Indices of operand `i` as a value in [0, size), when they are valid.
static FailureOr<Value> wrappedIndices(NodeImport &n, size_t i, int64_t size) {
  const Literal *known = n.literal(i);
  if (!known)
    return wrap(n, n.value(i), size);
  auto keys = wrapKnown(n, known->ints, size);
  if (failed(keys))
    return failure();
  Literal wrapped = *known;
  wrapped.ints = std::move(*keys);
  return materialize(wrapped, n.type(i), n.builder, n.loc);
}

/// table[:dim] + shape + table[dim + 1:]
static SmallVector<int64_t> lookupShape(ArrayRef<int64_t> table, int64_t dim,
                                        ArrayRef<int64_t> shape) {
  SmallVector<int64_t> result(table.take_front(dim));
  llvm::append_range(result, shape);
  llvm::append_range(result, table.drop_front(dim + 1));
  return result;
}

Value NodeImport::lookUpKnown(Value table, int64_t dim, ArrayRef<int64_t> keys,
                              ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(table.getType());
  SmallVector<int64_t> result = lookupShape(type.getShape(), dim, shape);
  int64_t count = keys.size();
  bool isRun = true;
  for (int64_t i = 1; i < count; ++i)
    isRun &= keys[i] == keys[0] + i;
  if (isRun)
    return reshape(slice(table, dim, keys[0], count), result);
  // The same for every index of the first dimension: looked up once.
  int64_t block = count / shape.front();
  bool isRepeated = true;
  for (int64_t i = block; i < count; ++i)
    isRepeated &= keys[i] == keys[i - block];
  if (isRepeated) {
    Value once =
        lookUpKnown(table, dim, keys.take_front(block), shape.drop_front());
    SmallVector<int64_t> dims;
    for (int64_t i = 0; i < static_cast<int64_t>(result.size()); ++i)
      if (i != dim)
        dims.push_back(i);
    return graph::buildBroadcast(builder, loc, once, type.clone(result), dims);
  }
  Literal indices = Literal::ofInts(keys.vec(), shape.vec());
  return graph::GatherOp::create(
      builder, loc, type.clone(result), table,
      materialize(indices, RankedTensorType::get(shape, builder.getI64Type()),
                  builder, loc),
      dim, /*batch=*/0);
}

/// The row of an embedding that PyTorch does not train (`padding_idx`), which
/// ONNX has no word for.
static std::optional<int64_t> untrainedRow(NodeImport &n, int64_t size) {
  int64_t row = -1;
  if (n.origin.torchOp != "aten.embedding.default" ||
      n.origin.torchArguments.size() < 3 ||
      StringRef(n.origin.torchArguments[2]).getAsInteger(10, row) || row < 0 ||
      row >= size)
    return std::nullopt;
  return row;
}

/// `rows`, found by `indices` in dimension 0 of a table, without a gradient for
/// row `untrained`.
static Value stopGradientOfRow(NodeImport &n, Value rows, Value indices,
                               int64_t untrained) {
  Value isUntrained = arith::CmpIOp::create(
      n.builder, n.loc, arith::CmpIPredicate::eq, indices,
      n.splatLike(indices, static_cast<double>(untrained)));
  auto type = cast<RankedTensorType>(rows.getType());
  auto dims = llvm::to_vector(llvm::seq<int64_t>(
      0, cast<RankedTensorType>(indices.getType()).getRank()));
  isUntrained = graph::buildBroadcast(n.builder, n.loc, isUntrained,
                                      type.clone(n.builder.getI1Type()), dims);
  return arith::SelectOp::create(
      n.builder, n.loc, isUntrained,
      graph::StopGradientOp::create(n.builder, n.loc, rows), rows);
}

static LogicalResult importGather(NodeImport &n) {
  auto axis = n.axis(intAttribute(n.node, "axis", 0), n.rank(0));
  if (failed(axis) || failed(requireIndices(n, 1)))
    return failure();
  int64_t size = n.shape(0)[*axis];
  if (const Literal *known = n.literal(1)) {
    auto keys = wrapKnown(n, known->ints, size);
    if (failed(keys) || failed(n.requireSizes(n.shape(1))))
      return failure();
    n.setResult(n.lookUpKnown(n.value(0), *axis, *keys, n.shape(1)));
    return success();
  }
  SmallVector<int64_t> shape = lookupShape(n.shape(0), *axis, n.shape(1));
  if (failed(n.requireSizes(shape)))
    return failure();
  Value indices = wrap(n, n.value(1), size);
  Value result =
      graph::GatherOp::create(n.builder, n.loc, n.type(0).clone(shape),
                              n.value(0), indices, *axis, /*batch=*/0);
  auto untrained = untrainedRow(n, size);
  if (untrained && *axis == 0 && n.isFloat(0))
    result = stopGradientOfRow(n, result, indices, *untrained);
  n.setResult(result);
  return success();
}

//===----------------------------------------------------------------------===//
// One index per element
//===----------------------------------------------------------------------===//

namespace {
/// Moves `axis` of tensors of one rank to the end, and back.
struct AxisLast {
  SmallVector<int64_t> there, back;

  AxisLast(int64_t rank, int64_t axis) : back(rank) {
    for (int64_t dim = 0; dim < rank; ++dim)
      if (dim != axis)
        there.push_back(dim);
    there.push_back(axis);
    for (auto [position, dim] : llvm::enumerate(there))
      back[dim] = position;
  }
};
} // namespace

/// The axis, after a check that the indices of operand `i` fit operand 0.
static FailureOr<int64_t> elementAxis(NodeImport &n, size_t i) {
  int64_t rank = n.rank(0);
  auto axis = n.axis(intAttribute(n.node, "axis", 0), rank);
  if (failed(axis) || failed(requireIndices(n, i)))
    return failure();
  if (n.rank(i) != rank)
    return n.fail("expected indices of rank " + Twine(rank) + ", got " +
                  Twine(n.rank(i)));
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim != *axis && n.shape(i)[dim] > n.shape(0)[dim])
      return n.fail("expected indices of at most " + Twine(n.shape(0)[dim]) +
                    " elements along dimension " + Twine(dim) + ", got " +
                    Twine(n.shape(i)[dim]));
  return axis;
}

static LogicalResult importGatherElements(NodeImport &n) {
  auto axis = elementAxis(n, 1);
  if (failed(axis))
    return failure();
  auto indices = wrappedIndices(n, 1, n.shape(0)[*axis]);
  if (failed(indices))
    return failure();
  Value table = n.value(0);
  int64_t last = n.rank(0) - 1;
  for (int64_t dim = 0; dim <= last; ++dim)
    if (dim != *axis)
      table = n.slice(table, dim, 0, n.shape(1)[dim]);
  AxisLast order(n.rank(0), *axis);
  table = n.transpose(table, order.there);
  Value keys = n.transpose(*indices, order.there);
  auto shape = cast<RankedTensorType>(keys.getType()).getShape();
  Value result =
      graph::GatherOp::create(n.builder, n.loc, n.type(0).clone(shape), table,
                              keys, last, /*batch=*/last);
  n.setResult(n.transpose(result, order.back));
  return success();
}

/// What a scatter does with the data where updates come.
enum class Scatter { Replace, Add, Mean, MeanWithData };

static FailureOr<Scatter> scatterKind(NodeImport &n) {
  if (failed(n.requireFloat(0)) || failed(n.requireSameType(0, 2)))
    return failure();
  StringRef reduction = stringAttribute(n.node, "reduction", "none");
  if (reduction != "add" && reduction != "none")
    return n.fail("expected reduction 'add' or 'none', got '" + reduction +
                  "'");
  if (n.origin.scatterMean == ScatterMean::OfUpdates)
    return Scatter::Mean;
  if (n.origin.scatterMean == ScatterMean::WithData)
    return Scatter::MeanWithData;
  return reduction == "add" ? Scatter::Add : Scatter::Replace;
}

/// `data` with the updates that `scatter` places among zeros. To replace an
/// element is to clear it first; ONNX wants its index once.
static Value scatterInto(NodeImport &n, Scatter kind, Value data, Value updates,
                         llvm::function_ref<Value(Value)> scatter) {
  Value sums = scatter(updates);
  if (kind == Scatter::Add)
    return arith::AddFOp::create(n.builder, n.loc, data, sums);
  Value count = scatter(n.splatLike(updates, 1));
  if (kind == Scatter::MeanWithData) {
    Value total = arith::AddFOp::create(n.builder, n.loc, data, sums);
    count =
        arith::AddFOp::create(n.builder, n.loc, count, n.splatLike(count, 1));
    return arith::DivFOp::create(n.builder, n.loc, total, count);
  }
  if (kind == Scatter::Mean)
    sums =
        arith::DivFOp::create(n.builder, n.loc, sums,
                              arith::MaximumFOp::create(n.builder, n.loc, count,
                                                        n.splatLike(count, 1)));
  Value isReplaced =
      arith::CmpFOp::create(n.builder, n.loc, arith::CmpFPredicate::OGT, count,
                            n.splatLike(count, 0));
  return arith::SelectOp::create(n.builder, n.loc, isReplaced, sums, data);
}

static LogicalResult importScatterElements(NodeImport &n) {
  auto kind = scatterKind(n);
  if (failed(kind))
    return failure();
  auto axis = elementAxis(n, 1);
  if (failed(axis))
    return failure();
  if (n.shape(1) != n.shape(2))
    return n.fail("expected one index per update");
  auto indices = wrappedIndices(n, 1, n.shape(0)[*axis]);
  if (failed(indices))
    return failure();
  int64_t last = n.rank(0) - 1;
  AxisLast order(n.rank(0), *axis);
  Value keys = n.transpose(*indices, order.there);
  Value updates = n.transpose(n.value(2), order.there);
  SmallVector<int64_t> shape(cast<RankedTensorType>(keys.getType()).getShape());
  shape[last] = n.shape(0)[*axis];
  auto scatter = [&](Value rows) {
    Value sums =
        graph::ScatterAddOp::create(n.builder, n.loc, n.type(0).clone(shape),
                                    rows, keys, last, /*batch=*/last);
    sums = n.transpose(sums, order.back);
    // Fewer rows of indices than of data: the others gain nothing.
    if (sums.getType() != n.type(0))
      sums = graph::PadOp::create(n.builder, n.loc, n.type(0), sums,
                                  SmallVector<int64_t>(n.rank(0), 0));
    return sums;
  };
  n.setResult(scatterInto(n, *kind, n.value(0), updates, scatter));
  return success();
}

//===----------------------------------------------------------------------===//
// Tuples of indices
//===----------------------------------------------------------------------===//

namespace {
/// Indices [..., q] into q dimensions as indices into these flattened.
struct TupleLookup {
  int64_t batch = 0, tuple = 0;
  /// The table with the indexed dimensions flattened, and the indices' shape
  /// without the tuples.
  SmallVector<int64_t> table, shape;
  Value keys;
};
} // namespace

static FailureOr<TupleLookup> lookUpTuples(NodeImport &n, int64_t batch) {
  if (failed(requireIndices(n, 1)))
    return failure();
  TupleLookup result;
  result.batch = batch;
  if (n.rank(1) == 0)
    return n.fail("expected indices of rank 1 or more");
  int64_t tuple = result.tuple = n.shape(1).back();
  if (batch < 0 || batch >= n.rank(1) || tuple < 1 || batch + tuple > n.rank(0))
    return n.fail("expected indices into at most " + Twine(n.rank(0)) +
                  " dimensions, got " + Twine(batch) +
                  " batch dimensions and "
                  "tuples of " +
                  Twine(tuple));
  if (n.shape(0).take_front(batch) != n.shape(1).take_front(batch))
    return n.fail("expected equal batch dimensions of data and indices");
  ArrayRef<int64_t> indexed = n.shape(0).slice(batch, tuple);
  int64_t flat = product(indexed);
  result.table.assign(n.shape(0).begin(), n.shape(0).begin() + batch);
  result.table.push_back(flat);
  llvm::append_range(result.table, n.shape(0).drop_front(batch + tuple));
  result.shape.assign(n.shape(1).begin(), n.shape(1).end() - 1);

  Value indices = n.value(1), valid;
  for (int64_t i = 0; i < tuple; ++i) {
    Value part = n.reshape(n.slice(indices, n.rank(1) - 1, i, 1), result.shape);
    part = wrap(n, part, indexed[i]);
    Value bound = n.splatLike(part, static_cast<double>(indexed[i]));
    Value isInside = arith::CmpIOp::create(
        n.builder, n.loc, arith::CmpIPredicate::ult, part, bound);
    if (!result.keys) {
      result.keys = part;
      valid = isInside;
      continue;
    }
    result.keys = arith::AddIOp::create(
        n.builder, n.loc,
        arith::MulIOp::create(n.builder, n.loc, result.keys, bound), part);
    valid = arith::AndIOp::create(n.builder, n.loc, valid, isInside);
  }
  // One bad index must not look like a good one of the next row.
  result.keys = arith::SelectOp::create(n.builder, n.loc, valid, result.keys,
                                        n.splatLike(result.keys, -1));
  return result;
}

/// Whether dimension i is dimension i + `shift`, around the end.
static bool isRotation(ArrayRef<int64_t> permutation, int64_t shift) {
  int64_t rank = permutation.size();
  for (auto [i, dim] : llvm::enumerate(permutation))
    if (dim != (static_cast<int64_t>(i) + shift) % rank)
      return false;
  return true;
}

static LogicalResult importGatherND(NodeImport &n) {
  int64_t batch = intAttribute(n.node, "batch_dims", 0);
  auto lookup = lookUpTuples(n, batch);
  if (failed(lookup))
    return failure();
  SmallVector<int64_t> shape = lookup->shape;
  ArrayRef<int64_t> rest = n.shape(0).drop_front(batch + lookup->tuple);
  int64_t outer = rest.size();
  if (auto transpose = n.value(0).getDefiningOp<graph::TransposeOp>();
      transpose && batch == 0 && outer != 0 &&
      isRotation(transpose.getPermutation(), outer)) {
    // PyTorch moves the dimensions that x[:, i, j] indexes to the front, and
    // back afterwards: they are looked up where they are.
    SmallVector<int64_t> table(rest), rows(rest), permutation;
    table.push_back(lookup->table.front());
    llvm::append_range(rows, shape);
    for (size_t i = 0; i < rows.size(); ++i)
      permutation.push_back((i + outer) % rows.size());
    Value found = graph::GatherOp::create(
        n.builder, n.loc, n.type(0).clone(rows),
        n.reshape(transpose.getInput(), table), lookup->keys, outer,
        /*batch=*/0);
    n.setResult(n.transpose(found, permutation));
    return success();
  }
  llvm::append_range(shape, rest);
  n.setResult(graph::GatherOp::create(n.builder, n.loc, n.type(0).clone(shape),
                                      n.reshape(n.value(0), lookup->table),
                                      lookup->keys, batch, batch));
  return success();
}

static LogicalResult importScatterND(NodeImport &n) {
  auto kind = scatterKind(n);
  if (failed(kind))
    return failure();
  auto lookup = lookUpTuples(n, 0);
  if (failed(lookup))
    return failure();
  SmallVector<int64_t> shape = lookup->shape;
  llvm::append_range(shape, n.shape(0).drop_front(lookup->tuple));
  if (n.shape(2) != ArrayRef<int64_t>(shape))
    return n.fail("expected updates of shape " + shapeText(shape) + ", got " +
                  shapeText(n.shape(2)));
  auto scatter = [&](Value rows) {
    Value sums = graph::ScatterAddOp::create(
        n.builder, n.loc, n.type(0).clone(lookup->table), rows, lookup->keys,
        /*dim=*/0, /*batch=*/0);
    return n.reshape(sums, n.shape(0));
  };
  n.setResult(scatterInto(n, *kind, n.value(0), n.value(2), scatter));
  return success();
}

void ingest::addLookupHandlers(HandlerTable &table) {
  table["Gather"] = importGather;
  table["GatherElements"] = importGatherElements;
  table["GatherND"] = importGatherND;
  table["ScatterElements"] = importScatterElements;
  table["ScatterND"] = importScatterND;
}
