// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Views as affine maps, through ops that move elements, and as such ops.

#include "bessemer/Dialect/Graph/IR/StridedView.h"
#include "bessemer/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::graph;

using Dims = SmallVector<int64_t>;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static Dims stridesOf(ArrayRef<int64_t> shape) {
  Dims strides(shape.size());
  int64_t stride = 1;
  for (int64_t dim = static_cast<int64_t>(shape.size()) - 1; dim >= 0; --dim) {
    strides[dim] = stride;
    stride *= shape[dim];
  }
  return strides;
}

StridedView StridedView::rowMajor(ArrayRef<int64_t> sizes) {
  StridedView view;
  view.strides = stridesOf(sizes);
  return view;
}

int64_t StridedView::last(ArrayRef<int64_t> sizes) const {
  int64_t index = offset;
  for (auto [size, stride] : llvm::zip_equal(sizes, strides))
    index += (size - 1) * stride;
  return index;
}

//===----------------------------------------------------------------------===//
// Affine maps
//===----------------------------------------------------------------------===//

/// Adds `factor` times `expr` to `view`.
static LogicalResult addExpr(AffineExpr expr, int64_t factor,
                             StridedView &view) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    view.offset += factor * constant.getValue();
    return success();
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    view.strides[dim.getPosition()] += factor;
    return success();
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return failure();
  if (binary.getKind() == AffineExprKind::Add)
    return success(succeeded(addExpr(binary.getLHS(), factor, view)) &&
                   succeeded(addExpr(binary.getRHS(), factor, view)));
  auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (binary.getKind() != AffineExprKind::Mul || !constant)
    return failure();
  return addExpr(binary.getLHS(), factor * constant.getValue(), view);
}

FailureOr<StridedView> StridedView::get(AffineMap map) {
  StridedView view;
  view.strides.assign(map.getNumDims(), 0);
  if (map.getNumSymbols() || map.getNumResults() != 1 ||
      failed(addExpr(map.getResult(0), 1, view)) || view.offset < 0 ||
      llvm::any_of(view.strides, [](int64_t stride) { return stride < 0; }))
    return failure();
  return view;
}

AffineMap StridedView::toMap(MLIRContext *context) const {
  AffineExpr index = getAffineConstantExpr(0, context);
  for (auto [dim, stride] : llvm::enumerate(strides))
    index = index + getAffineDimExpr(dim, context) * stride;
  return AffineMap::get(strides.size(), 0, index + offset);
}

//===----------------------------------------------------------------------===//
// Through ops
//===----------------------------------------------------------------------===//

namespace {
/// A view by coordinates of its tensor: logical dimension i takes steps[i]
/// along dimension dims[i] (-1: it stays).
struct Coordinates {
  Dims dims, steps, offsets;

  /// None when a logical dimension runs over several of the tensor's.
  static std::optional<Coordinates>
  of(const StridedView &view, ArrayRef<int64_t> sizes, ArrayRef<int64_t> shape);
  /// The view of a tensor in which a step along dimension d is `strides[d]`.
  StridedView toView(ArrayRef<int64_t> strides) const;
};
} // namespace

std::optional<Coordinates> Coordinates::of(const StridedView &view,
                                           ArrayRef<int64_t> sizes,
                                           ArrayRef<int64_t> shape) {
  Coordinates result;
  Dims strides = stridesOf(shape);
  int64_t rest = view.offset;
  for (int64_t stride : strides) {
    result.offsets.push_back(rest / stride);
    rest %= stride;
  }
  Dims last = result.offsets;
  for (auto [size, stride] : llvm::zip_equal(sizes, view.strides)) {
    result.dims.push_back(-1);
    result.steps.push_back(0);
    if (size == 1 || stride == 0)
      continue;
    for (auto [dim, unit] : llvm::enumerate(strides)) {
      int64_t step = stride / unit;
      if (stride % unit != 0 || step * (size - 1) >= shape[dim])
        continue;
      result.dims.back() = dim;
      result.steps.back() = step;
      last[dim] += step * (size - 1);
      break;
    }
    if (result.dims.back() < 0)
      return std::nullopt;
  }
  // No step may carry into the next dimension.
  for (auto [index, size] : llvm::zip_equal(last, shape))
    if (index >= size)
      return std::nullopt;
  return result;
}

StridedView Coordinates::toView(ArrayRef<int64_t> unit) const {
  StridedView view;
  for (auto [offset, stride] : llvm::zip_equal(offsets, unit))
    view.offset += offset * stride;
  for (auto [dim, step] : llvm::zip_equal(dims, steps))
    view.strides.push_back(dim < 0 ? 0 : step * unit[dim]);
  return view;
}

static bool isReshape(Operation *op) {
  return isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op);
}

std::optional<StridedView>
StridedView::throughProducer(Operation *op, ArrayRef<int64_t> sizes) const {
  if (isReshape(op))
    return *this;
  if (!isa<TransposeOp, BroadcastOp, SliceOp>(op))
    return std::nullopt;
  std::optional<Coordinates> coordinates =
      Coordinates::of(*this, sizes, shapeOf(op->getResult(0)));
  if (!coordinates)
    return std::nullopt;
  Dims inner = stridesOf(shapeOf(op->getOperand(0)));
  if (auto slice = dyn_cast<SliceOp>(op)) {
    for (auto [to, offset] :
         llvm::zip_equal(coordinates->offsets, slice.getOffsets()))
      to += offset;
    return coordinates->toView(inner);
  }
  Dims strides(shapeOf(op->getResult(0)).size(), 0);
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    for (auto [dim, from] : llvm::enumerate(transpose.getPermutation()))
      strides[dim] = inner[from];
  } else {
    for (auto [from, dim] : llvm::enumerate(cast<BroadcastOp>(op).getDims()))
      strides[dim] = inner[from];
  }
  return coordinates->toView(strides);
}

