// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gelu: gradient and decompositions.

#include "bessemer/Dialect/Graph/IR/Emitter.h"
#include <numbers>

using namespace mlir;
using namespace bessemer::graph;

/// sqrt(2 / pi) and the factor of the cube in the argument of `tanh`.
static constexpr double tanhFactor =
    std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
static constexpr double tanhCube = 0.044715;

/// 1/2 (1 + erf(x / sqrt(2))): the normal distribution function.
static Value normalDistribution(Emitter &e, Value x) {
  Value scaled = e.mul(x, e.like(x, 1.0 / std::numbers::sqrt2));
  Value erf = math::ErfOp::create(e.builder, e.loc, scaled);
  return e.mul(e.add(erf, e.like(x, 1.0)), e.like(x, 0.5));
}

/// tanh(sqrt(2 / pi) (x + 0.044715 x^3)), given x^2.
static Value tanhOfCubic(Emitter &e, Value x, Value square) {
  Value inner = e.add(e.mul(square, e.like(x, tanhFactor * tanhCube)),
                      e.like(x, tanhFactor));
  return math::TanhOp::create(e.builder, e.loc, e.mul(x, inner));
}

LogicalResult GeluOp::buildGradient(OpBuilder &builder,
                                    ValueRange resultGradients,
                                    SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(1, Value());
  if (Value dy = resultGradients[0])
    operandGradients[0] = GeluGradOp::create(
        builder, getLoc(), getX().getType(), getKind(), getX(), dy);
  return success();
}

FailureOr<SmallVector<Value>> GeluOp::decompose(OpBuilder &builder) {
  Emitter e(builder, getLoc());
  Value x = getX();
  if (getKind() == GeluKind::None)
    return SmallVector<Value>{e.mul(x, normalDistribution(e, x))};
  Value tanh = tanhOfCubic(e, x, e.mul(x, x));
  Value factor = e.mul(e.add(tanh, e.like(x, 1.0)), e.like(x, 0.5));
  return SmallVector<Value>{e.mul(x, factor)};
}

FailureOr<SmallVector<Value>> GeluGradOp::decompose(OpBuilder &builder) {
  Emitter e(builder, getLoc());
  Value x = getX();
  Value square = e.mul(x, x);
  if (getKind() == GeluKind::None) {
    // d(x Phi(x)) / dx = Phi(x) + x phi(x)
    Value density = e.mul(e.exp(e.mul(square, e.like(x, -0.5))),
                          e.like(x, 0.5 * tanhFactor));
    Value slope = e.add(normalDistribution(e, x), e.mul(x, density));
    return SmallVector<Value>{e.mul(getDy(), slope)};
  }
  // 1/2 (1 + t) + 1/2 x (1 - t^2) u', u' = sqrt(2 / pi) (1 + 3 0.044715 x^2)
  Value one = e.like(x, 1.0), half = e.like(x, 0.5);
  Value tanh = tanhOfCubic(e, x, square);
  Value inner = e.add(e.mul(square, e.like(x, 3.0 * tanhFactor * tanhCube)),
                      e.like(x, tanhFactor));
  Value bend = e.mul(e.sub(one, e.mul(tanh, tanh)), e.mul(x, inner));
  Value slope = e.mul(e.add(e.add(tanh, one), bend), half);
  return SmallVector<Value>{e.mul(getDy(), slope)};
}
