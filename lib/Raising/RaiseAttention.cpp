// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The raise-attention pass.

#include "AttentionMask.h"
#include "HeadGroups.h"
#include "Match.h"
#include "bessemer/Raising/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#define DEBUG_TYPE "raise-attention"

namespace bessemer {
#define GEN_PASS_DEF_RAISEATTENTION
#include "bessemer/Raising/Passes.h.inc"
} // namespace bessemer

using namespace mlir;
using namespace bessemer;
using namespace bessemer::raising;

/// What masks fill scores with to hide them, at most.
static constexpr double kLargestFill = -1e9;

/// The two last dimensions.
static ArrayRef<int64_t> matrixOf(Value value) {
  return tensorOf(value).getShape().take_back(2);
}

/// The value that `value` is a reshape of, in which the two last dimensions
/// stay what they are.
static Value stripBatchReshapes(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op) ||
        tensorOf(op->getOperand(0)).getRank() < 2 ||
        matrixOf(op->getOperand(0)) != matrixOf(value))
      break;
    value = op->getOperand(0);
  }
  return value;
}

namespace {
/// A product of the matrices of a batch: its dimensions come first in both
/// operands.
struct BatchedProduct {
  Value lhs, rhs;
  int64_t batchRank;
  /// Which of the last two dimensions of rhs is summed over (0 or 1).
  int64_t rhsContract;
};
} // namespace

/// A product that sums over the last dimension of its left operand.
static std::optional<BatchedProduct> matchProduct(Value value) {
  auto op = value.getDefiningOp<graph::ContractOp>();
  if (!op)
    return std::nullopt;
  int64_t rank = op.getLhsBatch().size();
  for (int64_t dim = 0; dim < rank; ++dim)
    if (op.getLhsBatch()[dim] != dim || op.getRhsBatch()[dim] != dim)
      return std::nullopt;
  if (rank > 2 || tensorOf(op.getLhs()).getRank() != rank + 2 ||
      tensorOf(op.getRhs()).getRank() != rank + 2 ||
      op.getLhsContract() != ArrayRef<int64_t>{rank + 1} ||
      op.getRhsContract().size() != 1)
    return std::nullopt;
  return BatchedProduct{op.getLhs(), op.getRhs(), rank,
                        op.getRhsContract()[0] - rank};
}

namespace {
/// Attention as it is found, from its end to its beginning.
struct AttentionPattern {
  graph::DropoutOp dropout;
  AttentionMask mask;
  double scale = 1.0;
  BatchedProduct scores, result;

  LogicalResult match(graph::ContractOp op);

private:
  LogicalResult matchScores(Value value);
};
} // namespace