std::optional<StridedView>
StridedView::throughConsumer(Operation *op, ArrayRef<int64_t> sizes) const {
  if (isReshape(op))
    return *this;
  auto transpose = dyn_cast<TransposeOp>(op);
  if (!transpose)
    return std::nullopt;
  std::optional<Coordinates> coordinates =
      Coordinates::of(*this, sizes, shapeOf(transpose.getInput()));
  if (!coordinates)
    return std::nullopt;
  Dims outer = stridesOf(shapeOf(transpose.getResult()));
  Dims strides(outer.size());
  for (auto [dim, from] : llvm::enumerate(transpose.getPermutation()))
    strides[from] = outer[dim];
  return coordinates->toView(strides);
}

std::optional<StridedView>
StridedView::throughConcat(ConcatOp op, unsigned operand,
                           ArrayRef<int64_t> sizes) const {
  std::optional<Coordinates> coordinates =
      Coordinates::of(*this, sizes, shapeOf(op.getInputs()[operand]));
  if (!coordinates)
    return std::nullopt;
  int64_t dim = op.getDim();
  for (Value before : op.getInputs().take_front(operand))
    coordinates->offsets[dim] += shapeOf(before)[dim];
  return coordinates->toView(stridesOf(shapeOf(op.getResult())));
}

//===----------------------------------------------------------------------===//
// As ops
//===----------------------------------------------------------------------===//

namespace {
/// A view as a slice of a reshaped tensor: its logical dimensions by falling
/// stride, then what lies inside of the smallest stride.
struct Nest {
  Dims dims, shape, offsets, sizes;

  bool isWhole() const { return shape == sizes; }
};
} // namespace

static FailureOr<Nest> nestOf(const StridedView &view, ArrayRef<int64_t> sizes,
                              int64_t elements) {
  Nest nest;
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (size > 1 && view.strides[dim] > 0)
      nest.dims.push_back(dim);
  llvm::stable_sort(nest.dims, [&](int64_t a, int64_t b) {
    return view.strides[a] > view.strides[b];
  });
  int64_t around = elements, offset = view.offset;
  for (int64_t dim : nest.dims) {
    int64_t stride = view.strides[dim];
    if (around % stride != 0)
      return failure();
    nest.shape.push_back(around / stride);
    nest.offsets.push_back(offset / stride);
    nest.sizes.push_back(sizes[dim]);
    if (nest.offsets.back() + sizes[dim] > nest.shape.back())
      return failure();
    offset %= stride;
    around = stride;
  }
  nest.shape.push_back(around);
  nest.offsets.push_back(offset);
  nest.sizes.push_back(1);
  return nest;
}

FailureOr<Value> StridedView::read(OpBuilder &builder, Location loc,
                                   Value tensor,
                                   ArrayRef<int64_t> sizes) const {
  auto type = cast<RankedTensorType>(tensor.getType());
  FailureOr<Nest> nest = nestOf(*this, sizes, type.getNumElements());
  if (failed(nest))
    return failure();
  Value value = buildReshape(builder, loc, tensor, nest->shape);
  if (!nest->isWhole())
    value = SliceOp::create(builder, loc, type.clone(nest->sizes), value,
                            nest->offsets);
  Dims shape, sorted(nest->dims), sortedShape, permutation;
  for (int64_t dim : nest->dims)
    shape.push_back(sizes[dim]);
  llvm::sort(sorted);
  for (int64_t dim : sorted) {
    sortedShape.push_back(sizes[dim]);
    permutation.push_back(llvm::find(nest->dims, dim) - nest->dims.begin());
  }
  value = buildReshape(builder, loc, value, shape);
  value = builder.createOrFold<TransposeOp>(loc, type.clone(sortedShape), value,
                                            permutation);
  // Dimensions of size 1 come back by a reshape, repeated ones by a broadcast.
  Dims single, kept;
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (size == 1 || llvm::is_contained(sorted, dim)) {
      single.push_back(size);
      kept.push_back(dim);
    }
  value = buildReshape(builder, loc, value, single);
  return builder.createOrFold<BroadcastOp>(loc, type.clone(sizes), value, kept);
}

FailureOr<Value> StridedView::write(OpBuilder &builder, Location loc,
                                    Value value, RankedTensorType type) const {
  auto valueType = cast<RankedTensorType>(value.getType());
  ArrayRef<int64_t> sizes = valueType.getShape();
  FailureOr<Nest> nest = nestOf(*this, sizes, type.getNumElements());
  if (failed(nest))
    return failure();
  Dims shape, permutation(nest->dims);
  for (int64_t dim = 0; dim < valueType.getRank(); ++dim)
    if (!llvm::is_contained(permutation, dim))
      permutation.push_back(dim); // of size 1
  for (int64_t dim : permutation)
    shape.push_back(sizes[dim]);
  value = builder.createOrFold<TransposeOp>(loc, valueType.clone(shape), value,
                                            permutation);
  value = buildReshape(builder, loc, value, nest->sizes);
  if (!nest->isWhole())
    value = PadOp::create(builder, loc, type.clone(nest->shape), value,
                          nest->offsets);
  return buildReshape(builder, loc, value, type.getShape());
}
