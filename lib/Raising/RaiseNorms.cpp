// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The raise-norms pass.

#include "Match.h"
#include "bessemer/Raising/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#define DEBUG_TYPE "raise-norms"

namespace bessemer {
#define GEN_PASS_DEF_RAISENORMS
#include "bessemer/Raising/Passes.h.inc"
} // namespace bessemer

using namespace mlir;
using namespace bessemer;
using namespace bessemer::raising;

/// The value per row that `value` repeats along all its dimensions from `first`
/// on, its unit dimensions dropped.
static Value matchAlongRow(Value value, int64_t first) {
  auto broadcast = value.getDefiningOp<graph::BroadcastOp>();
  if (!broadcast)
    return {};
  ArrayRef<int64_t> shape = tensorOf(value).getShape();
  SmallVector<int64_t> rows(shape.take_front(first));
  for (auto [index, dim] : llvm::enumerate(broadcast.getDims()))
    if (dim != static_cast<int64_t>(index))
      return {};
  if (tensorOf(broadcast.getInput()).getShape() != ArrayRef<int64_t>(rows))
    return {};
  return stripReshapes(broadcast.getInput());
}

/// The tensor whose mean over its last dimensions, from `first` on, `value` is.
/// Sets `first` when it is not known yet (-1).
static Value matchMean(Value value, int64_t &first) {
  auto [sum, factor] = peelFactors(stripReshapes(value));
  auto reduce = stripReshapes(sum).getDefiningOp<graph::ReduceOp>();
  if (!reduce || reduce.getKind() != graph::ReduceKind::Sum ||
      reduce.getDims().empty())
    return {};
  RankedTensorType type = tensorOf(reduce.getInput());
  int64_t begin =
      type.getRank() - static_cast<int64_t>(reduce.getDims().size());
  double count = 1.0;
  for (auto [index, dim] : llvm::enumerate(reduce.getDims())) {
    if (dim != begin + static_cast<int64_t>(index))
      return {};
    count *= static_cast<double>(type.getDimSize(dim));
  }
  if ((first >= 0 && first != begin) || !isNear(factor, 1.0 / count))
    return {};
  first = begin;
  return reduce.getInput();
}

/// The tensor that `value` is the square of.
static Value matchSquare(Value value) {
  if (auto product = value.getDefiningOp<arith::MulFOp>())
    return product.getLhs() == product.getRhs() ? product.getLhs() : Value();
  auto power = value.getDefiningOp<math::PowFOp>();
  return power && splatOf(power.getRhs()) == 2.0 ? power.getLhs() : Value();
}

namespace {
/// mean(square) + epsilon.
struct Deviation {
  Value squared;
  int64_t first = -1;
  double epsilon = 0.0;
};
} // namespace

static std::optional<Deviation> matchShiftedMean(Value value) {
  Deviation result;
  auto matchSum = [&](Value mean, Value epsilon) {
    std::optional<double> splat = splatOf(epsilon);
    if (!splat)
      return false;
    result.first = -1;
    Value square = matchMean(mean, result.first);
    result.squared = square ? matchSquare(square) : Value();
    result.epsilon = *splat;
    return static_cast<bool>(result.squared);
  };
  if (!matchEither<arith::AddFOp>(stripReshapes(value), matchSum))
    return std::nullopt;
  return result;
}

/// sqrt(mean(square) + epsilon).
static std::optional<Deviation> matchRoot(Value value) {
  value = stripReshapes(value);
  if (auto root = value.getDefiningOp<math::SqrtOp>())
    return matchShiftedMean(root.getOperand());
  auto power = value.getDefiningOp<math::PowFOp>();
  if (power && splatOf(power.getRhs()) == 0.5)
    return matchShiftedMean(power.getLhs());
  return std::nullopt;
}

/// 1 / sqrt(mean(square) + epsilon).
static std::optional<Deviation> matchInverseRoot(Value value) {
  value = stripReshapes(value);
  if (auto root = value.getDefiningOp<math::RsqrtOp>())
    return matchShiftedMean(root.getOperand());
  if (auto power = value.getDefiningOp<math::PowFOp>();
      power && splatOf(power.getRhs()) == -0.5)
    return matchShiftedMean(power.getLhs());
  auto division = value.getDefiningOp<arith::DivFOp>();
  if (division && splatOf(division.getLhs()) == 1.0)
    return matchRoot(division.getRhs());
  return std::nullopt;
}

/// The rows that a broadcast may repeat: its operand without reshapes.
static Value repeatedValue(Value value) {
  auto broadcast = value.getDefiningOp<graph::BroadcastOp>();
  return broadcast ? stripReshapes(broadcast.getInput()) : Value();
}

static bool isOne(Value value) { return splatOf(value) == 1.0; }

/// The value of the shape of the last dimensions of `value` that it repeats.
static Value matchForAllRows(Value value, RankedTensorType scale) {
  auto broadcast = value.getDefiningOp<graph::BroadcastOp>();
  if (!broadcast || broadcast.getInput().getType() != scale)
    return {};
  int64_t first = tensorOf(value).getRank() - scale.getRank();
  for (auto [index, dim] : llvm::enumerate(broadcast.getDims()))
    if (dim != first + static_cast<int64_t>(index))
      return {};
  return broadcast.getInput();
}

