// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients of upstream arith, math and tensor ops, as external models.

#include "bessemer/Dialect/Graph/IR/Emitter.h"
#include "mlir/IR/Matchers.h"
#include <numbers>

using namespace mlir;
using namespace bessemer::graph;

namespace {

/// A gradient given by a function of (emitter, op, dy, operandGradients).
/// Without dy nothing flows, and the function is not called.
template <typename OpTy, auto Rule>
struct Gradient
    : DifferentiableOpInterface::ExternalModel<Gradient<OpTy, Rule>, OpTy> {
  LogicalResult buildGradient(Operation *op, OpBuilder &builder,
                              ValueRange resultGradients,
                              SmallVectorImpl<Value> &operandGradients) const {
    operandGradients.assign(op->getNumOperands(), Value());
    if (resultGradients[0] &&
        isa<FloatType>(getElementTypeOrSelf(op->getResult(0).getType())))
      Rule(Emitter(builder, op->getLoc()), cast<OpTy>(op), resultGradients[0],
           operandGradients);
    return success();
  }
};

using Gradients = SmallVectorImpl<Value>;

/// Whether `value` is a constant, also a broadcast or reshaped one.
bool isConstant(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (matchPattern(value, m_Constant()))
      return true;
    if (!isa<BroadcastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
      return false;
    value = op->getOperand(0);
  }
  return false;
}

/// The value of a float splat constant.
std::optional<double> splatValue(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getInput();
  DenseElementsAttr attribute;
  if (!matchPattern(value, m_Constant(&attribute)) || !attribute.isSplat())
    return std::nullopt;
  return attribute.getSplatValue<FloatAttr>().getValueAsDouble();
}

/// No gradient flows to any operand (integers, piecewise constant functions).
template <typename OpTy> void noGradient(Emitter, OpTy, Value, Gradients &) {}

//===----------------------------------------------------------------------===//
// arith
//===----------------------------------------------------------------------===//

void addGradient(Emitter, arith::AddFOp, Value dy, Gradients &grads) {
  grads[0] = grads[1] = dy;
}

void subGradient(Emitter a, arith::SubFOp, Value dy, Gradients &grads) {
  grads[0] = dy;
  grads[1] = a.neg(dy);
}

void mulGradient(Emitter a, arith::MulFOp op, Value dy, Gradients &grads) {
  grads[0] = a.mul(dy, op.getRhs());
  grads[1] = a.mul(dy, op.getLhs());
}

void divGradient(Emitter a, arith::DivFOp op, Value dy, Gradients &grads) {
  grads[0] = a.div(dy, op.getRhs());
  grads[1] = a.neg(a.mul(grads[0], op.getResult()));
}

void negGradient(Emitter a, arith::NegFOp, Value dy, Gradients &grads) {
  grads[0] = a.neg(dy);
}

/// Maximum and minimum. A tie goes to a constant operand whole, so that relu
/// and clip have gradient 0 at their kinks (as PyTorch's relu and hardtanh);
/// otherwise both operands get half (as torch.maximum). A NaN loses no
/// gradient.
template <typename OpTy, bool IsMax>
void extremeGradient(Emitter a, OpTy op, Value dy, Gradients &grads) {
  using Predicate = arith::CmpFPredicate;
  Value zero = a.like(dy, 0.0);
  auto gradientOf = [&](Value self, Value other) {
    if (isConstant(other))
      return a.select(
          a.compare(IsMax ? Predicate::OLE : Predicate::OGE, self, other), zero,
          dy);
    Value half = a.mul(dy, a.like(dy, 0.5));
    Value won = a.select(a.compare(Predicate::OEQ, self, other), half, dy);
    return a.select(
        a.compare(IsMax ? Predicate::OLT : Predicate::OGT, self, other), zero,
        won);
  };
  grads[0] =
      isConstant(op.getLhs()) ? Value() : gradientOf(op.getLhs(), op.getRhs());
  grads[1] =
      isConstant(op.getRhs()) ? Value() : gradientOf(op.getRhs(), op.getLhs());
}

void selectGradient(Emitter a, arith::SelectOp op, Value dy, Gradients &grads) {
  Value zero = a.like(dy, 0.0);
  grads[1] = a.select(op.getCondition(), dy, zero);
  grads[2] = a.select(op.getCondition(), zero, dy);
}

void extGradient(Emitter a, arith::ExtFOp op, Value dy, Gradients &grads) {
  grads[0] =
      arith::TruncFOp::create(a.builder, a.loc, op.getIn().getType(), dy);
}

void truncGradient(Emitter a, arith::TruncFOp op, Value dy, Gradients &grads) {
  grads[0] = arith::ExtFOp::create(a.builder, a.loc, op.getIn().getType(), dy);
}

//===----------------------------------------------------------------------===//
// math
//===----------------------------------------------------------------------===//

void expGradient(Emitter a, math::ExpOp op, Value dy, Gradients &grads) {
  grads[0] = a.mul(dy, op.getResult());
}

void expm1Gradient(Emitter a, math::ExpM1Op op, Value dy, Gradients &grads) {
  grads[0] = a.mul(dy, a.add(op.getResult(), a.like(dy, 1.0)));
}

void logGradient(Emitter a, math::LogOp op, Value dy, Gradients &grads) {
  grads[0] = a.div(dy, op.getOperand());
}

void log1pGradient(Emitter a, math::Log1pOp op, Value dy, Gradients &grads) {
  grads[0] = a.div(dy, a.add(op.getOperand(), a.like(dy, 1.0)));
}

void sqrtGradient(Emitter a, math::SqrtOp op, Value dy, Gradients &grads) {
  grads[0] = a.div(dy, a.mul(a.like(dy, 2.0), op.getResult()));
}

void rsqrtGradient(Emitter a, math::RsqrtOp op, Value dy, Gradients &grads) {
  Value y = op.getResult();
  grads[0] = a.mul(a.mul(dy, a.like(dy, -0.5)), a.mul(y, a.mul(y, y)));
}

void tanhGradient(Emitter a, math::TanhOp op, Value dy, Gradients &grads) {
  Value y = op.getResult();
  grads[0] = a.mul(dy, a.sub(a.like(dy, 1.0), a.mul(y, y)));
}

void erfGradient(Emitter a, math::ErfOp op, Value dy, Gradients &grads) {
  Value x = op.getOperand();
  Value density = a.unary<math::ExpOp>(a.neg(a.mul(x, x)));
  grads[0] =
      a.mul(dy, a.mul(a.like(dy, 2.0 * std::numbers::inv_sqrtpi), density));
}

void sinGradient(Emitter a, math::SinOp op, Value dy, Gradients &grads) {
  grads[0] = a.mul(dy, a.unary<math::CosOp>(op.getOperand()));
}

void cosGradient(Emitter a, math::CosOp op, Value dy, Gradients &grads) {
  grads[0] = a.neg(a.mul(dy, a.unary<math::SinOp>(op.getOperand())));
}

void tanGradient(Emitter a, math::TanOp op, Value dy, Gradients &grads) {
  Value y = op.getResult();
  grads[0] = a.mul(dy, a.add(a.mul(y, y), a.like(dy, 1.0)));
}

void atanGradient(Emitter a, math::AtanOp op, Value dy, Gradients &grads) {
  Value x = op.getOperand();
  grads[0] = a.div(dy, a.add(a.mul(x, x), a.like(dy, 1.0)));
}

void sinhGradient(Emitter a, math::SinhOp op, Value dy, Gradients &grads) {
  grads[0] = a.mul(dy, a.unary<math::CoshOp>(op.getOperand()));
}

void coshGradient(Emitter a, math::CoshOp op, Value dy, Gradients &grads) {
  grads[0] = a.mul(dy, a.unary<math::SinhOp>(op.getOperand()));
}

/// 0 at 0.
void absGradient(Emitter a, math::AbsFOp op, Value dy, Gradients &grads) {
  Value x = op.getOperand(), zero = a.like(dy, 0.0);
  Value nonnegative =
      a.select(a.compare(arith::CmpFPredicate::OEQ, x, zero), zero, dy);
  grads[0] = a.select(a.compare(arith::CmpFPredicate::OLT, x, zero), a.neg(dy),
                      nonnegative);
}

void powGradient(Emitter a, math::PowFOp op, Value dy, Gradients &grads) {
  Value base = op.getLhs(), exponent = op.getRhs();
  Value zero = a.like(dy, 0.0);
  std::optional<double> splat = splatValue(exponent);
  if (splat == 0.0) {
    // x^0 is constant, also at 0 where the general formula has 0 * infinity.
  } else if (splat == 2.0) {
    grads[0] = a.mul(dy, a.mul(a.like(dy, 2.0), base));
  } else {
    Value reduced = a.sub(exponent, a.like(dy, 1.0));
    Value slope =
        a.mul(exponent, math::PowFOp::create(a.builder, a.loc, base, reduced));
    if (!splat)
      slope = a.select(a.compare(arith::CmpFPredicate::OEQ, exponent, zero),
                       zero, slope);
    grads[0] = a.mul(dy, slope);
  }
  if (splat)
    return;
  // The exponent's: y log(x), and 0 at x = 0 (as PyTorch).
  Value slope = a.mul(op.getResult(), a.unary<math::LogOp>(base));
  slope =
      a.select(a.compare(arith::CmpFPredicate::OEQ, base, zero), zero, slope);
  grads[1] = a.mul(dy, slope);
}

//===----------------------------------------------------------------------===//
// tensor
//===----------------------------------------------------------------------===//

void collapseGradient(Emitter a, tensor::CollapseShapeOp op, Value dy,
                      Gradients &grads) {
  grads[0] = tensor::ExpandShapeOp::create(a.builder, a.loc, op.getSrcType(),
                                           dy, op.getReassociationIndices());
}

void expandGradient(Emitter a, tensor::ExpandShapeOp op, Value dy,
                    Gradients &grads) {
  grads[0] = tensor::CollapseShapeOp::create(a.builder, a.loc, op.getSrcType(),
                                             dy, op.getReassociationIndices());
}

template <typename OpTy, auto Rule> void attach(MLIRContext *context) {
  OpTy::template attachInterface<Gradient<OpTy, Rule>>(*context);
}

template <typename... OpTys> void attachNone(MLIRContext *context) {
  (attach<OpTys, noGradient<OpTys>>(context), ...);
}

} // namespace

