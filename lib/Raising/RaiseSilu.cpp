// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The raise-silu pass.

#include "Match.h"
#include "bessemer/Raising/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#define DEBUG_TYPE "raise-silu"

namespace bessemer {
#define GEN_PASS_DEF_RAISESILU
#include "bessemer/Raising/Passes.h.inc"
} // namespace bessemer

using namespace mlir;
using namespace bessemer;
using namespace bessemer::raising;

static bool isNegative(Value value, Value x) {
  if (auto negation = value.getDefiningOp<arith::NegFOp>())
    return negation.getOperand() == x;
  if (auto difference = value.getDefiningOp<arith::SubFOp>())
    return splatOf(difference.getLhs()) == 0.0 && difference.getRhs() == x;
  auto [rest, factor] = peelFactors(value);
  return rest == x && factor == -1.0;
}

/// The operand of e in 1 + e, when e is an exponential.
static Value matchOnePlusExp(Value value) {
  Value exponent;
  (void)matchEither<arith::AddFOp>(value, [&](Value power, Value one) {
    auto exp = power.getDefiningOp<math::ExpOp>();
    if (!exp || splatOf(one) != 1.0)
      return false;
    exponent = exp.getOperand();
    return true;
  });
  return exponent;
}

static bool isSigmoid(Value value, Value x) {
  if (auto sigmoid = value.getDefiningOp<graph::SigmoidOp>())
    return sigmoid.getX() == x;
  auto quotient = value.getDefiningOp<arith::DivFOp>();
  Value exponent = quotient ? matchOnePlusExp(quotient.getRhs()) : Value();
  return exponent && splatOf(quotient.getLhs()) == 1.0 &&
         isNegative(exponent, x);
}

namespace {
struct RaiseProduct : OpRewritePattern<arith::MulFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::MulFOp op,
                                PatternRewriter &rewriter) const override {
    Value x;
    if (!matchEither<arith::MulFOp>(op, [&](Value candidate, Value other) {
          x = candidate;
          return isSigmoid(other, candidate);
        }))
      return rewriter.notifyMatchFailure(op, "no factor sigmoid(x) beside x");
    rewriter.replaceOpWithNewOp<graph::SiluOp>(op, op.getType(), x);
    return success();
  }
};

/// x / (1 + exp(-x)).
struct RaiseQuotient : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::DivFOp op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getLhs(), exponent = matchOnePlusExp(op.getRhs());
    if (!exponent || !isNegative(exponent, x))
      return rewriter.notifyMatchFailure(op, "no divisor 1 + exp(-x)");
    rewriter.replaceOpWithNewOp<graph::SiluOp>(op, op.getType(), x);
    return success();
  }
};

struct RaiseSilu : bessemer::impl::RaiseSiluBase<RaiseSilu> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<RaiseProduct, RaiseQuotient>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