namespace {
/// x times 1 / deviation, or x over deviation, with a scale of ones.
template <typename OpTy> struct RaiseNormal : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (tryOperands(op, op.getLhs(), op.getRhs(), rewriter))
      return success();
    if (isa<arith::MulFOp>(op) &&
        tryOperands(op, op.getRhs(), op.getLhs(), rewriter))
      return success();
    return rewriter.notifyMatchFailure(op, "expected x over its deviation");
  }

  static bool tryOperands(OpTy op, Value x, Value repeated,
                          PatternRewriter &rewriter) {
    Value statistic = repeatedValue(repeated);
    if (!statistic)
      return false;
    std::optional<Deviation> deviation = isa<arith::MulFOp>(op.getOperation())
                                             ? matchInverseRoot(statistic)
                                             : matchRoot(statistic);
    if (!deviation || deviation->squared != x ||
        !matchAlongRow(repeated, deviation->first))
      return false;
    RankedTensorType type = tensorOf(x);
    auto scaleType = RankedTensorType::get(
        type.getShape().drop_front(deviation->first), type.getElementType());
    Value ones = graph::buildSplat(rewriter, op.getLoc(), scaleType, 1.0);
    // Centred rows are those of a layer norm.
    if (auto centred = x.getDefiningOp<arith::SubFOp>()) {
      Value mean = matchAlongRow(centred.getRhs(), deviation->first);
      if (mean && matchMean(mean, deviation->first) == centred.getLhs()) {
        auto norm =
            graph::LayerNormOp::create(rewriter, op.getLoc(), centred.getLhs(),
                                       ones, Value(), deviation->epsilon);
        rewriter.replaceOp(op, norm.getResult());
        return true;
      }
    }
    auto norm = graph::RmsNormOp::create(rewriter, op.getLoc(), x, ones,
                                         deviation->epsilon);
    rewriter.replaceOp(op, norm.getResult());
    return true;
  }
};

} // namespace

/// Whether `value` is the result of a norm, and all that is used of it, once.
template <typename OpTy> static OpTy matchOnlyResult(Value value) {
  auto norm = value.getDefiningOp<OpTy>();
  if (!norm || value != norm.getResult() || !value.hasOneUse())
    return {};
  for (Value statistic : norm->getResults().drop_front())
    if (!statistic.use_empty())
      return {};
  return norm;
}

namespace {
/// A norm with a scale of ones, times a scale.
struct AddScale : OpRewritePattern<arith::MulFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::MulFOp op,
                                PatternRewriter &rewriter) const override {
    auto tryOperands = [&](Value normal, Value repeated) {
      if (auto norm = matchOnlyResult<graph::LayerNormOp>(normal);
          norm && !norm.getBias() && isOne(norm.getScale())) {
        Value scale = matchForAllRows(repeated, tensorOf(norm.getScale()));
        if (!scale)
          return false;
        auto scaled = graph::LayerNormOp::create(
            rewriter, op.getLoc(), norm.getX(), scale, Value(),
            norm.getEpsilon().convertToDouble());
        rewriter.replaceOp(op, scaled.getResult());
        return true;
      }
      auto norm = matchOnlyResult<graph::RmsNormOp>(normal);
      if (!norm || !isOne(norm.getScale()))
        return false;
      Value scale = matchForAllRows(repeated, tensorOf(norm.getScale()));
      if (!scale)
        return false;
      auto scaled =
          graph::RmsNormOp::create(rewriter, op.getLoc(), norm.getX(), scale,
                                   norm.getEpsilon().convertToDouble());
      rewriter.replaceOp(op, scaled.getResult());
      return true;
    };
    if (matchEither<arith::MulFOp>(op.getResult(), tryOperands))
      return success();
    return rewriter.notifyMatchFailure(op, "expected a norm without a scale");
  }
};

/// A layer norm without a bias, plus a bias.
struct AddBias : OpRewritePattern<arith::AddFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::AddFOp op,
                                PatternRewriter &rewriter) const override {
    auto tryOperands = [&](Value normal, Value repeated) {
      auto norm = matchOnlyResult<graph::LayerNormOp>(normal);
      if (!norm || norm.getBias())
        return false;
      Value bias = matchForAllRows(repeated, tensorOf(norm.getScale()));
      if (!bias)
        return false;
      auto shifted = graph::LayerNormOp::create(
          rewriter, op.getLoc(), norm.getX(), norm.getScale(), bias,
          norm.getEpsilon().convertToDouble());
      rewriter.replaceOp(op, shifted.getResult());
      return true;
    };
    if (matchEither<arith::AddFOp>(op.getResult(), tryOperands))
      return success();
    return rewriter.notifyMatchFailure(op, "expected a norm without a bias");
  }
};

struct RaiseNorms : bessemer::impl::RaiseNormsBase<RaiseNorms> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<RaiseNormal<arith::MulFOp>, RaiseNormal<arith::DivFOp>,
                 AddScale, AddBias>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
