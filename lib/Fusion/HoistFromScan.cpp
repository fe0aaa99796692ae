// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The hoist-from-scan pass: work of a loop that is better done before it.

#include "bessemer/Dialect/Graph/IR/Scan.h"
#include "bessemer/Dialect/Graph/IR/TensorType.h"
#include "bessemer/Fusion/Passes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#define DEBUG_TYPE "hoist-from-scan"

namespace bessemer {
#define GEN_PASS_DEF_HOISTFROMSCAN
#include "bessemer/Fusion/Passes.h.inc"
} // namespace bessemer

using namespace mlir;
using namespace bessemer;
using graph::ScanOp;

/// Which part of a scan's arguments a value is, by its operand segment.
static bool isArgumentOf(Value value, ArrayRef<BlockArgument> arguments) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && llvm::is_contained(arguments, argument);
}

static Value operandOf(ScanOp scan, Value argument) {
  return scan->getOperand(cast<BlockArgument>(argument).getArgNumber());
}

/// Gives the scan one more invariant, and returns its argument.
static Value addInvariant(ScanOp scan, Value value, PatternRewriter &rewriter) {
  rewriter.modifyOpInPlace(scan,
                           [&] { scan.getInvariantsMutable().append(value); });
  return scan.getBlock().addArgument(value.getType(), value.getLoc());
}

/// Gives the scan one more sequence, and returns the argument of its elements.
static Value addSequence(ScanOp scan, Value value, PatternRewriter &rewriter) {
  unsigned position = scan.getNumCarried() + scan.getSequences().size();
  rewriter.modifyOpInPlace(scan,
                           [&] { scan.getSequencesMutable().append(value); });
  return scan.getBlock().insertArgument(
      position, ScanOp::elementOf(value.getType()), value.getLoc());
}

namespace {
/// What depends on invariants alone is computed once, unless that would make
/// something larger out of them.
struct HoistInvariant : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScanOp scan,
                                PatternRewriter &rewriter) const override {
    for (Operation &op : scan.getBlock().without_terminator()) {
      if (!isInvariant(scan, op))
        continue;
      IRMapping mapping;
      for (Value operand : op.getOperands())
        mapping.map(operand, operandOf(scan, operand));
      rewriter.setInsertionPoint(scan);
      Operation *copy = rewriter.clone(op, mapping);
      for (auto [inner, outer] :
           llvm::zip_equal(op.getResults(), copy->getResults()))
        rewriter.replaceAllUsesWith(inner, addInvariant(scan, outer, rewriter));
      rewriter.eraseOp(&op);
      return success();
    }
    return rewriter.notifyMatchFailure(scan, "nothing depends on invariants "
                                             "alone");
  }

  static bool isInvariant(ScanOp scan, Operation &op) {
    if (!isMemoryEffectFree(&op) || op.getNumRegions() ||
        op.getNumOperands() == 0)
      return false;
    int64_t read = 0, written = 0;
    for (Value operand : op.getOperands()) {
      if (!isArgumentOf(operand, scan.getInvariantArguments()) ||
          !isa<RankedTensorType>(operand.getType()))
        return false;
      read += tensorOf(operand).getNumElements();
    }
    for (Value result : op.getResults())
      written += tensorOf(result).getNumElements();
    return written <= read;
  }
};

/// product(element of a sequence, invariant) -> element of one product of the
/// whole sequence.
struct HoistProduct : OpRewritePattern<graph::ContractOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::ContractOp op,
                                PatternRewriter &rewriter) const override {
    auto scan = dyn_cast<ScanOp>(op->getParentOp());
    if (!scan || scan->hasAttr(graph::kMicroBatchesAttr))
      return rewriter.notifyMatchFailure(op, "not in a loop over steps");
    auto isSequence = [&](Value value) {
      return isArgumentOf(value, scan.getSequenceArguments());
    };
    auto isInvariant = [&](Value value) {
      return isArgumentOf(value, scan.getInvariantArguments());
    };
    bool isLeft = isSequence(op.getLhs()) && isInvariant(op.getRhs());
    if (!isLeft && !(isInvariant(op.getLhs()) && isSequence(op.getRhs())))
      return rewriter.notifyMatchFailure(op,
                                         "not of a sequence and an invariant");
    auto shift = [](ArrayRef<int64_t> dims, bool isStacked) {
      SmallVector<int64_t> result(dims);
      for (int64_t &dim : result)
        dim += isStacked;
      return result;
    };
    rewriter.setInsertionPoint(scan);
    auto whole = graph::ContractOp::create(
        rewriter, op.getLoc(), operandOf(scan, op.getLhs()),
        operandOf(scan, op.getRhs()), shift(op.getLhsBatch(), isLeft),
        shift(op.getRhsBatch(), !isLeft), shift(op.getLhsContract(), isLeft),
        shift(op.getRhsContract(), !isLeft));
    // The step is behind the batch, and behind the invariant's dimensions when
    // that is on the left.
    int64_t position = op.getLhsBatch().size();
    if (!isLeft)
      position = tensorOf(op.getLhs()).getRank() - op.getLhsContract().size();
    Value stack = whole;
    if (position != 0) {
      int64_t rank = tensorOf(stack).getRank();
      SmallVector<int64_t> permutation{position};
      for (int64_t dim = 0; dim < rank; ++dim)
        if (dim != position)
          permutation.push_back(dim);
      SmallVector<int64_t> shape;
      for (int64_t dim : permutation)
        shape.push_back(tensorOf(stack).getDimSize(dim));
      stack = graph::TransposeOp::create(rewriter, op.getLoc(),
                                         tensorOf(stack).clone(shape), stack,
                                         permutation);
    }
    rewriter.replaceOp(op, addSequence(scan, stack, rewriter));
    return success();
  }
};

/// A product of few rows reads its right operand where it lies, if that has the
/// contracted dimension first: an invariant is transposed once for all steps.
struct OrientInvariant : OpRewritePattern<graph::ContractOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(graph::ContractOp op,
                                PatternRewriter &rewriter) const override {
    constexpr int64_t mostRows = 32, fewestSteps = 4;
    auto scan = dyn_cast<ScanOp>(op->getParentOp());
    if (!scan || static_cast<int64_t>(scan.getLength()) < fewestSteps ||
        !isArgumentOf(op.getRhs(), scan.getInvariantArguments()))
      return rewriter.notifyMatchFailure(op, "its right operand is no "
                                             "invariant of a long loop");
    RankedTensorType weights = tensorOf(op.getRhs());
    if (weights.getRank() != 2 || !op.getLhsBatch().empty() ||
        op.getRhsContract() != ArrayRef<int64_t>{1} ||
        tensorOf(op.getResult()).getNumElements() >
            mostRows * weights.getDimSize(0))
      return rewriter.notifyMatchFailure(op, "not of few rows with a "
                                             "transposed matrix");
    rewriter.setInsertionPoint(scan);
    Value transposed = graph::TransposeOp::create(
        rewriter, op.getLoc(),
        weights.clone({weights.getDimSize(1), weights.getDimSize(0)}),
        operandOf(scan, op.getRhs()), ArrayRef<int64_t>{1, 0});
    Value argument = addInvariant(scan, transposed, rewriter);
    rewriter.modifyOpInPlace(op, [&] {
      op.getRhsMutable().assign(argument);
      op.setRhsContract(ArrayRef<int64_t>{0});
    });
    return success();
  }
};

struct HoistFromScan : bessemer::impl::HoistFromScanBase<HoistFromScan> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<HoistInvariant, HoistProduct, OrientInvariant>(&getContext());
    ScanOp::getCanonicalizationPatterns(patterns, &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
