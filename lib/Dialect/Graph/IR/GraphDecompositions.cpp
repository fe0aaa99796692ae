// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decompositions of the normalising composites and of dropout and
// cross-entropy. Those of the optimizers: GraphDecompositionsUpdate.cpp.

#include "bessemer/Dialect/Graph/IR/Emitter.h"

using namespace mlir;
using namespace bessemer::graph;

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>> SoftmaxOp::decompose(OpBuilder &builder) {
  Emitter e(builder, getLoc());
  RankedTensorType type = e.typeOf(getX());
  int64_t dim = getDim();
  SmallVector<int64_t> outer = e.otherDims(type.getRank(), {dim});
  Value max = e.reduce(ReduceKind::Max, getX(), {dim});
  Value shifted = e.sub(getX(), e.broadcast(max, type, outer));
  Value exp = e.exp(shifted);
  Value sum = e.reduce(ReduceKind::Sum, exp, {dim});
  // One division per row.
  Value inverse = e.div(e.like(sum, 1.0), sum);
  return SmallVector<Value>{e.mul(exp, e.broadcast(inverse, type, outer))};
}

FailureOr<SmallVector<Value>> LogSoftmaxOp::decompose(OpBuilder &builder) {
  Emitter e(builder, getLoc());
  RankedTensorType type = e.typeOf(getX());
  int64_t dim = getDim();
  SmallVector<int64_t> outer = e.otherDims(type.getRank(), {dim});
  Value max = e.reduce(ReduceKind::Max, getX(), {dim});
  Value shifted = e.sub(getX(), e.broadcast(max, type, outer));
  Value sum = e.reduce(ReduceKind::Sum, e.exp(shifted), {dim});
  return SmallVector<Value>{
      e.sub(shifted, e.broadcast(e.log(sum), type, outer))};
}

FailureOr<SmallVector<Value>> StopGradientOp::decompose(OpBuilder &) {
  return SmallVector<Value>{getX()};
}

//===----------------------------------------------------------------------===//
// Batch normalisation
//===----------------------------------------------------------------------===//

/// 1 / sqrt(variance + epsilon), per channel.
static Value inverseDeviation(Emitter &e, Value variance, double epsilon) {
  Value shifted = e.add(variance, e.like(variance, epsilon));
  return e.div(e.like(variance, 1.0), e.sqrt(shifted));
}

FailureOr<SmallVector<Value>> BatchNormOp::decompose(OpBuilder &builder) {
  Emitter e(builder, getLoc());
  RankedTensorType type = e.typeOf(getX());
  Value inverse =
      inverseDeviation(e, getVariance(), getEpsilon().convertToDouble());
  Value factor = e.mul(inverse, getScale());
  Value centred = e.sub(getX(), e.broadcast(getMean(), type, {1}));
  Value scaled = e.mul(centred, e.broadcast(factor, type, {1}));
  return SmallVector<Value>{e.add(scaled, e.broadcast(getBias(), type, {1}))};
}

static Value toDouble(Emitter &e, Value value) {
  RankedTensorType type = e.typeOf(value);
  Type f64 = e.builder.getF64Type();
  if (type.getElementType() == f64)
    return value;
  return arith::ExtFOp::create(e.builder, e.loc, type.clone(f64), value);
}

/// The sum of `value` over `dims`, accumulated in f64.
static Value sumInDouble(Emitter &e, Value value, ArrayRef<int64_t> dims) {
  return e.reduce(ReduceKind::Sum, toDouble(e, value), dims);
}

/// `value` rounded to the element type of `type`.
static Value roundTo(Emitter &e, RankedTensorType type, Value value) {
  RankedTensorType wide = e.typeOf(value);
  if (wide.getElementType() == type.getElementType())
    return value;
  return arith::TruncFOp::create(e.builder, e.loc,
                                 wide.clone(type.getElementType()), value);
}

