// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The raise-attention pass.

#include "AttentionMask.h"
#include "HeadGroups.h"
#include "Match.h"
#include "bessemer/Raising/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <limits>

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
  LogicalResult matchSelection(Value value, Value &softmax);
  LogicalResult matchScores(Value value);

  /// What the rows are zeroed for that see no key, if they are.
  Value hidingMask;
  bool isHidingMaskAdded = false;
};
} // namespace

/// The value that `value` is a reshape of, up to dimensions of size 1.
static Value stripUnitReshapes(Value value) {
  auto sizes = [](Value of) {
    return llvm::to_vector(llvm::make_filter_range(
        tensorOf(of).getShape(), [](int64_t size) { return size != 1; }));
  };
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op) ||
        sizes(op->getOperand(0)) != sizes(value))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Whether `value` is `source` broadcast as ONNX does: dimensions aligned at
/// the last one, repeated where `source` has size 1.
static bool isBroadcastOf(Value value, Value source) {
  int64_t rank = tensorOf(value).getRank();
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (auto broadcast = value.getDefiningOp<graph::BroadcastOp>()) {
    dims.assign(broadcast.getDims().begin(), broadcast.getDims().end());
    value = broadcast.getInput();
  }
  SmallVector<int64_t> from, to;
  for (auto [dim, size] : llvm::zip_equal(dims, tensorOf(value).getShape()))
    if (size != 1)
      from.push_back(dim);
  for (auto [dim, size] : llvm::enumerate(tensorOf(source).getShape()))
    if (size != 1)
      to.push_back(rank - tensorOf(source).getRank() + dim);
  return from == to && stripUnitReshapes(value) == stripUnitReshapes(source);
}

/// The mask that has minus infinity along all of its last dimension where
/// `condition`, of the shape of the scores, is true.
static Value matchHidesAll(Value condition) {
  Value inner = condition;
  if (auto broadcast = inner.getDefiningOp<graph::BroadcastOp>())
    inner = broadcast.getInput();
  auto isHidden = stripUnitReshapes(inner).getDefiningOp<arith::CmpFOp>();
  if (!isHidden || isHidden.getPredicate() != arith::CmpFPredicate::OEQ ||
      splatOf(isHidden.getRhs()) != -std::numeric_limits<double>::infinity())
    return {};
  auto largest =
      stripUnitReshapes(isHidden.getLhs()).getDefiningOp<graph::ReduceOp>();
  if (!largest || largest.getKind() != graph::ReduceKind::Max)
    return {};
  Value mask = largest.getInput();
  SmallVector<int64_t> shape(tensorOf(mask).getShape());
  int64_t last = tensorOf(mask).getRank() - 1;
  if (largest.getDims() != ArrayRef<int64_t>{last})
    return {};
  shape[last] = 1;
  if (tensorOf(isHidden.getResult()).getShape() != ArrayRef<int64_t>(shape) ||
      !isBroadcastOf(condition, isHidden.getResult()))
    return {};
  return mask;
}

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

/// Probabilities of which those of some rows are 0 instead: where they are NaN,
/// or where a mask hides all keys. Attention says the same of such rows.
LogicalResult AttentionPattern::matchSelection(Value value, Value &softmax) {
  auto select = value.getDefiningOp<arith::SelectOp>();
  softmax = value;
  if (!select)
    return success();
  if (splatOf(select.getTrueValue()) != 0.0)
    return failure();
  softmax = stripBatchReshapes(select.getFalseValue());
  auto isNaN = select.getCondition().getDefiningOp<arith::CmpFOp>();
  if (isNaN && isNaN.getPredicate() == arith::CmpFPredicate::UNO &&
      isNaN.getLhs() == select.getFalseValue() &&
      (isNaN.getRhs() == isNaN.getLhs() || splatOf(isNaN.getRhs())))
    return success();
  hidingMask = matchHidesAll(select.getCondition());
  return success(hidingMask);
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
  Value rows;
  if (failed(matchSelection(stripBatchReshapes(probabilities), rows)))
    return failure();
  auto softmax = rows.getDefiningOp<graph::SoftmaxOp>();
  if (!softmax ||
      static_cast<int64_t>(softmax.getDim()) + 1 != tensorOf(rows).getRank() ||
      failed(matchScores(softmax.getX())))
    return failure();
  return success(!hidingMask || isHidingMaskAdded);
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
    isHidingMaskAdded |= hidingMask && isBroadcastOf(added, hidingMask);
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
