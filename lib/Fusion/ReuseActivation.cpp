// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reuse-activation pass: comparisons ask the result of a clamp instead of
// its operand, so that only the result need be kept for the backward pass.

#include "bessemer/Fusion/Passes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#define DEBUG_TYPE "reuse-activation"

namespace bessemer {
#define GEN_PASS_DEF_REUSEACTIVATION
#include "bessemer/Fusion/Passes.h.inc"
} // namespace bessemer

using namespace mlir;
using namespace bessemer;

static std::optional<double> splatOf(Value value) {
  SplatElementsAttr splat;
  if (!matchPattern(value, m_Constant(&splat)) ||
      !isa<FloatType>(splat.getElementType()))
    return std::nullopt;
  APFloat element = splat.getSplatValue<APFloat>();
  bool losesInfo = false;
  element.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                  &losesInfo);
  return element.convertToDouble();
}

/// Whether `x predicate c` is `max(x, k) predicate c` for every x, a NaN (which
/// the clamp keeps) included; for `isMax` false the same of min(x, k).
static bool survivesClamp(arith::CmpFPredicate predicate, double c, bool isMax,
                          double k) {
  using Predicate = arith::CmpFPredicate;
  switch (predicate) {
  case Predicate::OLE:
  case Predicate::ULE:
    return isMax ? k <= c : c < k;
  case Predicate::OGT:
  case Predicate::UGT:
    return isMax ? k <= c : k > c;
  case Predicate::OLT:
  case Predicate::ULT:
    return isMax ? k < c : c <= k;
  case Predicate::OGE:
  case Predicate::UGE:
    return isMax ? k < c : k >= c;
  default:
    return false;
  }
}

namespace {
struct CompareClamped : OpRewritePattern<arith::CmpFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::CmpFOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<double> c = splatOf(op.getRhs());
    if (!c)
      return rewriter.notifyMatchFailure(op, "compares with no constant");
    Value x = op.getLhs();
    // The first clamp in the block, so that the result does not depend on the
    // order of uses.
    Operation *first = nullptr;
    for (Operation *user : x.getUsers()) {
      bool isMax = isa<arith::MaximumFOp>(user);
      if ((!isMax && !isa<arith::MinimumFOp>(user)) ||
          user->getBlock() != op->getBlock() || !user->isBeforeInBlock(op))
        continue;
      Value other =
          user->getOperand(0) == x ? user->getOperand(1) : user->getOperand(0);
      std::optional<double> k = splatOf(other);
      if (k && survivesClamp(op.getPredicate(), *c, isMax, *k) &&
          (!first || user->isBeforeInBlock(first)))
        first = user;
    }
    if (!first)
      return rewriter.notifyMatchFailure(op, "operand is not clamped before");
    rewriter.modifyOpInPlace(
        op, [&] { op.getLhsMutable().assign(first->getResult(0)); });
    return success();
  }
};

struct ReuseActivation : bessemer::impl::ReuseActivationBase<ReuseActivation> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<CompareClamped>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
