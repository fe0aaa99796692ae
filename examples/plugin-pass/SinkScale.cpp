// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sink-scale pass: a number that multiplies an operand of a contraction
// multiplies its result instead.

#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "bessemer/Pipelines/Plugin.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace bessemer;

namespace {

int64_t elementsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

/// contract(c x, y) -> c contract(x, y), and the same for y. The product with c
/// then is part of the matrix product's epilogue and costs no kernel.
struct SinkScale : OpRewritePattern<graph::ContractOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(graph::ContractOp op,
                                PatternRewriter &rewriter) const override {
    for (OpOperand &operand : op->getOpOperands()) {
      auto scale = operand.get().getDefiningOp<arith::MulFOp>();
      if (!scale || !scale->hasOneUse())
        continue;
      auto [factor, scaled] = splitFactor(scale);
      // A larger result would be more work, not less.
      if (!factor || elementsOf(op) > elementsOf(scale))
        continue;
      rewriter.modifyOpInPlace(op, [&] { operand.set(scaled); });
      rewriter.setInsertionPointAfter(op);
      auto type = cast<RankedTensorType>(op.getType());
      Value splat = arith::ConstantOp::create(
          rewriter, op.getLoc(), SplatElementsAttr::get(type, factor));
      auto product =
          arith::MulFOp::create(rewriter, op.getLoc(), op.getResult(), splat);
      rewriter.replaceAllUsesExcept(op.getResult(), product.getResult(),
                                    product);
      return success();
    }
    return rewriter.notifyMatchFailure(
        op, "no operand is a product with a number that only it uses");
  }

private:
  /// The number in a product with a splat, and the other operand; nulls when
  /// there is none.
  static std::pair<Attribute, Value> splitFactor(arith::MulFOp product) {
    SplatElementsAttr splat;
    if (matchPattern(product.getRhs(), m_Constant(&splat)))
      return {splat.getSplatValue<Attribute>(), product.getLhs()};
    if (matchPattern(product.getLhs(), m_Constant(&splat)))
      return {splat.getSplatValue<Attribute>(), product.getRhs()};
    return {};
  }
};

struct SinkScalePass : PassWrapper<SinkScalePass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SinkScalePass)

  StringRef getArgument() const override { return "sink-scale"; }
  StringRef getDescription() const override {
    return "multiply the result of a contraction instead of its operand";
  }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SinkScale>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

void setUp(PluginRegistry &registry) {
  registry.addPass(ExtensionPoint::BeforeFusion,
                   [] { return std::make_unique<SinkScalePass>(); });
}

} // namespace

BESSEMER_PLUGIN("sink-scale", "1.0", setUp)
