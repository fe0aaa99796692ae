// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small matchers on values that the passes of this stage share.

#include "Match.h"
#include "mlir/IR/Matchers.h"
#include <cmath>

using namespace mlir;
using namespace bessemer;
using namespace bessemer::raising;

Value raising::stripReshapes(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

Value raising::stripReshapesAndBroadcasts(Value value) {
  value = stripReshapes(value);
  while (auto broadcast = value.getDefiningOp<graph::BroadcastOp>())
    value = stripReshapes(broadcast.getInput());
  return value;
}

std::optional<double> raising::splatOf(Value value) {
  value = stripReshapesAndBroadcasts(value);
  SplatElementsAttr splat;
  if (!matchPattern(value, m_Constant(&splat)) ||
      !isa<FloatType>(splat.getElementType()))
    return std::nullopt;
  return splat.getSplatValue<APFloat>().convertToDouble();
}

bool raising::isNear(double value, double expected) {
  return std::fabs(value - expected) <= 1e-6 * std::fabs(expected);
}

std::pair<Value, double> raising::peelFactors(Value value) {
  double factor = 1.0;
  while (true) {
    auto peel = [&](Value rest, Value constant) {
      std::optional<double> splat = splatOf(constant);
      if (!splat)
        return false;
      value = rest;
      factor *= *splat;
      return true;
    };
    if (matchEither<arith::MulFOp>(value, peel))
      continue;
    auto division = value.getDefiningOp<arith::DivFOp>();
    std::optional<double> divisor =
        division ? splatOf(division.getRhs()) : std::nullopt;
    if (!divisor)
      return {value, factor};
    value = division.getLhs();
    factor /= *divisor;
  }
}