void bessemer::graph::registerUpstreamGradients(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    attach<arith::AddFOp, addGradient>(context);
    attach<arith::SubFOp, subGradient>(context);
    attach<arith::MulFOp, mulGradient>(context);
    attach<arith::DivFOp, divGradient>(context);
    attach<arith::NegFOp, negGradient>(context);
    attach<arith::MaximumFOp, extremeGradient<arith::MaximumFOp, true>>(
        context);
    attach<arith::MaxNumFOp, extremeGradient<arith::MaxNumFOp, true>>(context);
    attach<arith::MinimumFOp, extremeGradient<arith::MinimumFOp, false>>(
        context);
    attach<arith::MinNumFOp, extremeGradient<arith::MinNumFOp, false>>(context);
    attach<arith::SelectOp, selectGradient>(context);
    attach<arith::ExtFOp, extGradient>(context);
    attach<arith::TruncFOp, truncGradient>(context);
    attachNone<arith::ConstantOp, arith::SIToFPOp, arith::UIToFPOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    attach<math::ExpOp, expGradient>(context);
    attach<math::ExpM1Op, expm1Gradient>(context);
    attach<math::LogOp, logGradient>(context);
    attach<math::Log1pOp, log1pGradient>(context);
    attach<math::SqrtOp, sqrtGradient>(context);
    attach<math::RsqrtOp, rsqrtGradient>(context);
    attach<math::TanhOp, tanhGradient>(context);
    attach<math::ErfOp, erfGradient>(context);
    attach<math::SinOp, sinGradient>(context);
    attach<math::CosOp, cosGradient>(context);
    attach<math::TanOp, tanGradient>(context);
    attach<math::AtanOp, atanGradient>(context);
    attach<math::SinhOp, sinhGradient>(context);
    attach<math::CoshOp, coshGradient>(context);
    attach<math::AbsFOp, absGradient>(context);
    attach<math::PowFOp, powGradient>(context);
    attachNone<math::FloorOp, math::CeilOp, math::RoundOp, math::RoundEvenOp,
               math::TruncOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    attach<tensor::CollapseShapeOp, collapseGradient>(context);
    attach<tensor::ExpandShapeOp, expandGradient>(context);
  });
}
