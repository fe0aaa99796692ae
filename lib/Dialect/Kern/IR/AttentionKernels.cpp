// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kern.attention and its gradient: verifiers and expansions.

#include "bessemer/Dialect/Graph/IR/StridedView.h"
#include "bessemer/Dialect/Kern/IR/Kern.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::kern;
using graph::StridedView;

using Expansion = FailureOr<SmallVector<Value>>;
using Sizes = SmallVector<int64_t, 4>;

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// Sizes of the logical dimensions of q, k, v, the mask and y.
template <typename OpTy> static Sizes querySizes(OpTy op) {
  return {op.getBatch(), op.getHeads(), op.getQueries(), op.getDepth()};
}
template <typename OpTy> static Sizes keySizes(OpTy op) {
  return {op.getBatch(), op.getGroups(), op.getKeys(), op.getDepth()};
}
template <typename OpTy> static Sizes valueSizes(OpTy op) {
  return {op.getBatch(), op.getGroups(), op.getKeys(), op.getWidth()};
}
template <typename OpTy> static Sizes scoreSizes(OpTy op) {
  return {op.getBatch(), op.getHeads(), op.getQueries(), op.getKeys()};
}
template <typename OpTy> static Sizes resultSizes(OpTy op) {
  return {op.getBatch(), op.getHeads(), op.getQueries(), op.getWidth()};
}

namespace {
/// A tensor and the part of it that a view shows.
struct Viewed {
  StringRef name;
  Value tensor;
  Sizes sizes;
};
} // namespace

/// Checks that view number `index` stays inside of its tensor and that its
/// last dimension is contiguous.
template <typename OpTy>
static LogicalResult verifyView(OpTy op, unsigned index, const Viewed &viewed) {
  FailureOr<StridedView> view = StridedView::get(op.getView(index));
  if (failed(view) || view->strides.size() != 4)
    return op.emitOpError("expected the view of ")
           << viewed.name
           << " to be a linear form of four dimensions without negative "
              "coefficients, got "
           << op.getViews()[index];
  int64_t inner = view->strides[3];
  bool isContiguous = inner == 1 || viewed.sizes[3] == 1 ||
                      (viewed.name == "mask" && inner == 0);
  if (!isContiguous)
    return op.emitOpError("expected the last dimension of ")
           << viewed.name << " to be contiguous, got stride " << inner;
  auto type = cast<RankedTensorType>(viewed.tensor.getType());
  if (view->last(viewed.sizes) >= type.getNumElements())
    return op.emitOpError("expected the view of ")
           << viewed.name << " to stay inside of " << type << ", got index "
           << view->last(viewed.sizes);
  return success();
}

template <typename OpTy>
static LogicalResult verifyAttention(OpTy op, ArrayRef<Viewed> viewed) {
  ArrayRef<int64_t> bounds = op.getBounds();
  if (bounds.size() != 7 ||
      llvm::any_of(bounds, [](int64_t bound) { return bound < 1; }) ||
      bounds[1] % bounds[2] != 0)
    return op.emitOpError("expected positive bounds [batch, heads, groups, "
                          "queries, keys, depth, width] with groups that "
                          "divide heads");
  if (op.getViews().size() != viewed.size())
    return op.emitOpError("expected ")
           << viewed.size() << " views, got " << op.getViews().size();
  for (auto [index, value] : llvm::enumerate(viewed))
    if (failed(verifyView(op, index, value)))
      return failure();
  auto type = cast<RankedTensorType>(op.getLse().getType());
  Sizes rows = scoreSizes(op);
  rows.pop_back();
  if (type.getShape() != ArrayRef<int64_t>(rows))
    return op.emitOpError("expected lse [batch, heads, queries], got ") << type;
  if ((op.getRatio().convertToDouble() > 0.0) != !!op.getStep())
    return op.emitOpError("expected a step block with a ratio above 0, and "
                          "only then");
  return success();
}

static SmallVector<Viewed> viewedOf(AttentionOp op) {
  SmallVector<Viewed> viewed = {{"q", op.getQ(), querySizes(op)},
                                {"k", op.getK(), keySizes(op)},
                                {"v", op.getV(), valueSizes(op)}};
  if (op.getMask())
    viewed.push_back({"mask", op.getMask(), scoreSizes(op)});
  viewed.push_back({"result", op.getResult(), resultSizes(op)});
  return viewed;
}

static SmallVector<Viewed> viewedOf(AttentionGradOp op) {
  SmallVector<Viewed> viewed = {{"q", op.getQ(), querySizes(op)},
                                {"k", op.getK(), keySizes(op)},
                                {"v", op.getV(), valueSizes(op)},
                                {"y", op.getY(), resultSizes(op)},
                                {"dy", op.getDy(), resultSizes(op)}};
  if (op.getMask())
    viewed.push_back({"mask", op.getMask(), scoreSizes(op)});
  ArrayRef<int64_t> into = op.getInto();
  viewed.push_back({"dq", op.getResult(into[0]), querySizes(op)});
  viewed.push_back({"dk", op.getResult(into[1]), keySizes(op)});
  viewed.push_back({"dv", op.getResult(into[2]), valueSizes(op)});
  return viewed;
}

static int64_t elementsOf(ArrayRef<int64_t> sizes) {
  int64_t elements = 1;
  for (int64_t size : sizes)
    elements *= size;
  return elements;
}

