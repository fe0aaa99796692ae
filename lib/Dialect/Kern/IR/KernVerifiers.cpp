// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of the kernel families.

#include "../../Graph/IR/Geometry.h"
#include "bessemer/Dialect/Kern/IR/Kern.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::kern;

/// Checks operands and results against indexing maps over `bounds`, and the
/// region's arguments (from `firstArgument` on) and yielded values against
/// their element types.
static LogicalResult verifyIndexed(Operation *op, ValueRange inputs,
                                   ArrayRef<int64_t> bounds, ArrayAttr maps,
                                   Block &body, unsigned firstArgument) {
  unsigned results = op->getNumResults();
  if (maps.size() != inputs.size() + results)
    return op->emitOpError("expected ")
           << inputs.size() + results
           << " indexing maps (inputs, then results), got " << maps.size();
  if (body.getNumArguments() != firstArgument + inputs.size())
    return op->emitOpError("expected ")
           << firstArgument + inputs.size() << " region arguments, got "
           << body.getNumArguments();
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (!yield || yield.getValues().size() != results)
    return op->emitOpError("expected the region to yield ")
           << results << " values";

  for (unsigned i = 0; i < maps.size(); ++i) {
    bool isInput = i < inputs.size();
    Type type = isInput ? inputs[i].getType()
                        : op->getResult(i - inputs.size()).getType();
    AffineMap map = cast<AffineMapAttr>(maps[i]).getValue();
    std::string what = (isInput ? "input " : "result ") +
                       std::to_string(isInput ? i : i - inputs.size());
    if (map.getNumDims() != bounds.size() || !isShiftedProjection(map) ||
        (!isInput && !map.isProjectedPermutation()))
      return op->emitOpError("expected the map of ")
             << what << " to be a projected permutation of " << bounds.size()
             << " dimensions"
             << (isInput ? ", each plus a constant or not" : "") << ", got "
             << maps[i];
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (tensor) {
      if (tensor.getRank() != map.getNumResults())
        return op->emitOpError("expected rank ")
               << map.getNumResults() << " of " << what << ", got " << tensor;
      // An input may be read in part, or beyond its end.
      for (unsigned dim = 0; dim < map.getNumResults() && !isInput; ++dim)
        if (tensor.getDimSize(dim) != bounds[map.getDimPosition(dim)])
          return op->emitOpError("expected dimension ")
                 << dim << " of " << what << " to be "
                 << bounds[map.getDimPosition(dim)] << ", got "
                 << tensor.getDimSize(dim);
    }
    Type element = tensor ? tensor.getElementType() : type;
    Type regionType = isInput ? body.getArgument(firstArgument + i).getType()
                              : yield.getValues()[i - inputs.size()].getType();
    if (element != regionType)
      return op->emitOpError("expected region type ")
             << element << " for " << what << ", got " << regionType;
  }
  for (Operation &inner : body)
    if (auto index = dyn_cast<IndexOp>(inner)) {
      int64_t dim = index.getDim();
      if (dim < 0 || dim >= static_cast<int64_t>(bounds.size()))
        return index.emitOpError("expected dim below ")
               << bounds.size() << ", got " << dim;
    }
  return success();
}

static LogicalResult verifyNoFold(Operation *op, Block &body) {
  for (Operation &inner : body)
    if (isa<FoldOp>(inner))
      return op->emitOpError("expected no kern.fold in its region");
  return success();
}

/// Whether `map` has every dimension of size above 1 but those in `without`:
/// each element of the result is then written once.
static bool coversDims(AffineMap map, ArrayRef<int64_t> bounds,
                       ArrayRef<int64_t> without) {
  for (auto [dim, bound] : llvm::enumerate(bounds))
    if (bound != 1 && !llvm::is_contained(without, dim) &&
        !map.isFunctionOfDim(dim))
      return false;
  return true;
}

LogicalResult MapOp::verify() {
  if (failed(verifyNoFold(*this, getBody().front())) ||
      failed(verifyIndexed(*this, getInputs(), getBounds(), getIndexingMaps(),
                           getBody().front(), 0)))
    return failure();
  for (unsigned i = 0; i < getNumResults(); ++i) {
    Attribute map = getIndexingMaps()[getInputs().size() + i];
    if (!coversDims(cast<AffineMapAttr>(map).getValue(), getBounds(), {}))
      return emitOpError("expected result ")
             << i << " to have each of its " << getBounds().size()
             << " iteration dimensions";
  }
  return success();
}

