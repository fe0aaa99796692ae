// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions over axes.

#include "NodeImport.h"

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

/// The axes of a reduction, sorted; nothing when it keeps its input as it is.
static FailureOr<SmallVector<int64_t>> reducedAxes(NodeImport &n) {
  SmallVector<int64_t> axes;
  if (n.has(1)) {
    auto given = n.knownInts(1, "axes");
    if (failed(given))
      return failure();
    for (int64_t entry : *given) {
      auto axis = n.axis(entry, n.rank(0));
      if (failed(axis))
        return failure();
      if (llvm::is_contained(axes, *axis))
        return n.fail("axis " + Twine(*axis) + " is given twice");
      axes.push_back(*axis);
    }
  }
  if (axes.empty() && !intAttribute(n.node, "noop_with_empty_axes", 0))
    llvm::append_range(axes, llvm::seq<int64_t>(0, n.rank(0)));
  llvm::sort(axes);
  return axes;
}

/// Puts the reduced dimensions back with size 1 where the node keeps them.
static Value withKeptDims(NodeImport &n, Value value, ArrayRef<int64_t> axes) {
  if (!intAttribute(n.node, "keepdims", 1))
    return value;
  SmallVector<int64_t> shape(n.shape(0));
  for (int64_t axis : axes)
    shape[axis] = 1;
  return n.reshape(value, shape);
}

static int64_t reducedCount(NodeImport &n, ArrayRef<int64_t> axes) {
  int64_t count = 1;
  for (int64_t axis : axes)
    count *= n.shape(0)[axis];
  return count;
}

template <graph::ReduceKind kind>
static LogicalResult importReduce(NodeImport &n) {
  auto axes = reducedAxes(n);
  if (failed(axes))
    return failure();
  if (n.type(0).getElementType().isInteger(1))
    return n.fail("expected a float or integer input, got bool");
  Value result = axes->empty() ? n.value(0)
                               : graph::buildReduce(n.builder, n.loc, kind,
                                                    n.value(0), *axes);
  n.setResult(withKeptDims(n, result, *axes));
  return success();
}

static LogicalResult importReduceMean(NodeImport &n) {
  auto axes = reducedAxes(n);
  if (failed(axes) || failed(n.requireFloat(0)))
    return failure();
  Value result = n.value(0);
  if (!axes->empty()) {
    Value sum = graph::buildReduce(n.builder, n.loc, graph::ReduceKind::Sum,
                                   result, *axes);
    result = arith::MulFOp::create(
        n.builder, n.loc, sum, n.splatLike(sum, 1.0 / reducedCount(n, *axes)));
  }
  n.setResult(withKeptDims(n, result, *axes));
  return success();
}

/// Over all spatial dimensions, which stay with size 1.
template <bool isAverage> static LogicalResult importGlobalPool(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  if (n.rank(0) < 3)
    return n.fail("expected spatial dimensions, got rank " + Twine(n.rank(0)));
  auto axes = llvm::to_vector(llvm::seq<int64_t>(2, n.rank(0)));
  Value result = graph::buildReduce(n.builder, n.loc,
                                    isAverage ? graph::ReduceKind::Sum
                                              : graph::ReduceKind::Max,
                                    n.value(0), axes);
  if (isAverage)
    result =
        arith::MulFOp::create(n.builder, n.loc, result,
                              n.splatLike(result, 1.0 / reducedCount(n, axes)));
  n.setResult(withKeptDims(n, result, axes));
  return success();
}

/// A sum of those elements that lie before (or after) each: nothing of that
/// square is stored, but the work grows with it.
static LogicalResult importCumSum(NodeImport &n) {
  auto given = n.knownInts(1, "axes");
  if (failed(given))
    return failure();
  if (given->size() != 1)
    return n.fail("expected one axis, got " + Twine(given->size()));
  auto axis = n.axis(given->front(), n.rank(0));
  if (failed(axis))
    return failure();
  if (n.type(0).getElementType().isInteger(1))
    return n.fail("expected a float or integer input, got bool");
  // Dimension `axis` of the square counts results, the next one elements.
  SmallVector<int64_t> square(n.shape(0)), dims;
  square.insert(square.begin() + *axis, n.shape(0)[*axis]);
  for (int64_t dim = 0; dim < n.rank(0); ++dim)
    dims.push_back(dim < *axis ? dim : dim + 1);
  if (failed(n.requireSizes(square)))
    return failure();
  auto type = n.type(0).clone(square);
  Value elements =
      graph::buildBroadcast(n.builder, n.loc, n.value(0), type, dims);
  auto index = [&](int64_t dim) -> Value {
    return graph::IotaOp::create(n.builder, n.loc,
                                 type.clone(n.builder.getI64Type()), dim);
  };
  using Predicate = arith::CmpIPredicate;
  bool isExclusive = intAttribute(n.node, "exclusive", 0) != 0;
  Predicate predicate = intAttribute(n.node, "reverse", 0)
                            ? isExclusive ? Predicate::sgt : Predicate::sge
                        : isExclusive ? Predicate::slt
                                      : Predicate::sle;
  Value isAdded = arith::CmpIOp::create(n.builder, n.loc, predicate,
                                        index(*axis + 1), index(*axis));
  Value terms = arith::SelectOp::create(n.builder, n.loc, isAdded, elements,
                                        n.splatLike(elements, 0));
  n.setResult(graph::buildReduce(n.builder, n.loc, graph::ReduceKind::Sum,
                                 terms, {*axis + 1}));
  return success();
}

void ingest::addReduceHandlers(HandlerTable &table) {
  using graph::ReduceKind;
  static constexpr std::pair<const char *, Handler> entries[] = {
      {"CumSum", importCumSum},
      {"GlobalAveragePool", importGlobalPool<true>},
      {"GlobalMaxPool", importGlobalPool<false>},
      {"ReduceMax", importReduce<ReduceKind::Max>},
      {"ReduceMean", importReduceMean},
      {"ReduceMin", importReduce<ReduceKind::Min>},
      {"ReduceProd", importReduce<ReduceKind::Product>},
      {"ReduceSum", importReduce<ReduceKind::Sum>},
  };
  for (auto [name, handler] : entries)
    table[name] = handler;
}