/// 1 / sqrt(variance + epsilon), rounded once.
static Value inverseDeviationInDouble(Emitter &e, Value variance,
                                      double epsilon) {
  return roundTo(e, e.typeOf(variance),
                 inverseDeviation(e, toDouble(e, variance), epsilon));
}

// Rounded where PyTorch's CPU kernel rounds (aten/src/ATen/native/
// Normalization.cpp): sums in f64, then one fused multiply-add per element. A
// ReLU behind it then switches at the same elements, and training follows
// PyTorch's losses where another rounding would lead elsewhere.
FailureOr<SmallVector<Value>> BatchNormTrainOp::decompose(OpBuilder &builder) {
  Emitter e(builder, getLoc());
  RankedTensorType type = e.typeOf(getX());
  SmallVector<int64_t> dims = e.otherDims(type.getRank(), {1});
  double count =
      static_cast<double>(type.getNumElements()) / type.getDimSize(1);
  // Two passes: the variance of large means survives.
  Value sum = sumInDouble(e, getX(), dims);
  Value mean = roundTo(e, type, e.div(sum, e.like(sum, count)));
  Value centred = e.sub(getX(), e.broadcast(mean, type, {1}));
  Value squares =
      roundTo(e, type, sumInDouble(e, e.mul(centred, centred), dims));
  Value variance = e.div(squares, e.like(squares, count));
  Value inverse =
      inverseDeviationInDouble(e, variance, getEpsilon().convertToDouble());
  Value factor = e.mul(inverse, getScale());
  Value shift =
      math::FmaOp::create(builder, getLoc(), e.neg(mean), factor, getBias());
  Value y = math::FmaOp::create(builder, getLoc(), getX(),
                                e.broadcast(factor, type, {1}),
                                e.broadcast(shift, type, {1}));
  return SmallVector<Value>{y, mean, variance};
}

