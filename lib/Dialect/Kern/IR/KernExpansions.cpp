// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expansion of the kernel families to graph ops: what each of them means.

#include "RegionExpansion.h"
#include "bessemer/Dialect/Kern/IR/Kern.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::kern;

using Expansion = FailureOr<SmallVector<Value>>;

static AffineMap mapAt(ArrayAttr maps, unsigned index) {
  return cast<AffineMapAttr>(maps[index]).getValue();
}

/// Binds `inputs` to the arguments of `body` from `firstArgument` on, expands
/// it, and takes one value per result.
static Expansion expandIndexed(RegionExpansion &expansion, Operation *op,
                               ValueRange inputs, ArrayAttr maps, Block &body,
                               unsigned firstArgument) {
  for (auto [index, input] : llvm::enumerate(inputs))
    expansion.bind(body.getArgument(firstArgument + index), input,
                   mapAt(maps, index));
  if (failed(expansion.expand(body)))
    return failure();
  SmallVector<Value> results;
  for (auto [index, value] :
       llvm::enumerate(body.getTerminator()->getOperands())) {
    FailureOr<Value> result =
        expansion.take(value, mapAt(maps, inputs.size() + index));
    if (failed(result))
      return failure();
    results.push_back(*result);
  }
  return results;
}

Expansion MapOp::expand(OpBuilder &builder) {
  RegionExpansion expansion(builder, getLoc(), getBounds(), {});
  return expandIndexed(expansion, *this, getInputs(), getIndexingMaps(),
                       getBody().front(), 0);
}

template <typename OpTy>
static Expansion expandFolding(OpTy op, OpBuilder &builder) {
  RegionExpansion expansion(builder, op.getLoc(), op.getBounds(),
                            op.getReduced());
  return expandIndexed(expansion, op, op.getInputs(), op.getIndexingMaps(),
                       op.getBody().front(), 0);
}

Expansion RowsOp::expand(OpBuilder &builder) {
  return expandFolding(*this, builder);
}

Expansion ColumnsOp::expand(OpBuilder &builder) {
  return expandFolding(*this, builder);
}

Expansion GemmOp::expand(OpBuilder &builder) {
  SmallVector<int64_t> bounds = getBounds();
  int64_t rank = bounds.size();
  SmallVector<int64_t> batch;
  if (isBatched())
    batch.push_back(0);
  Value product = graph::ContractOp::create(
      builder, getLoc(), getA(), getB(), ArrayRef<int64_t>(batch),
      ArrayRef<int64_t>(batch), ArrayRef<int64_t>{rank - (getTransA() ? 2 : 1)},
      ArrayRef<int64_t>{rank - (getTransB() ? 1 : 2)});
  RegionExpansion expansion(builder, getLoc(), bounds, {});
  expansion.bind(getBody().getArgument(0), product,
                 AffineMap::getMultiDimIdentityMap(rank, getContext()));
  return expandIndexed(expansion, *this, getExtras(), getIndexingMaps(),
                       getBody().front(), 1);
}

Expansion ConvOp::expand(OpBuilder &builder) {
  auto operand = [&](unsigned i) -> Value {
    Value value = getInputs()[i];
    if (!isBlocked(i))
      return value;
    return i == getRoles().w
               ? graph::buildUnblockedWeights(builder, getLoc(), value)
               : buildUnblocked(builder, getLoc(), value);
  };
  Value first = operand(0), second = operand(1);
  unsigned last = getInputs().size();
  RankedTensorType type = getLogicalType(last);
  Value result;
  switch (getKind()) {
  case ConvKind::Forward:
    result = graph::ConvOp::create(
        builder, getLoc(), type, first, second,
        getInputs().size() == 3 ? getInputs()[2] : Value(), getStridesAttr(),
        getPadsAttr(), getDilationsAttr(), getGroupsAttr());
    break;
  case ConvKind::InputGrad:
    result = graph::ConvInputGradOp::create(
        builder, getLoc(), type, first, second, getStridesAttr(), getPadsAttr(),
        getDilationsAttr(), getGroupsAttr());
    break;
  case ConvKind::WeightGrad:
    result = graph::ConvWeightGradOp::create(
        builder, getLoc(), type, first, second, getStridesAttr(), getPadsAttr(),
        getDilationsAttr(), getGroupsAttr());
    break;
  }
  if (isBlocked(last))
    result = last == getRoles().w
                 ? graph::buildBlockedWeights(builder, getLoc(), result)
                 : buildBlocked(builder, getLoc(), result, getType());
  return SmallVector<Value>{result};
}

Expansion WindowOp::expand(OpBuilder &builder) {
  bool isBlocked = getType().getRank() == 5;
  SmallVector<Value> images;
  for (Value image : getInputs())
    images.push_back(isBlocked ? buildUnblocked(builder, getLoc(), image)
                               : image);
  RankedTensorType type = isBlocked ? getUnblockedType(getType()) : getType();
  Value first = images[0], result;
  switch (getKind()) {
  case WindowKind::Max:
  case WindowKind::Average:
    result = graph::PoolOp::create(builder, getLoc(), type,
                                   getKind() == WindowKind::Max
                                       ? graph::PoolKind::Max
                                       : graph::PoolKind::Average,
                                   first, getWindow(), getStrides(), getPads(),
                                   getDilations(), getCountIncludePad());
    break;
  case WindowKind::MaxGrad:
    result = graph::MaxPoolGradOp::create(
        builder, getLoc(), type, first, images[1], getWindowAttr(),
        getStridesAttr(), getPadsAttr(), getDilationsAttr());
    break;
  case WindowKind::AverageGrad:
    result = graph::AveragePoolGradOp::create(
        builder, getLoc(), type, first, getWindow(), getStrides(), getPads(),
        getDilations(), getCountIncludePad());
    break;
  }
  if (isBlocked)
    result = buildBlocked(builder, getLoc(), result, getType());
  return SmallVector<Value>{result};
}