/// The values of `body` that vary along `reduced` dimensions of size above 1.
static llvm::DenseSet<Value> varyingValues(Block &body, ArrayAttr maps,
                                           ArrayRef<int64_t> bounds,
                                           ArrayRef<int64_t> reduced) {
  llvm::DenseSet<Value> varying;
  auto isVaryingDim = [&](int64_t dim) {
    return bounds[dim] != 1 && llvm::is_contained(reduced, dim);
  };
  for (BlockArgument argument : body.getArguments()) {
    AffineMap map =
        cast<AffineMapAttr>(maps[argument.getArgNumber()]).getValue();
    for (unsigned i = 0; i < map.getNumResults(); ++i)
      if (isVaryingDim(getEntry(map, i).dim))
        varying.insert(argument);
  }
  for (Operation &op : body) {
    auto index = dyn_cast<IndexOp>(op);
    bool varies = index ? isVaryingDim(index.getDim())
                        : !isa<FoldOp>(op) &&
                              llvm::any_of(op.getOperands(), [&](Value value) {
                                return varying.contains(value);
                              });
    if (varies)
      varying.insert(op.getResults().begin(), op.getResults().end());
  }
  return varying;
}

template <typename OpTy> static LogicalResult verifyFolding(OpTy op) {
  ArrayRef<int64_t> bounds = op.getBounds(), reduced = op.getReduced();
  int64_t rank = bounds.size();
  bool increasing =
      !reduced.empty() && reduced.front() >= 0 && reduced.back() < rank &&
      llvm::is_sorted(reduced) &&
      std::adjacent_find(reduced.begin(), reduced.end()) == reduced.end();
  if (!increasing)
    return op.emitOpError("expected increasing reduced dimensions below ")
           << rank;
  Block &body = op.getBody().front();
  ArrayAttr maps = op.getIndexingMaps();
  if (failed(verifyIndexed(op, op.getInputs(), bounds, maps, body, 0)))
    return failure();
  llvm::DenseSet<Value> varying = varyingValues(body, maps, bounds, reduced);
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands())) {
    AffineMap map =
        cast<AffineMapAttr>(maps[op.getInputs().size() + i]).getValue();
    // A result has all reduced dimensions, or none of them.
    unsigned used = llvm::count_if(
        reduced, [&](int64_t dim) { return map.isFunctionOfDim(dim); });
    if (used != 0 && used != reduced.size())
      return op.emitOpError("expected result ")
             << i << " to have all reduced dimensions or none";
    if (!coversDims(map, bounds, reduced))
      return op.emitOpError("expected result ")
             << i << " to have each dimension that is not reduced";
    if (used == 0 && varying.contains(value))
      return op.emitOpError("expected result ")
             << i
             << ", which lacks the reduced dimensions, to be uniform along "
                "them";
  }
  return success();
}

LogicalResult RowsOp::verify() { return verifyFolding(*this); }
LogicalResult ColumnsOp::verify() { return verifyFolding(*this); }

LogicalResult GemmOp::verify() {
  auto a = cast<RankedTensorType>(getA().getType());
  auto b = cast<RankedTensorType>(getB().getType());
  if (a.getRank() != b.getRank() || a.getRank() < 2 || a.getRank() > 3)
    return emitOpError("expected a and b of rank 2, or 3 with a batch, got ")
           << a << " and " << b;
  if (isBatched() && a.getDimSize(0) != b.getDimSize(0))
    return emitOpError("expected equal batch, got ")
           << a.getDimSize(0) << " and " << b.getDimSize(0);
  int64_t rank = b.getRank();
  int64_t k = b.getDimSize(rank - (getTransB() ? 1 : 2));
  if (k != getK())
    return emitOpError("expected equal k, got ") << getK() << " and " << k;
  Block &body = getBody().front();
  if (failed(verifyNoFold(*this, body)))
    return failure();
  if (!body.getNumArguments() ||
      body.getArgument(0).getType() != a.getElementType())
    return emitOpError("expected the accumulator as first region argument");
  return verifyIndexed(*this, getExtras(), getBounds(), getIndexingMaps(), body,
                       1);
}