LogicalResult AttentionOp::verify() {
  SmallVector<Viewed> viewed = viewedOf(*this);
  if (failed(verifyAttention(*this, viewed)))
    return failure();
  auto type = cast<RankedTensorType>(getResult().getType());
  if (type.getNumElements() != elementsOf(viewed.back().sizes))
    return emitOpError("expected a result of ")
           << elementsOf(viewed.back().sizes) << " elements, got " << type;
  return success();
}

LogicalResult AttentionGradOp::verify() {
  if (getInto().size() != 3)
    return emitOpError("expected a result number for each of dq, dk and dv, "
                       "got ")
           << getInto().size();
  for (int64_t result : getInto())
    if (result < 0 || result >= static_cast<int64_t>(getNumResults()))
      return emitOpError("expected result numbers below ")
             << getNumResults() << ", got " << result;
  SmallVector<Viewed> viewed = viewedOf(*this);
  if (failed(verifyAttention(*this, viewed)))
    return failure();
  for (OpResult result : getResults()) {
    int64_t written = 0;
    for (auto [into, gradient] :
         llvm::zip_equal(getInto(), ArrayRef<Viewed>(viewed).take_back(3)))
      if (into == static_cast<int64_t>(result.getResultNumber()))
        written += elementsOf(gradient.sizes);
    auto type = cast<RankedTensorType>(result.getType());
    if (type.getNumElements() != written)
      return emitOpError("expected result ")
             << result.getResultNumber() << " of " << written
             << " elements, got " << type;
  }
  return success();
}

bool AttentionOp::canReuseOperand(unsigned, unsigned) { return false; }
bool AttentionGradOp::canReuseOperand(unsigned, unsigned) { return false; }

//===----------------------------------------------------------------------===//
// Expansions
//===----------------------------------------------------------------------===//

/// Reads `viewed`, view number `index` of `op`, as a tensor of its sizes.
template <typename OpTy>
static FailureOr<Value> readView(OpTy op, OpBuilder &builder, unsigned index,
                                 const Viewed &viewed) {
  FailureOr<Value> value =
      StridedView::get(op.getView(index))
          ->read(builder, op.getLoc(), viewed.tensor, viewed.sizes);
  if (failed(value))
    return op.emitOpError("expected the view of ")
           << viewed.name << " to be a slice of a reshaped tensor to expand";
  return value;
}

/// Puts `value` where view number `index` of `op` says, in a tensor of zeros.
template <typename OpTy>
static FailureOr<Value> writeView(OpTy op, OpBuilder &builder, unsigned index,
                                  Value value, Type type) {
  FailureOr<Value> tensor =
      StridedView::get(op.getView(index))
          ->write(builder, op.getLoc(), value, cast<RankedTensorType>(type));
  if (failed(tensor))
    return op.emitOpError("expected view ")
           << index << " to be a slice of a reshaped tensor to expand";
  return tensor;
}

Expansion AttentionOp::expand(OpBuilder &builder) {
  SmallVector<Viewed> viewed = viewedOf(*this);
  SmallVector<Value> inputs;
  for (unsigned i = 0; i + 1 < viewed.size(); ++i) {
    FailureOr<Value> input = readView(*this, builder, i, viewed[i]);
    if (failed(input))
      return failure();
    inputs.push_back(*input);
  }
  auto element = cast<RankedTensorType>(getQ().getType()).getElementType();
  auto attention = graph::AttentionOp::create(
      builder, getLoc(), RankedTensorType::get(resultSizes(*this), element),
      getLse().getType(), inputs[0], inputs[1], inputs[2],
      getMask() ? inputs[3] : Value(), getStep(), getScaleAttr(),
      getCausalAttr(), getRatioAttr(), getIdAttr());
  FailureOr<Value> result =
      writeView(*this, builder, viewed.size() - 1, attention.getResult(),
                getResult().getType());
  if (failed(result))
    return failure();
  return SmallVector<Value>{*result, attention.getLse()};
}

Expansion AttentionGradOp::expand(OpBuilder &builder) {
  SmallVector<Viewed> viewed = viewedOf(*this);
  SmallVector<Value> inputs;
  unsigned first = viewed.size() - 3;
  for (unsigned i = 0; i < first; ++i) {
    FailureOr<Value> input = readView(*this, builder, i, viewed[i]);
    if (failed(input))
      return failure();
    inputs.push_back(*input);
  }
  auto grad = graph::AttentionGradOp::create(
      builder, getLoc(), inputs[0].getType(), inputs[1].getType(),
      inputs[2].getType(), inputs[0], inputs[1], inputs[2], inputs[3], getLse(),
      inputs[4], getMask() ? inputs[5] : Value(), getStep(), getScaleAttr(),
      getCausalAttr(), getRatioAttr(), getIdAttr());
  // Views of one result do not overlap: their sum is all of them.
  SmallVector<Value> results(getNumResults());
  for (unsigned i = 0; i < 3; ++i) {
    Value &sum = results[getInto()[i]];
    FailureOr<Value> placed =
        writeView(*this, builder, first + i, grad.getResult(i),
                  getResult(getInto()[i]).getType());
    if (failed(placed))
      return failure();
    sum =
        sum ? arith::AddFOp::create(builder, getLoc(), sum, *placed).getResult()
            : *placed;
  }
  return results;
}