/// The new parameter and moments that the region of an update makes.
static Expansion expandUpdate(OpBuilder &builder, Location loc, Block &body,
                              Value parameter, Value gradient,
                              ValueRange moments, ValueRange scalars) {
  auto type = cast<RankedTensorType>(parameter.getType());
  RegionExpansion expansion(builder, loc, type.getShape(), {});
  AffineMap all =
      AffineMap::getMultiDimIdentityMap(type.getRank(), builder.getContext());
  AffineMap none = AffineMap::get(type.getRank(), 0, builder.getContext());
  expansion.bind(body.getArgument(0), parameter, all);
  expansion.bind(body.getArgument(1), gradient, all);
  for (auto [j, moment] : llvm::enumerate(moments))
    expansion.bind(body.getArgument(2 + j), moment, all);
  for (auto [j, scalar] : llvm::enumerate(scalars))
    expansion.bind(body.getArgument(2 + moments.size() + j), scalar, none);
  if (failed(expansion.expand(body)))
    return failure();
  SmallVector<Value> results;
  for (Value value : body.getTerminator()->getOperands()) {
    FailureOr<Value> result = expansion.take(value, all);
    if (failed(result))
      return failure();
    results.push_back(*result);
  }
  return results;
}

Expansion UpdateOp::expand(OpBuilder &builder) {
  unsigned count = getParameters().size(), moments = getMomentsPerParameter();
  SmallVector<Value> results(getNumResults());
  for (unsigned i = 0; i < count; ++i) {
    Expansion updated =
        expandUpdate(builder, getLoc(), getBody().front(), getParameters()[i],
                     getGradients()[i],
                     getMoments().slice(i * moments, moments), getScalars());
    if (failed(updated))
      return failure();
    for (auto [j, value] : llvm::enumerate(*updated))
      results[j == 0 ? i : count + i * moments + (j - 1)] = value;
  }
  return results;
}

Expansion kern::GatherOp::expand(OpBuilder &builder) {
  Value rows = graph::GatherOp::create(builder, getLoc(), getType(), getTable(),
                                       getIndices(), /*dim=*/2, /*batch=*/1);
  return SmallVector<Value>{rows};
}

Expansion ScatterOp::expand(OpBuilder &builder) {
  Value table =
      graph::ScatterAddOp::create(builder, getLoc(), getType(), getUpdates(),
                                  getIndices(), /*dim=*/2, /*batch=*/1);
  return SmallVector<Value>{table};
}

Expansion TableUpdateOp::expand(OpBuilder &builder) {
  auto type = cast<RankedTensorType>(getTable().getType());
  Value gradient = graph::ScatterAddOp::create(
      builder, getLoc(), type, getRows(), getIndices(), /*dim=*/2, /*batch=*/1);
  Expansion results =
      expandUpdate(builder, getLoc(), getBody().front(), getTable(), gradient,
                   getMoments(), getScalars());
  if (failed(results) || !getTouchedOnly())
    return results;
  Value touched = graph::buildTouched(builder, getLoc(), getIndices(),
                                      /*batch=*/1, type.getDimSize(2));
  touched = graph::buildBroadcast(builder, getLoc(), touched,
                                  type.clone(builder.getI1Type()), {0, 2});
  SmallVector<Value> old{getTable()};
  llvm::append_range(old, getMoments());
  for (auto [result, kept] : llvm::zip_equal(*results, old))
    result = arith::SelectOp::create(builder, getLoc(), touched, result, kept);
  return results;
}

Expansion NormOp::expand(OpBuilder &builder) {
  auto type = cast<RankedTensorType>(getType());
  SmallVector<Value> parts;
  // One partial sum per row of `rows` [count, length].
  auto addSums = [&](Value rows) {
    Value squares = arith::MulFOp::create(builder, getLoc(), rows, rows);
    parts.push_back(graph::buildReduce(builder, getLoc(),
                                       graph::ReduceKind::Sum, squares, {1}));
  };
  int64_t chunk = getChunk();
  for (Value input : getInputs()) {
    int64_t elements = cast<RankedTensorType>(input.getType()).getNumElements();
    Value flat = graph::buildReshape(builder, getLoc(), input, {elements});
    int64_t whole = elements / chunk * chunk;
    auto slice = [&](int64_t offset, int64_t size) -> Value {
      if (size == elements)
        return flat;
      return graph::SliceOp::create(
          builder, getLoc(),
          RankedTensorType::get({size}, type.getElementType()), flat,
          ArrayRef<int64_t>{offset});
    };
    if (whole)
      addSums(graph::buildReshape(builder, getLoc(), slice(0, whole),
                                  {whole / chunk, chunk}));
    if (int64_t rest = elements - whole)
      addSums(graph::buildReshape(builder, getLoc(), slice(whole, rest),
                                  {1, rest}));
  }
  Value sums =
      graph::ConcatOp::create(builder, getLoc(), type, parts, /*dim=*/0);
  return SmallVector<Value>{sums};
}