LogicalResult ConvOp::verify() {
  unsigned operands = getInputs().size();
  bool forward = getKind() == ConvKind::Forward;
  if (operands != 2 && !(forward && operands == 3))
    return emitOpError("expected 2 operands (or a bias too when forward), got ")
           << operands;
  if (getLayouts().size() != operands + 1)
    return emitOpError("expected a layout per operand and result, got ")
           << getLayouts().size();
  Roles roles = getRoles();
  for (unsigned i = 0; i <= operands; ++i) {
    StringRef layout = cast<LayoutAttr>(getLayouts()[i]).getFormat();
    StringRef blocked = i == roles.x || i == roles.y ? kBlockedLayout
                        : i == roles.w               ? graph::kBlockedWeights
                                                     : kRowLayout;
    if (layout != kRowLayout && layout != blocked)
      return emitOpError("expected layout ")
             << kRowLayout << (blocked == kRowLayout ? "" : " or ")
             << (blocked == kRowLayout ? "" : blocked) << ", got " << layout;
    auto type = cast<RankedTensorType>(i < operands ? getInputs()[i].getType()
                                                    : getType());
    if (layout == kBlockedLayout &&
        (type.getRank() != 5 || type.getDimSize(4) != kChannelBlock))
      return emitOpError("expected [n, c, h, w, ")
             << kChannelBlock << "] of layout " << layout << ", got " << type;
    if (layout == graph::kBlockedWeights &&
        (type.getRank() != 6 ||
         graph::getBlockedWeights(graph::getUnblockedWeights(type)) != type))
      return emitOpError("expected [o, i, h, w, 16, 16] of layout ")
             << layout << ", got " << type;
  }
  RankedTensorType y = getLogicalType(roles.y);
  if (failed(graph::verifyConvolution(*this, getLogicalType(roles.x),
                                      getLogicalType(roles.w), y, getStrides(),
                                      getPads(), getDilations(), getGroups())))
    return failure();
  if (isBlocked(roles.w) && y.getDimSize(1) / getGroups() % kChannelBlock != 0)
    return emitOpError("expected groups of whole blocks of ")
           << kChannelBlock << " output channels, got " << getGroups()
           << " groups of " << y.getDimSize(1) / getGroups();
  if (operands == 3 && getLogicalType(2).getShape() != y.getShape().slice(1, 1))
    return emitOpError("expected a bias of ")
           << y.getDimSize(1) << " elements, got " << getLogicalType(2);
  return success();
}

LogicalResult WindowOp::verify() {
  unsigned expected = getKind() == WindowKind::MaxGrad ? 2 : 1;
  if (getInputs().size() != expected)
    return emitOpError("expected ")
           << expected << " operands, got " << getInputs().size();
  // x is what the windows run over, y has an element per window.
  Value x = getInputs()[0], y = getResult();
  if (getKind() == WindowKind::AverageGrad)
    std::swap(x, y);
  if (getKind() == WindowKind::MaxGrad) {
    y = getInputs()[1];
    if (x.getType() != getType())
      return emitOpError("expected a result of the type of x, ")
             << x.getType() << ", got " << getType();
  }
  bool isAverage =
      getKind() == WindowKind::Average || getKind() == WindowKind::AverageGrad;
  if (getCountIncludePad() && !isAverage)
    return emitOpError("expected count_include_pad of averages only");
  auto large = cast<RankedTensorType>(x.getType());
  auto small = cast<RankedTensorType>(y.getType());
  if (large.getRank() == 5 && small.getRank() == 5) {
    if (large.getDimSize(4) != small.getDimSize(4) ||
        large.getDimSize(4) % kChannelBlock != 0)
      return emitOpError("expected equal blocks, a multiple of ")
             << kChannelBlock << " channels, got " << large << " and " << small;
    large = getUnblockedType(large);
    small = getUnblockedType(small);
  }
  return graph::verifyPool(*this, large, small, getWindow(), getStrides(),
                           getPads(), getDilations());
}

