// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the largest elements are, elements in order, and indices as vectors.

#include "NodeImport.h"
#include <numeric>

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

/// TopK compares all pairs of elements along its axis.
static constexpr int64_t longestSorted = 8192;

/// The index along `dim` of every element.
static Value positions(NodeImport &n, ArrayRef<int64_t> shape, int64_t dim) {
  return graph::IotaOp::create(
      n.builder, n.loc, RankedTensorType::get(shape, n.builder.getI64Type()),
      dim);
}

static Value isEqual(NodeImport &n, Value a, Value b) {
  if (isa<FloatType>(getElementTypeOrSelf(a.getType())))
    return arith::CmpFOp::create(n.builder, n.loc, arith::CmpFPredicate::UEQ, a,
                                 b);
  return arith::CmpIOp::create(n.builder, n.loc, arith::CmpIPredicate::eq, a,
                               b);
}

static LogicalResult requireNumbers(NodeImport &n) {
  if (n.type(0).getElementType().isInteger(1))
    return n.fail("expected a float or integer input, got bool");
  return success();
}

/// The first (or last) index of the largest (or smallest) element.
template <bool isMax> static LogicalResult importArg(NodeImport &n) {
  auto axis = n.axis(intAttribute(n.node, "axis", 0), n.rank(0));
  if (failed(axis) || failed(requireNumbers(n)))
    return failure();
  bool wantsLast = intAttribute(n.node, "select_last_index", 0) != 0;
  Value x = n.value(0);
  SmallVector<int64_t> others;
  for (int64_t dim = 0; dim < n.rank(0); ++dim)
    if (dim != *axis)
      others.push_back(dim);
  Value extreme = graph::buildReduce(
      n.builder, n.loc, isMax ? graph::ReduceKind::Max : graph::ReduceKind::Min,
      x, {*axis});
  extreme = graph::buildBroadcast(n.builder, n.loc, extreme, n.type(0), others);
  Value position = positions(n, n.shape(0), *axis);
  double outside = wantsLast ? -1 : static_cast<double>(n.shape(0)[*axis]);
  Value candidate =
      arith::SelectOp::create(n.builder, n.loc, isEqual(n, x, extreme),
                              position, n.splatLike(position, outside));
  Value result = graph::buildReduce(n.builder, n.loc,
                                    wantsLast ? graph::ReduceKind::Max
                                              : graph::ReduceKind::Min,
                                    candidate, {*axis});
  if (intAttribute(n.node, "keepdims", 1)) {
    SmallVector<int64_t> shape(n.shape(0));
    shape[*axis] = 1;
    result = n.reshape(result, shape);
  }
  n.setResult(result);
  return success();
}

/// For every element along the last dimension of `x` how many come before it;
/// of equal ones the first does. Work grows with the square of the length,
/// memory does not.
static Value ranks(NodeImport &n, Value x, bool isDescending) {
  auto type = cast<RankedTensorType>(x.getType());
  int64_t last = type.getRank() - 1;
  SmallVector<int64_t> square(type.getShape()), mine, others;
  square.push_back(square.back());
  for (int64_t dim = 0; dim < last; ++dim) {
    mine.push_back(dim);
    others.push_back(dim);
  }
  mine.push_back(last);
  others.push_back(last + 1);
  auto squareType = type.clone(square);
  Value a = graph::buildBroadcast(n.builder, n.loc, x, squareType, mine);
  Value b = graph::buildBroadcast(n.builder, n.loc, x, squareType, others);
  Value isBefore;
  if (isa<FloatType>(type.getElementType()))
    isBefore = arith::CmpFOp::create(n.builder, n.loc,
                                     isDescending ? arith::CmpFPredicate::OGT
                                                  : arith::CmpFPredicate::OLT,
                                     b, a);
  else
    isBefore = arith::CmpIOp::create(n.builder, n.loc,
                                     isDescending ? arith::CmpIPredicate::sgt
                                                  : arith::CmpIPredicate::slt,
                                     b, a);
  Value isEarlier = arith::CmpIOp::create(
      n.builder, n.loc, arith::CmpIPredicate::slt,
      positions(n, square, last + 1), positions(n, square, last));
  Value isTied =
      arith::AndIOp::create(n.builder, n.loc, isEqual(n, a, b), isEarlier);
  Value counts = arith::ExtUIOp::create(
      n.builder, n.loc, squareType.clone(n.builder.getI64Type()),
      arith::OrIOp::create(n.builder, n.loc, isBefore, isTied));
  return graph::buildReduce(n.builder, n.loc, graph::ReduceKind::Sum, counts,
                            {last + 1});
}

