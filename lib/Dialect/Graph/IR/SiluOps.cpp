// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sigmoid and silu: gradients and decompositions.

#include "bessemer/Dialect/Graph/IR/Emitter.h"

using namespace mlir;
using namespace bessemer::graph;

/// 1 / (1 + exp(-x)) by the exponential of -|x|, which does not overflow.
static Value sigmoid(Emitter &e, Value x) {
  Value one = e.like(x, 1.0);
  Value isPositive = e.compare(arith::CmpFPredicate::OGE, x, e.like(x, 0.0));
  Value power = e.exp(e.select(isPositive, e.neg(x), x));
  return e.div(e.select(isPositive, one, power), e.add(power, one));
}

LogicalResult
SigmoidOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                         SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(1, Value());
  if (Value dy = resultGradients[0]) {
    Emitter e(builder, getLoc());
    Value y = getResult();
    operandGradients[0] = e.mul(e.mul(dy, e.sub(e.like(y, 1.0), y)), y);
  }
  return success();
}

FailureOr<SmallVector<Value>> SigmoidOp::decompose(OpBuilder &builder) {
  Emitter e(builder, getLoc());
  return SmallVector<Value>{sigmoid(e, getX())};
}

LogicalResult SiluOp::buildGradient(OpBuilder &builder,
                                    ValueRange resultGradients,
                                    SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(1, Value());
  if (Value dy = resultGradients[0])
    operandGradients[0] =
        SiluGradOp::create(builder, getLoc(), getX().getType(), getX(), dy);
  return success();
}

FailureOr<SmallVector<Value>> SiluOp::decompose(OpBuilder &builder) {
  Emitter e(builder, getLoc());
  return SmallVector<Value>{e.mul(getX(), sigmoid(e, getX()))};
}

FailureOr<SmallVector<Value>> SiluGradOp::decompose(OpBuilder &builder) {
  Emitter e(builder, getLoc());
  Value x = getX(), s = sigmoid(e, x), one = e.like(x, 1.0);
  // d(x s) / dx = s + x s (1 - s)
  Value slope = e.mul(s, e.add(one, e.mul(x, e.sub(one, s))));
  return SmallVector<Value>{e.mul(getDy(), slope)};
}