/// Whether `value` is scores, up to masks: masks come from no product.
static bool holdsProduct(Value value, unsigned depth = 8) {
  value = peelFactors(stripBatchReshapes(value)).first;
  value = stripBatchReshapes(value);
  if (matchProduct(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (depth == 0 || !isa_and_nonnull<arith::AddFOp, arith::SelectOp>(op))
    return false;
  return llvm::any_of(op->getOperands().take_back(2), [&](Value operand) {
    return holdsProduct(operand, depth - 1);
  });
}

/// softmax over the last dimension, perhaps with NaN replaced by 0.
static Value matchSoftmax(Value value) {
  value = stripBatchReshapes(value);
  if (auto select = value.getDefiningOp<arith::SelectOp>()) {
    auto isNaN = select.getCondition().getDefiningOp<arith::CmpFOp>();
    if (!isNaN || isNaN.getPredicate() != arith::CmpFPredicate::UNO ||
        isNaN.getLhs() != select.getFalseValue() ||
        (isNaN.getRhs() != isNaN.getLhs() && !splatOf(isNaN.getRhs())) ||
        splatOf(select.getTrueValue()) != 0.0)
      return {};
    value = stripBatchReshapes(select.getFalseValue());
  }
  auto softmax = value.getDefiningOp<graph::SoftmaxOp>();
  if (!softmax ||
      static_cast<int64_t>(softmax.getDim()) + 1 != tensorOf(value).getRank())
    return {};
  return softmax.getX();
}

LogicalResult AttentionPattern::match(graph::ContractOp op) {
  std::optional<BatchedProduct> product = matchProduct(op.getResult());
  if (!product)
    return failure();
  result = *product;
  Value probabilities = stripBatchReshapes(result.lhs);
  if ((dropout = probabilities.getDefiningOp<graph::DropoutOp>())) {
    double ratio = dropout.getRatio().convertToDouble();
    if (dropout.getMicro() || ratio <= 0.0 || ratio >= 1.0)
      return failure(); // attention has no words for it
    probabilities = dropout.getX();
  }
  Value input = matchSoftmax(probabilities);
  return input ? matchScores(input) : failure();
}

LogicalResult AttentionPattern::matchScores(Value value) {
  // Each step goes one op up: a scale, a mask, a reshape, or the product.
  while (true) {
    value = stripBatchReshapes(value);
    if (std::optional<BatchedProduct> product = matchProduct(value)) {
      scores = *product;
      return success();
    }
    auto [inner, factor] = peelFactors(value);
    if (inner != value) {
      value = inner;
      scale *= factor;
      continue;
    }
    // A mask may only come after the scale: nothing scales it.
    if (auto select = value.getDefiningOp<arith::SelectOp>()) {
      std::optional<double> ifTrue = splatOf(select.getTrueValue());
      std::optional<double> ifFalse = splatOf(select.getFalseValue());
      std::optional<double> fill = ifTrue ? ifTrue : ifFalse;
      if (!fill || *fill > kLargestFill || scale != 1.0 ||
          failed(mask.addSelection(select.getCondition(), ifTrue.has_value(),
                                   *fill)))
        return failure();
      value = ifTrue ? select.getFalseValue() : select.getTrueValue();
      continue;
    }
    auto sum = value.getDefiningOp<arith::AddFOp>();
    if (!sum || scale != 1.0)
      return failure();
    bool isLeft = holdsProduct(sum.getLhs());
    Value added = isLeft ? sum.getRhs() : sum.getLhs();
    value = isLeft ? sum.getLhs() : sum.getRhs();
    if (failed(mask.add(added)))
      return failure();
  }
}

namespace {
struct RaiseProduct : OpRewritePattern<graph::ContractOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(graph::ContractOp op,
                                PatternRewriter &rewriter) const override {
    AttentionPattern pattern;
    if (failed(pattern.match(op)))
      return rewriter.notifyMatchFailure(op, "expected softmax(q k^T) v");
    // From the operand of the product up to the softmax.
    for (Value value = pattern.result.lhs;;) {
      if (isUsedBeside(value))
        return rewriter.notifyMatchFailure(op, "others use the probabilities");
      Operation *step = value.getDefiningOp();
      if (isa<graph::SoftmaxOp>(step))
        break;
      value = step->getOperand(isa<arith::SelectOp>(step) ? 2 : 0);
    }

    Location loc = op.getLoc();
    // Batch and heads: as the scores have them, or the result.
    SmallVector<int64_t> batch = batchOf(pattern.scores);
    if (pattern.result.batchRank == 2)
      batch = batchOf(pattern.result);
    auto shaped = [&](Value value) -> Value {
      SmallVector<int64_t> shape = batch;
      llvm::append_range(shape, matrixOf(value));
      return graph::buildReshape(rewriter, loc, value, shape);
    };
    // k as [keys, depth], v as [keys, width].
    auto transposed = [&](Value value) -> Value {
      SmallVector<int64_t> shape(tensorOf(value).getShape());
      std::swap(shape[2], shape[3]);
      return graph::TransposeOp::create(rewriter, loc,
                                        tensorOf(value).clone(shape), value,
                                        ArrayRef<int64_t>{0, 1, 3, 2});
    };
    auto [q, queryFactor] = peelFactors(pattern.scores.lhs);
    auto [k, keyFactor] = peelFactors(pattern.scores.rhs);
    q = shaped(q);
    k = shaped(k);
    if (pattern.scores.rhsContract == 0)
      k = transposed(k);
    Value v = shaped(pattern.result.rhs);
    if (pattern.result.rhsContract == 1)
      v = transposed(v);
    shareGroups(rewriter, loc, batch[1], k, v);

    double scale = pattern.scale * queryFactor * keyFactor;
    bool isCausal = false;
    RankedTensorType type = tensorOf(q);
    Value mask =
        pattern.mask.build(rewriter, loc, type.getElementType(), isCausal);
    SmallVector<int64_t> shape(type.getShape());
    Type lse = type.clone(ArrayRef<int64_t>(shape).take_front(3));
    shape[3] = tensorOf(v).getDimSize(3);
    auto attention = graph::AttentionOp::create(
        rewriter, loc, type.clone(shape), lse, q, k, v, mask,
        pattern.dropout ? pattern.dropout.getStep() : Value(),
        rewriter.getF64FloatAttr(scale),
        isCausal ? rewriter.getUnitAttr() : UnitAttr(),
        pattern.dropout ? pattern.dropout.getRatioAttr()
                        : rewriter.getF64FloatAttr(0.0),
        pattern.dropout ? pattern.dropout.getIdAttr()
                        : rewriter.getI64IntegerAttr(0));
    rewriter.replaceOp(
        op, graph::buildReshape(rewriter, loc, attention.getResult(),
                                tensorOf(op.getResult()).getShape()));
    return success();
  }

private:
  /// Whether more than the next op of the pattern uses `value`.
  static bool isUsedBeside(Value value) {
    Operation *user = nullptr;
    for (Operation *other : value.getUsers()) {
      // A comparison with itself belongs to the selection of NaN.
      if (isa<arith::CmpFOp>(other))
        continue;
      if (user && user != other)
        return true;
      user = other;
    }
    return false;
  }

  /// [batch, heads] of a product.
  static SmallVector<int64_t> batchOf(const BatchedProduct &product) {
    ArrayRef<int64_t> shape = tensorOf(product.lhs).getShape();
    SmallVector<int64_t> batch(shape.take_front(product.batchRank));
    while (batch.size() < 2)
      batch.push_back(1);
    return batch;
  }

  /// Undoes the repetition of k and v for the heads of a group.
  static void shareGroups(OpBuilder &builder, Location loc, int64_t heads,
                          Value &k, Value &v) {
    for (int64_t count = heads; count > 1; --count) {
      if (heads % count != 0)
        continue;
      std::optional<GroupedHeads> keys = matchRepeatedHeads(k, count);
      std::optional<GroupedHeads> values =
          keys ? matchRepeatedHeads(v, count) : std::nullopt;
      if (!values)
        continue;
      FailureOr<Value> newKeys =
          keys->view.read(builder, loc, keys->source, keys->sizes);
      FailureOr<Value> newValues =
          values->view.read(builder, loc, values->source, values->sizes);
      if (failed(newKeys) || failed(newValues))
        continue;
      k = *newKeys;
      v = *newValues;
      return;
    }
  }
};

struct RaiseAttention : bessemer::impl::RaiseAttentionBase<RaiseAttention> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<RaiseProduct>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