static LogicalResult importTopK(NodeImport &n) {
  auto axis = n.axis(intAttribute(n.node, "axis", -1), n.rank(0));
  auto count = n.knownInts(1, "k");
  if (failed(axis) || failed(count) || failed(requireNumbers(n)))
    return failure();
  int64_t size = n.shape(0)[*axis];
  if (count->size() != 1 || count->front() < 1 || count->front() > size)
    return n.fail("expected k between 1 and " + Twine(size));
  if (size > longestSorted)
    return n.fail("expected at most " + Twine(longestSorted) +
                  " elements to choose from, got " + Twine(size));
  SmallVector<int64_t> square(n.shape(0));
  square.push_back(size);
  if (failed(n.requireSizes(square)))
    return failure();
  int64_t k = count->front(), last = n.rank(0) - 1;
  SmallVector<int64_t> there, back(n.rank(0));
  for (int64_t dim = 0; dim <= last; ++dim)
    if (dim != *axis)
      there.push_back(dim);
  there.push_back(*axis);
  for (auto [position, dim] : llvm::enumerate(there))
    back[dim] = position;
  Value x = n.transpose(n.value(0), there);
  auto type = cast<RankedTensorType>(x.getType());
  Value rank = ranks(n, x, intAttribute(n.node, "largest", 1) != 0);

  // indices[k] is the i whose rank is k.
  SmallVector<int64_t> pairs(type.getShape()), dims, chosen(type.getShape());
  pairs.insert(pairs.end() - 1, k);
  chosen[last] = k;
  if (failed(n.requireSizes(pairs)))
    return failure();
  for (int64_t dim = 0; dim < last; ++dim)
    dims.push_back(dim);
  dims.push_back(last + 1);
  Type i64 = n.builder.getI64Type();
  Value spread = graph::buildBroadcast(n.builder, n.loc, rank,
                                       RankedTensorType::get(pairs, i64), dims);
  Value position = positions(n, pairs, last + 1);
  Value terms = arith::SelectOp::create(
      n.builder, n.loc, isEqual(n, spread, positions(n, pairs, last)), position,
      n.splatLike(position, 0));
  Value indices = graph::buildReduce(n.builder, n.loc, graph::ReduceKind::Sum,
                                     terms, {last + 1});
  Value values = graph::GatherOp::create(n.builder, n.loc, type.clone(chosen),
                                         x, indices, last, /*batch=*/last);
  n.setResults({n.transpose(values, back), n.transpose(indices, back)});
  return success();
}

static LogicalResult importOneHot(NodeImport &n) {
  auto depth = n.knownInts(1, "depth");
  if (failed(depth))
    return failure();
  if (depth->size() != 1 || depth->front() < 1)
    return n.fail("expected a depth of at least 1");
  auto element = dyn_cast<IntegerType>(n.type(0).getElementType());
  if (!element || element.getWidth() < 32)
    return n.fail("expected int64 or int32 indices");
  if (n.shape(2) != ArrayRef<int64_t>{2})
    return n.fail("expected two values, off and on, got shape " +
                  shapeText(n.shape(2)));
  auto axis = n.axis(intAttribute(n.node, "axis", -1), n.rank(0) + 1);
  if (failed(axis))
    return failure();
  SmallVector<int64_t> shape(n.shape(0)), dims;
  shape.insert(shape.begin() + *axis, depth->front());
  if (failed(n.requireSizes(shape)))
    return failure();
  for (int64_t dim = 0; dim < n.rank(0); ++dim)
    dims.push_back(dim < *axis ? dim : dim + 1);
  Value indices = n.value(0);
  Type i64 = n.builder.getI64Type();
  if (element.getWidth() < 64)
    indices =
        arith::ExtSIOp::create(n.builder, n.loc, n.type(0).clone(i64), indices);
  auto type = RankedTensorType::get(shape, i64);
  indices = graph::buildBroadcast(n.builder, n.loc, indices, type, dims);
  Value position = positions(n, shape, *axis);
  Value fromEnd = arith::SubIOp::create(
      n.builder, n.loc, position,
      n.splatLike(position, static_cast<double>(depth->front())));
  Value isHot =
      arith::OrIOp::create(n.builder, n.loc, isEqual(n, indices, position),
                           isEqual(n, indices, fromEnd));
  auto valueAt = [&](int64_t i) {
    return n.broadcastTo(n.reshape(n.slice(n.value(2), 0, i, 1), {}), shape);
  };
  Value on = valueAt(1), off = valueAt(0);
  n.setResult(arith::SelectOp::create(n.builder, n.loc, isHot, on, off));
  return success();
}

void ingest::addOrderHandlers(HandlerTable &table) {
  table["ArgMax"] = importArg</*isMax=*/true>;
  table["ArgMin"] = importArg</*isMax=*/false>;
  table["OneHot"] = importOneHot;
  table["TopK"] = importTopK;
}
