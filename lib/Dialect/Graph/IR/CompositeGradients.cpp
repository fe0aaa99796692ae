// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients of the composites.

#include "bessemer/Dialect/Graph/IR/Emitter.h"

using namespace mlir;
using namespace bessemer::graph;

/// All dimensions but 1, those that batch norm reduces.
static SmallVector<int64_t> normalizedDims(Value x) {
  return Emitter::otherDims(Emitter::typeOf(x).getRank(), {1});
}

LogicalResult
SoftmaxOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                         SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(1, Value());
  Value dy = resultGradients[0];
  if (!dy)
    return success();
  // dx = y (dy - sum(y dy))
  Emitter a(builder, getLoc());
  Value y = getResult();
  Value inner = a.sumAlong(a.mul(y, dy), getDim());
  operandGradients[0] = a.mul(y, a.sub(dy, inner));
  return success();
}

LogicalResult
LogSoftmaxOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                            SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(1, Value());
  Value dy = resultGradients[0];
  if (!dy)
    return success();
  // dx = dy - exp(y) sum(dy)
  Emitter a(builder, getLoc());
  Value total = a.sumAlong(dy, getDim());
  operandGradients[0] = a.sub(dy, a.mul(a.exp(getResult()), total));
  return success();
}

LogicalResult
StopGradientOp::buildGradient(OpBuilder &, ValueRange,
                              SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(1, Value());
  return success();
}

LogicalResult
BatchNormOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                           SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(5, Value());
  Value dy = resultGradients[0];
  if (!dy)
    return success();
  Emitter a(builder, getLoc());
  SmallVector<int64_t> dims = normalizedDims(getX());
  Value inverse = a.rsqrt(a.add(
      getVariance(), a.like(getVariance(), getEpsilon().convertToDouble())));
  Value slope = a.mul(getScale(), inverse);
  Value centred = a.sub(getX(), a.broadcastLike(getMean(), getX(), {1}));
  Value dbias = a.sum(dy, dims);
  Value dyCentred = a.sum(a.mul(dy, centred), dims);
  operandGradients[0] = a.mul(dy, a.broadcastLike(slope, dy, {1}));
  operandGradients[1] = a.mul(dyCentred, inverse);
  operandGradients[2] = dbias;
  operandGradients[3] = a.neg(a.mul(dbias, slope));
  // d(rsqrt(v + e)) / dv = -1/2 rsqrt(v + e)^3
  Value factor =
      a.mul(a.like(slope, -0.5), a.mul(slope, a.mul(inverse, inverse)));
  operandGradients[4] = a.mul(dyCentred, factor);
  return success();
}

LogicalResult
BatchNormTrainOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(3, Value());
  auto [dy, dmean, dvariance] =
      std::tuple(resultGradients[0], resultGradients[1], resultGradients[2]);
  Emitter a(builder, getLoc());
  if (dy) {
    auto grad = BatchNormGradOp::create(
        builder, getLoc(),
        TypeRange{getX().getType(), getScale().getType(), getBias().getType()},
        getX(), getScale(), getMean(), getVariance(), dy, getEpsilonAttr());
    llvm::copy(grad.getResults(), operandGradients.begin());
  }
  RankedTensorType type = Emitter::typeOf(getX());
  double count = static_cast<double>(type.getNumElements()) /
                 static_cast<double>(type.getDimSize(1));
  auto addToInput = [&](Value term) {
    operandGradients[0] =
        operandGradients[0] ? a.add(operandGradients[0], term) : term;
  };
  if (dmean)
    addToInput(
        a.broadcastLike(a.mul(dmean, a.like(dmean, 1.0 / count)), getX(), {1}));
  if (dvariance) {
    Value centred = a.sub(getX(), a.broadcastLike(getMean(), getX(), {1}));
    Value slope = a.mul(dvariance, a.like(dvariance, 2.0 / count));
    addToInput(a.mul(centred, a.broadcastLike(slope, getX(), {1})));
  }
  return success();
}

LogicalResult
DropoutOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                         SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(getNumOperands(), Value());
  if (resultGradients[0])
    operandGradients[0] = DropoutOp::create(
        builder, getLoc(), getX().getType(), resultGradients[0], getStep(),
        getMicro(), getRatioAttr(), getIdAttr());
  return success();
}

LogicalResult
CrossEntropyOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                              SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(2, Value());
  Emitter a(builder, getLoc());
  if (Value dloss = resultGradients[0])
    operandGradients[0] = CrossEntropyGradOp::create(
        builder, getLoc(), getLogits().getType(), getLogits(), getLabels(),
        getLse(), dloss, getIgnoreIndexAttr(), getLabelSmoothingAttr());
  if (Value dlse = resultGradients[1]) {
    Value softmax =
        a.exp(a.sub(getLogits(), a.broadcastLike(getLse(), getLogits(), {0})));
    Value term = a.mul(softmax, a.broadcastLike(dlse, getLogits(), {0}));
    operandGradients[0] =
        operandGradients[0] ? a.add(operandGradients[0], term) : term;
  }
  return success();
}