/// Checks the scalars and the region of an update with `moments` moments for
/// each parameter.
static LogicalResult verifyUpdateRegion(Operation *op, unsigned moments,
                                        ValueRange scalars, Block &body) {
  for (Value scalar : scalars)
    if (cast<RankedTensorType>(scalar.getType()).getRank())
      return op->emitOpError("expected scalars of rank 0, got ")
             << scalar.getType();
  if (body.getNumArguments() != 2 + moments + scalars.size())
    return op->emitOpError("expected ")
           << 2 + moments + scalars.size() << " region arguments, got "
           << body.getNumArguments();
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (!yield || yield.getValues().size() != 1 + moments)
    return op->emitOpError("expected the region to yield ")
           << 1 + moments << " values";
  return success();
}

LogicalResult UpdateOp::verify() {
  size_t count = getParameters().size();
  if (!count || getGradients().size() != count ||
      getMoments().size() % count != 0)
    return emitOpError("expected one gradient and equally many moments for "
                       "each parameter");
  if (getResults().size() != count + getMoments().size())
    return emitOpError("expected ")
           << count + getMoments().size()
           << " results (parameters, then moments), got "
           << getResults().size();
  unsigned moments = getMomentsPerParameter();
  for (size_t i = 0; i < count; ++i) {
    Type type = getParameters()[i].getType();
    bool same = getGradients()[i].getType() == type &&
                getResults()[i].getType() == type;
    for (unsigned j = 0; j < moments; ++j)
      same &= getMoments()[i * moments + j].getType() == type &&
              getResults()[count + i * moments + j].getType() == type;
    if (!same)
      return emitOpError("expected gradient, moments and results of parameter ")
             << i << " to have its type " << type;
  }
  return verifyUpdateRegion(*this, moments, getScalars(), getBody().front());
}

LogicalResult NormOp::verify() {
  int64_t tiles = 0;
  for (Value input : getInputs())
    tiles += llvm::divideCeil(
        cast<RankedTensorType>(input.getType()).getNumElements(), getChunk());
  auto result = cast<RankedTensorType>(getType());
  if (result.getShape() != ArrayRef<int64_t>{tiles})
    return emitOpError("expected a result of ")
           << tiles << " partial sums, got " << result;
  return success();
}

/// Checks that looking up `indices` in `table` gives `rows`.
static LogicalResult verifyLookup(Operation *op, Value table, Value indices,
                                  Value rows) {
  auto tableType = cast<RankedTensorType>(table.getType());
  auto indexType = cast<RankedTensorType>(indices.getType());
  if (tableType.getRank() != 4 || indexType.getRank() != 2 ||
      tableType.getDimSize(0) != indexType.getDimSize(0))
    return op->emitOpError("expected a table [batch, outer, k, inner] and "
                           "indices [batch, j], got ")
           << tableType << " and " << indexType;
  SmallVector<int64_t> shape(tableType.getShape());
  shape[2] = indexType.getDimSize(1);
  auto expected = tableType.clone(shape);
  if (rows.getType() != expected)
    return op->emitOpError("expected rows of type ")
           << expected << ", got " << rows.getType();
  return success();
}

LogicalResult kern::GatherOp::verify() {
  return verifyLookup(*this, getTable(), getIndices(), getResult());
}

LogicalResult ScatterOp::verify() {
  return verifyLookup(*this, getResult(), getIndices(), getUpdates());
}

LogicalResult TableUpdateOp::verify() {
  if (failed(verifyLookup(*this, getTable(), getIndices(), getRows())))
    return failure();
  size_t moments = getMoments().size();
  if (getResults().size() != 1 + moments)
    return emitOpError("expected ")
           << 1 + moments << " results (the table, then moments), got "
           << getResults().size();
  Type type = getTable().getType();
  for (ValueRange values : {ValueRange(getMoments()), ValueRange(getResults())})
    for (Value value : values)
      if (value.getType() != type)
        return emitOpError("expected moments and results to have the table's "
                           "type ")
               << type << ", got " << value.getType();
  return verifyUpdateRegion(*this, moments, getScalars(), getBody().front());
}
