// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// graph.attention -> kern.attention: the transposes, reshapes and slices around
// it become views.

#include "AbsorbView.h"
#include "Convert.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::fusion;
using graph::StridedView;

static SmallVector<int64_t> shapeOf(Value value) {
  return SmallVector<int64_t>(
      cast<RankedTensorType>(value.getType()).getShape());
}

namespace {
/// The operands and views of a kernel under construction.
struct Views {
  explicit Views(MLIRContext *context) : context(context) {}

  /// Adds the view of an operand and returns the tensor that it shows.
  Value read(Value value) {
    auto [tensor, view] = absorbProducers(value);
    add(view);
    return tensor;
  }
  /// Adds the view of a mask, whose dimensions of size 1 are repeated.
  Value readMask(Value mask, ArrayRef<int64_t> scores) {
    auto [tensor, view] = absorbProducers(mask, /*mayRepeat=*/true);
    SmallVector<int64_t> shape = shapeOf(mask);
    for (int64_t dim = 0; dim < 4; ++dim)
      if (shape[dim] != scores[dim])
        view.strides[dim] = 0;
    add(view);
    return tensor;
  }
  void add(const StridedView &view) { maps.push_back(view.toMap(context)); }

  MLIRContext *context;
  SmallVector<AffineMap> maps;
};
} // namespace

template <typename OpTy> static SmallVector<int64_t> boundsOf(OpTy op) {
  SmallVector<int64_t> q = shapeOf(op.getQ()), v = shapeOf(op.getV());
  return {q[0], q[1], v[1], q[2], v[2], q[3], v[3]};
}

static SmallVector<int64_t> scoresOf(ArrayRef<int64_t> bounds) {
  return {bounds[0], bounds[1], bounds[3], bounds[4]};
}

static void convertForward(graph::AttentionOp op) {
  OpBuilder builder(op);
  SmallVector<int64_t> bounds = boundsOf(op);
  Views views(op.getContext());
  Value q = views.read(op.getQ()), k = views.read(op.getK());
  Value v = views.read(op.getV()), mask;
  if (op.getMask())
    mask = views.readMask(op.getMask(), scoresOf(bounds));
  // Its gradient reads the result through a view as well.
  AbsorbedResult result = absorbConsumers(op.getResult(), [](Operation *user) {
    return isa<graph::AttentionGradOp>(user);
  });
  views.add(result.view);
  auto kernel = kern::AttentionOp::create(
      builder, op.getLoc(), result.end.getType(), op.getLse().getType(), q, k,
      v, mask, op.getStep(), builder.getDenseI64ArrayAttr(bounds),
      builder.getAffineMapArrayAttr(views.maps), op.getScaleAttr(),
      op.getCausalAttr(), op.getRatioAttr(), op.getIdAttr());
  op.getLse().replaceAllUsesWith(kernel.getLse());
  result.replaceWith(kernel.getResult(), builder);
  op.erase();
}

static void convertGradient(graph::AttentionGradOp op) {
  OpBuilder builder(op);
  SmallVector<int64_t> bounds = boundsOf(op);
  Views views(op.getContext());
  Value q = views.read(op.getQ()), k = views.read(op.getK());
  Value v = views.read(op.getV()), y = views.read(op.getY());
  Value dy = views.read(op.getDy()), mask;
  if (op.getMask())
    mask = views.readMask(op.getMask(), scoresOf(bounds));

  SmallVector<AbsorbedResult> results;
  for (OpResult gradient : op.getResults())
    results.push_back(
        absorbConsumers(gradient, [](Operation *) { return false; }));
  // The gradients of parts of one tensor are parts of one.
  SmallVector<Operation *> packing;
  for (auto [first, count] :
       {std::pair(0, 3), std::pair(1, 2), std::pair(0, 2)})
    if (packing.empty())
      packing = absorbConcat(MutableArrayRef(results).slice(first, count));
  SmallVector<Type> types;
  SmallVector<int64_t> into;
  llvm::SmallDenseMap<Value, int64_t> numbers;
  for (AbsorbedResult &result : results) {
    views.add(result.view);
    auto [number, isNew] = numbers.try_emplace(result.end, types.size());
    if (isNew)
      types.push_back(result.end.getType());
    into.push_back(number->second);
  }
  auto kernel = kern::AttentionGradOp::create(
      builder, op.getLoc(), types, q, k, v, y, op.getLse(), dy, mask,
      op.getStep(), builder.getDenseI64ArrayAttr(bounds),
      builder.getAffineMapArrayAttr(views.maps), op.getScaleAttr(),
      op.getCausalAttr(), op.getRatioAttr(), op.getIdAttr(),
      builder.getDenseI64ArrayAttr(into));
  SmallVector<AbsorbedResult *> packed;
  for (auto [result, number] : llvm::zip_equal(results, into)) {
    Value gradient = kernel.getResult(number);
    if (packing.empty() || result.end != packing.back()->getResult(0))
      result.replaceWith(gradient, builder);
    else if (packed.emplace_back(&result); packed.size() == 1)
      result.end.replaceAllUsesWith(gradient);
  }
  for (Operation *move : llvm::reverse(packing))
    move->erase();
  for (AbsorbedResult *result : packed)
    result->eraseMoves();
  op.erase();
}

void fusion::convertAttentions(Block &block) {
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    if (isa<graph::AttentionOp, graph::AttentionGradOp>(op))
      ops.push_back(&op);
  for (Operation *op : ops) {
    if (auto forward = dyn_cast<graph::AttentionOp>(op))
      convertForward(forward);
    else
      convertGradient(cast<graph::AttentionGradOp>(op));
  }
}