// Rounded as PyTorch's CPU kernel does it (aten/src/ATen/native/cpu/
// batch_norm_kernel.cpp), but for the sums, of which PyTorch takes those over
// one image in f32.
FailureOr<SmallVector<Value>> BatchNormGradOp::decompose(OpBuilder &builder) {
  Emitter e(builder, getLoc());
  RankedTensorType type = e.typeOf(getX());
  SmallVector<int64_t> dims = e.otherDims(type.getRank(), {1});
  double count =
      static_cast<double>(type.getNumElements()) / type.getDimSize(1);
  Value inverse = inverseDeviationInDouble(e, getVariance(),
                                           getEpsilon().convertToDouble());
  Value centred = e.sub(getX(), e.broadcast(getMean(), type, {1}));
  Value sum = sumInDouble(e, getDy(), dims);
  Value product = sumInDouble(e, e.mul(centred, getDy()), dims);
  Value dscale = roundTo(e, type, e.mul(product, toDouble(e, inverse)));
  // dx = (dy - sum / n - centred product inverse^2 / n) inverse scale
  Value meanDy = roundTo(e, type, e.div(sum, e.like(sum, count)));
  Value slope = e.mul(e.mul(roundTo(e, type, product), inverse), inverse);
  slope = e.div(slope, e.like(slope, count));
  Value inner = math::FmaOp::create(
      builder, getLoc(), e.neg(centred), e.broadcast(slope, type, {1}),
      e.sub(getDy(), e.broadcast(meanDy, type, {1})));
  Value dx = e.mul(e.mul(inner, e.broadcast(inverse, type, {1})),
                   e.broadcast(getScale(), type, {1}));
  return SmallVector<Value>{dx, dscale, roundTo(e, type, sum)};
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>> DropoutOp::decompose(OpBuilder &builder) {
  Emitter e(builder, getLoc());
  double ratio = getRatio().convertToDouble();
  Value zero = e.like(getX(), 0.0);
  if (ratio >= 1.0)
    return SmallVector<Value>{zero};
  Value random = RandomOp::create(builder, getLoc(), getX().getType(),
                                  getStep(), getMicro(), getIdAttr());
  Value keep =
      e.compare(arith::CmpFPredicate::OGE, random, e.like(random, ratio));
  Value scaled = e.mul(getX(), e.like(getX(), 1.0 / (1.0 - ratio)));
  return SmallVector<Value>{e.select(keep, scaled, zero)};
}

//===----------------------------------------------------------------------===//
// Cross-entropy
//===----------------------------------------------------------------------===//

/// Whether class j is the label of row i: [rows, classes] of i1.
static Value labelMask(Emitter &e, Value labels, RankedTensorType type) {
  auto labelType = e.typeOf(labels);
  auto indexType =
      RankedTensorType::get(type.getShape(), e.builder.getI64Type());
  if (labelType.getElementType() != indexType.getElementType())
    labels = arith::ExtSIOp::create(
        e.builder, e.loc, labelType.clone(e.builder.getI64Type()), labels);
  Value classes = IotaOp::create(e.builder, e.loc, indexType,
                                 e.builder.getI64IntegerAttr(1));
  return e.compare(arith::CmpIPredicate::eq, classes,
                   e.broadcast(labels, indexType, {0}));
}

/// Whether the row counts: its label is not `ignoreIndex`.
static Value validRows(Emitter &e, Value labels, int64_t ignoreIndex) {
  return e.compare(arith::CmpIPredicate::ne, labels,
                   e.like(labels, static_cast<double>(ignoreIndex)));
}

FailureOr<SmallVector<Value>> CrossEntropyOp::decompose(OpBuilder &builder) {
  Emitter e(builder, getLoc());
  RankedTensorType type = e.typeOf(getLogits());
  double smoothing = getLabelSmoothing().convertToDouble();
  Value max = e.reduce(ReduceKind::Max, getLogits(), {1});
  Value shifted = e.sub(getLogits(), e.broadcast(max, type, {0}));
  Value sum = e.reduce(ReduceKind::Sum, e.exp(shifted), {1});
  Value logSum = e.log(sum);
  Value lse = e.add(max, logSum);
  // The label's logit is taken relative to the maximum, so that the loss has
  // no cancellation between two large numbers.
  Value mask = labelMask(e, getLabels(), type);
  Value picked = e.reduce(ReduceKind::Sum,
                          e.select(mask, shifted, e.like(shifted, 0.0)), {1});
  Value loss = e.sub(logSum, picked);
  if (smoothing != 0.0) {
    Value total = e.reduce(ReduceKind::Sum, shifted, {1});
    Value mean = e.div(total, e.like(total, type.getDimSize(1)));
    Value uniform = e.sub(logSum, mean);
    loss = e.add(e.mul(loss, e.like(loss, 1.0 - smoothing)),
                 e.mul(uniform, e.like(uniform, smoothing)));
  }
  Value valid = validRows(e, getLabels(), getIgnoreIndex());
  return SmallVector<Value>{e.select(valid, loss, e.like(loss, 0.0)), lse};
}

FailureOr<SmallVector<Value>>
CrossEntropyGradOp::decompose(OpBuilder &builder) {
  Emitter e(builder, getLoc());
  RankedTensorType type = e.typeOf(getLogits());
  double smoothing = getLabelSmoothing().convertToDouble();
  Value softmax = e.exp(e.sub(getLogits(), e.broadcast(getLse(), type, {0})));
  double uniform = smoothing / type.getDimSize(1);
  Value mask = labelMask(e, getLabels(), type);
  Value target = e.select(mask, e.like(softmax, 1.0 - smoothing + uniform),
                          e.like(softmax, uniform));
  // The factor of an ignored row is 0 and its softmax finite, but 0 times an
  // infinite logit would not be: select the result.
  Value valid = validRows(e, getLabels(), getIgnoreIndex());
  Value gradient =
      e.mul(e.sub(softmax, target), e.broadcast(getDloss(), type, {0}));
  auto maskType = type.clone(builder.getI1Type());
  return SmallVector<Value>{e.select(e.broadcast(valid, maskType, {0}),
                                     gradient, e.like(gradient, 0.0))};
}
