// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folders and canonical forms of the ops that move elements.

#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "bessemer/Dialect/Graph/IR/TensorType.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::graph;

static SmallVector<int64_t> sum(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  SmallVector<int64_t> result;
  for (auto [x, y] : llvm::zip_equal(a, b))
    result.push_back(x + y);
  return result;
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType()) // then the offsets are zeros
    return getInput();
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getInput()))
    return splat.resizeSplat(cast<ShapedType>(getType()));
  return {};
}

OpFoldResult PadOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  // Zeros around zeros.
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getInput()))
    if (isa<IntegerType>(splat.getElementType())
            ? splat.getSplatValue<APInt>().isZero()
            : splat.getSplatValue<APFloat>().isPosZero())
      return splat.resizeSplat(cast<ShapedType>(getType()));
  return {};
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  if (getInputs().size() == 1)
    return getInputs()[0];
  return {};
}

namespace {
/// slice(slice(x)) -> slice(x)
struct SliceOfSlice : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<SliceOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "input is not a slice");
    rewriter.replaceOpWithNewOp<SliceOp>(
        op, op.getType(), inner.getInput(),
        sum(op.getOffsets(), inner.getOffsets()));
    return success();
  }
};

/// slice(pad(x)) -> slice(x) where no padding is left
struct SliceOfPad : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto pad = op.getInput().getDefiningOp<PadOp>();
    if (!pad)
      return rewriter.notifyMatchFailure(op, "input is not padding");
    SmallVector<int64_t> offsets;
    for (auto [dim, offset] : llvm::enumerate(op.getOffsets())) {
      offsets.push_back(offset - pad.getLow()[dim]);
      if (offsets.back() < 0 || offsets.back() + tensorOf(op).getDimSize(dim) >
                                    tensorOf(pad.getInput()).getDimSize(dim))
        return rewriter.notifyMatchFailure(op, "result holds padding");
    }
    rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), pad.getInput(),
                                         offsets);
    return success();
  }
};

/// slice(concat(a, b)) -> slice(a) or slice(b)
struct SliceOfConcat : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto concat = op.getInput().getDefiningOp<ConcatOp>();
    if (!concat)
      return rewriter.notifyMatchFailure(op, "input is not a concatenation");
    int64_t dim = concat.getDim(), size = tensorOf(op).getDimSize(dim);
    SmallVector<int64_t> offsets(op.getOffsets());
    for (Value input : concat.getInputs()) {
      int64_t length = tensorOf(input).getDimSize(dim);
      if (offsets[dim] >= length) {
        offsets[dim] -= length;
        continue;
      }
      if (offsets[dim] + size > length)
        break;
      rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), input, offsets);
      return success();
    }
    return rewriter.notifyMatchFailure(op, "result comes from several inputs");
  }
};

/// pad(pad(x)) -> pad(x)
struct PadOfPad : OpRewritePattern<PadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PadOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<PadOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "input is not padding");
    rewriter.replaceOpWithNewOp<PadOp>(op, op.getType(), inner.getInput(),
                                       sum(op.getLow(), inner.getLow()));
    return success();
  }
};

/// concat(concat(a, b), c) -> concat(a, b, c)
struct FlattenConcat : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> inputs;
    for (Value input : op.getInputs()) {
      auto inner = input.getDefiningOp<ConcatOp>();
      if (inner && inner.getDim() == op.getDim())
        llvm::append_range(inputs, inner.getInputs());
      else
        inputs.push_back(input);
    }
    if (inputs.size() == op.getInputs().size())
      return rewriter.notifyMatchFailure(
          op, "no input is a concatenation along the same dimension");
    rewriter.replaceOpWithNewOp<ConcatOp>(op, op.getType(), inputs,
                                          op.getDim());
    return success();
  }
};

/// concat(slice(x), slice(x)) of neighbouring slices -> slice(x)
struct ConcatOfSlices : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatOp op,
                                PatternRewriter &rewriter) const override {
    auto first = op.getInputs().front().getDefiningOp<SliceOp>();
    if (!first)
      return rewriter.notifyMatchFailure(op, "the first input is not a slice");
    SmallVector<int64_t> next(first.getOffsets());
    for (Value input : op.getInputs()) {
      auto slice = input.getDefiningOp<SliceOp>();
      if (!slice || slice.getInput() != first.getInput() ||
          slice.getOffsets() != ArrayRef<int64_t>(next))
        return rewriter.notifyMatchFailure(
            op, "inputs are no neighbouring slices of one tensor");
      next[op.getDim()] += tensorOf(input).getDimSize(op.getDim());
    }
    rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), first.getInput(),
                                         first.getOffsets());
    return success();
  }
};

/// The sum of the paddings of pieces that fill a tensor, which is what the
/// gradient of a split is -> concat of the pieces.
struct SumOfPads : OpRewritePattern<arith::AddFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::AddFOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<PadOp> pads;
    if (!collect(op.getLhs(), pads) || !collect(op.getRhs(), pads))
      return rewriter.notifyMatchFailure(op, "a term is not padding");
    auto type = tensorOf(op);
    int64_t dim = -1;
    for (PadOp pad : pads)
      for (int64_t d = 0; d < type.getRank(); ++d)
        if (tensorOf(pad.getInput()).getDimSize(d) != type.getDimSize(d)) {
          if (dim != -1 && dim != d)
            return rewriter.notifyMatchFailure(
                op, "terms are padded along several dimensions");
          dim = d;
        }
    if (dim < 0)
      return rewriter.notifyMatchFailure(op, "a term has no padding");
    llvm::stable_sort(pads, [&](PadOp a, PadOp b) {
      return a.getLow()[dim] < b.getLow()[dim];
    });
    int64_t end = 0;
    SmallVector<Value> pieces;
    for (PadOp pad : pads) {
      if (pad.getLow()[dim] != end)
        return rewriter.notifyMatchFailure(op, "pieces overlap or leave gaps");
      end += tensorOf(pad.getInput()).getDimSize(dim);
      pieces.push_back(pad.getInput());
    }
    if (end != type.getDimSize(dim))
      return rewriter.notifyMatchFailure(op, "pieces do not fill the tensor");
    rewriter.replaceOpWithNewOp<ConcatOp>(op, type, pieces, dim);
    return success();
  }

private:
  static bool collect(Value term, SmallVectorImpl<PadOp> &pads) {
    if (auto pad = term.getDefiningOp<PadOp>()) {
      pads.push_back(pad);
      return true;
    }
    auto add = term.getDefiningOp<arith::AddFOp>();
    return add && add->hasOneUse() && collect(add.getLhs(), pads) &&
           collect(add.getRhs(), pads);
  }
};
} // namespace

void SliceOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *context) {
  patterns.add<SliceOfSlice, SliceOfPad, SliceOfConcat>(context);
}

void PadOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                        MLIRContext *context) {
  patterns.add<PadOfPad>(context);
}

void ConcatOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add<FlattenConcat, ConcatOfSlices>(context);
}

void GraphDialect::getCanonicalizationPatterns(
    RewritePatternSet &patterns) const {
  patterns.add<SumOfPads>(getContext());
}
