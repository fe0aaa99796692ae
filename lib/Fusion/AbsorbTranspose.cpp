// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The absorb-transpose pass: contractions and reductions read transposed
// operands by naming other dimensions.

#include "bessemer/Fusion/Passes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#define DEBUG_TYPE "absorb-transpose"

namespace bessemer {
#define GEN_PASS_DEF_ABSORBTRANSPOSE
#include "bessemer/Fusion/Passes.h.inc"
} // namespace bessemer

using namespace mlir;
using namespace bessemer;

static SmallVector<int64_t> throughPermutation(ArrayRef<int64_t> dims,
                                               ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> mapped;
  for (int64_t dim : dims)
    mapped.push_back(permutation[dim]);
  return mapped;
}

/// Whether the dimensions not in `used` keep their order through `permutation`.
static bool keepsOrder(ArrayRef<int64_t> permutation,
                       ArrayRef<int64_t> usedFirst,
                       ArrayRef<int64_t> usedSecond) {
  int64_t previous = -1;
  for (auto [dim, source] : llvm::enumerate(permutation)) {
    if (llvm::is_contained(usedFirst, dim) ||
        llvm::is_contained(usedSecond, dim))
      continue;
    if (source < previous)
      return false;
    previous = source;
  }
  return true;
}

namespace {
/// transpose(transpose(x)) -> transpose(x)
struct ComposeTransposes : OpRewritePattern<graph::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<graph::TransposeOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "input is not a transpose");
    rewriter.replaceOpWithNewOp<graph::TransposeOp>(
        op, op.getType(), inner.getInput(),
        throughPermutation(op.getPermutation(), inner.getPermutation()));
    return success();
  }
};

/// f(transpose(x), constants) -> transpose(f(x, constants)) where a contraction
/// reads it, which can then absorb the transpose. Attention scales its keys so.
struct TransposeAfterScaling : RewritePattern {
  explicit TransposeAfterScaling(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!OpTrait::hasElementwiseMappableTraits(op) ||
        op->getNumResults() != 1 ||
        llvm::none_of(op->getUsers(), llvm::IsaPred<graph::ContractOp>))
      return rewriter.notifyMatchFailure(
          op, "not elementwise or not read by a contraction");
    graph::TransposeOp transpose;
    SmallVector<SplatElementsAttr> splats;
    for (Value operand : op->getOperands()) {
      SplatElementsAttr splat;
      auto defining = operand.getDefiningOp<graph::TransposeOp>();
      if (defining && !transpose && defining->hasOneUse())
        transpose = defining;
      else if (!matchPattern(operand, m_Constant(&splat)))
        return rewriter.notifyMatchFailure(
            op, "operands are not one transpose and splat constants");
      splats.push_back(splat);
    }
    if (!transpose)
      return rewriter.notifyMatchFailure(op, "no operand is a transpose");
    auto inner = cast<RankedTensorType>(transpose.getInput().getType());
    SmallVector<Value> operands;
    for (SplatElementsAttr splat : splats)
      operands.push_back(
          splat ? arith::ConstantOp::create(
                      rewriter, op->getLoc(),
                      splat.resizeSplat(inner.clone(splat.getElementType())))
                      .getResult()
                : transpose.getInput());
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    Operation *scaled = rewriter.create(
        op->getLoc(), op->getName().getIdentifier(), operands,
        TypeRange{inner.clone(type.getElementType())}, op->getAttrs());
    rewriter.replaceOpWithNewOp<graph::TransposeOp>(
        op, type, scaled->getResult(0), transpose.getPermutation());
    return success();
  }
};

/// contract(transpose(x), y) and contract(x, transpose(y))
struct ContractOfTranspose : OpRewritePattern<graph::ContractOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::ContractOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<int64_t> lhsBatch(op.getLhsBatch()), rhsBatch(op.getRhsBatch());
    SmallVector<int64_t> lhsContract(op.getLhsContract()),
        rhsContract(op.getRhsContract());
    auto absorb = [&](Value operand, SmallVector<int64_t> &batch,
                      SmallVector<int64_t> &contract) -> Value {
      auto transpose = operand.getDefiningOp<graph::TransposeOp>();
      if (!transpose ||
          !keepsOrder(transpose.getPermutation(), batch, contract))
        return operand;
      batch = throughPermutation(batch, transpose.getPermutation());
      contract = throughPermutation(contract, transpose.getPermutation());
      return transpose.getInput();
    };
    Value lhs = absorb(op.getLhs(), lhsBatch, lhsContract);
    Value rhs = absorb(op.getRhs(), rhsBatch, rhsContract);
    if (lhs == op.getLhs() && rhs == op.getRhs())
      return rewriter.notifyMatchFailure(
          op, "no operand is a transpose that keeps the order of free "
              "dimensions");
    rewriter.replaceOpWithNewOp<graph::ContractOp>(
        op, lhs, rhs, lhsBatch, rhsBatch, lhsContract, rhsContract);
    return success();
  }
};

/// transpose(contract(x, y)) -> contract(y, x)
struct TransposeOfContract : OpRewritePattern<graph::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto contract = op.getInput().getDefiningOp<graph::ContractOp>();
    if (!contract || !contract->hasOneUse())
      return rewriter.notifyMatchFailure(
          op, "input is not a contraction used only here");
    auto freeOf = [](Value operand, size_t batch, size_t contracted) {
      return cast<RankedTensorType>(operand.getType()).getRank() -
             static_cast<int64_t>(batch + contracted);
    };
    int64_t batch = contract.getLhsBatch().size();
    int64_t left =
        freeOf(contract.getLhs(), batch, contract.getLhsContract().size());
    int64_t right =
        freeOf(contract.getRhs(), batch, contract.getRhsContract().size());
    SmallVector<int64_t> swapped;
    llvm::append_range(swapped, llvm::seq<int64_t>(0, batch));
    llvm::append_range(swapped,
                       llvm::seq<int64_t>(batch + left, batch + left + right));
    llvm::append_range(swapped, llvm::seq<int64_t>(batch, batch + left));
    if (op.getPermutation() != ArrayRef<int64_t>(swapped))
      return rewriter.notifyMatchFailure(
          op, "permutation does not swap the free dimensions");
    rewriter.replaceOpWithNewOp<graph::ContractOp>(
        op, contract.getRhs(), contract.getLhs(), contract.getRhsBatch(),
        contract.getLhsBatch(), contract.getRhsContract(),
        contract.getLhsContract());
    return success();
  }
};

/// reduce(transpose(x)) -> reduce(x)
struct ReduceOfTranspose : OpRewritePattern<graph::ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::ReduceOp op,
                                PatternRewriter &rewriter) const override {
    auto transpose = op.getInput().getDefiningOp<graph::TransposeOp>();
    if (!transpose || !keepsOrder(transpose.getPermutation(), op.getDims(), {}))
      return rewriter.notifyMatchFailure(
          op, "input is not a transpose that keeps the order of the other "
              "dimensions");
    SmallVector<int64_t> dims =
        throughPermutation(op.getDims(), transpose.getPermutation());
    llvm::sort(dims);
    rewriter.replaceOpWithNewOp<graph::ReduceOp>(op, op.getType(), op.getKind(),
                                                 transpose.getInput(), dims);
    return success();
  }
};

struct AbsorbTranspose : bessemer::impl::AbsorbTransposeBase<AbsorbTranspose> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ComposeTransposes, ContractOfTranspose, TransposeOfContract,
                 ReduceOfTranspose, TransposeAfterScaling>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
