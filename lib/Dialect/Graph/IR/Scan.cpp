// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// graph.scan: types, verifier, canonicalisation.

#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace bessemer::graph;

void YieldOp::build(OpBuilder &, OperationState &) {}

RankedTensorType ScanOp::elementOf(Type sequence) {
  auto type = cast<RankedTensorType>(sequence);
  return type.clone(type.getShape().drop_front());
}

RankedTensorType ScanOp::stackOf(Type element) {
  auto type = cast<RankedTensorType>(element);
  SmallVector<int64_t> shape{static_cast<int64_t>(getLength())};
  llvm::append_range(shape, type.getShape());
  return type.clone(shape);
}

/// Compares one list of types with what it must be.
static LogicalResult verifyTypes(ScanOp op, StringRef what, TypeRange expected,
                                 TypeRange got) {
  if (expected.size() != got.size())
    return op.emitOpError("expected ")
           << expected.size() << " " << what << "s, got " << got.size();
  for (auto [index, a, b] : llvm::enumerate(expected, got))
    if (a != b)
      return op.emitOpError("expected ")
             << what << " " << index << " of type " << a << ", got " << b;
  return success();
}

LogicalResult ScanOp::verify() {
  auto length = static_cast<int64_t>(getLength());
  if (length < 1)
    return emitOpError("expected a length of at least 1, got ") << length;
  SmallVector<Type> arguments(getInits().getTypes());
  for (auto [index, sequence] : llvm::enumerate(getSequences())) {
    auto type = cast<RankedTensorType>(sequence.getType());
    if (type.getRank() == 0 || type.getDimSize(0) != length)
      return emitOpError("expected sequence ")
             << index << " to have " << length << " steps, got " << type;
    arguments.push_back(elementOf(type));
  }
  llvm::append_range(arguments, getInvariants().getTypes());
  auto yield = dyn_cast<YieldOp>(getBlock().getTerminator());
  if (!yield)
    return emitOpError("expected its body to end in graph.yield");
  if (failed(verifyTypes(*this, "body argument", arguments,
                         getBlock().getArgumentTypes())))
    return failure();
  if (getNumResults() < getNumCarried())
    return emitOpError("expected at least ")
           << getNumCarried() << " results, got " << getNumResults();
  SmallVector<Type> yielded(getInits().getTypes());
  for (Type type : getOutputs().getTypes()) {
    auto stacked = cast<RankedTensorType>(type);
    if (stacked.getRank() == 0 || stacked.getDimSize(0) != length)
      return emitOpError("expected outputs of ")
             << length << " steps, got " << stacked;
    yielded.push_back(elementOf(stacked));
  }
  if (failed(verifyTypes(*this, "yielded value", yielded,
                         yield.getOperandTypes())) ||
      failed(verifyTypes(*this, "final value", getInits().getTypes(),
                         getFinals().getTypes())))
    return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Canonicalisation
//===----------------------------------------------------------------------===//

namespace {
/// What of a scan is needed.
struct Needs {
  SmallVector<bool> carried, outputs, sequences, invariants;

  bool all() const {
    auto isSet = [](bool needed) { return needed; };
    return llvm::all_of(carried, isSet) && llvm::all_of(outputs, isSet) &&
           llvm::all_of(sequences, isSet) && llvm::all_of(invariants, isSet);
  }
};
} // namespace

/// From the used results backwards through the body; a carried argument that
/// is needed needs what is carried.
static Needs findNeeds(ScanOp op) {
  Needs needs;
  needs.carried.assign(op.getNumCarried(), false);
  llvm::DenseSet<Value> live;
  SmallVector<Value> pending;
  auto need = [&](Value value) {
    if (live.insert(value).second)
      pending.push_back(value);
  };
  auto needCarried = [&](unsigned index) {
    if (needs.carried[index])
      return;
    needs.carried[index] = true;
    need(op.getYieldedCarried()[index]);
  };
  for (auto [index, result] : llvm::enumerate(op.getFinals()))
    if (!result.use_empty())
      needCarried(index);
  for (auto [result, value] :
       llvm::zip_equal(op.getOutputs(), op.getYieldedOutputs())) {
    needs.outputs.push_back(!result.use_empty());
    if (!result.use_empty())
      need(value);
  }
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getArgNumber() < op.getNumCarried())
        needCarried(argument.getArgNumber());
      continue;
    }
    for (Value operand : value.getDefiningOp()->getOperands())
      need(operand);
  }
  for (Value argument : op.getSequenceArguments())
    needs.sequences.push_back(live.contains(argument));
  for (Value argument : op.getInvariantArguments())
    needs.invariants.push_back(live.contains(argument));
  return needs;
}

template <typename Range>
static SmallVector<Value> pick(Range values, ArrayRef<bool> needed) {
  SmallVector<Value> result;
  for (auto [value, keep] : llvm::zip_equal(values, needed))
    if (keep)
      result.push_back(value);
  return result;
}

namespace {
/// Drops results that nothing uses, and what only they needed.
struct DropUnused : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScanOp op,
                                PatternRewriter &rewriter) const override {
    Needs needs = findNeeds(op);
    if (needs.all())
      return rewriter.notifyMatchFailure(op, "everything is needed");
    if (op->use_empty())
      return rewriter.notifyMatchFailure(op, "nothing is needed");
    SmallVector<Value> oldResults = pick(op.getFinals(), needs.carried);
    llvm::append_range(oldResults, pick(op.getOutputs(), needs.outputs));
    SmallVector<Value> yielded = pick(op.getYieldedCarried(), needs.carried);
    llvm::append_range(yielded, pick(op.getYieldedOutputs(), needs.outputs));

    auto scan = ScanOp::create(
        rewriter, op.getLoc(), ValueRange(oldResults).getTypes(),
        op.getLength(), op.getReverse(), pick(op.getInits(), needs.carried),
        pick(op.getSequences(), needs.sequences),
        pick(op.getInvariants(), needs.invariants));
    scan->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    // Ops that are not needed go with their arguments.
    Block &body = op.getBlock();
    rewriter.setInsertionPoint(body.getTerminator());
    rewriter.replaceOpWithNewOp<YieldOp>(body.getTerminator(), yielded);
    for (Operation &inner : llvm::make_early_inc_range(llvm::reverse(body)))
      if (isOpTriviallyDead(&inner))
        rewriter.eraseOp(&inner);
    // Whoever still reads a dropped carried value is in a cycle of values that
    // nothing needs.
    llvm::BitVector dropped(body.getNumArguments());
    unsigned index = 0;
    for (ArrayRef<bool> part :
         {ArrayRef<bool>(needs.carried), ArrayRef<bool>(needs.sequences),
          ArrayRef<bool>(needs.invariants)})
      for (bool keep : part)
        dropped[index++] = !keep;
    rewriter.modifyOpInPlace(op, [&] { body.eraseArguments(dropped); });
    rewriter.inlineRegionBefore(op.getBody(), scan.getBody(),
                                scan.getBody().end());
    for (auto [from, to] : llvm::zip_equal(oldResults, scan.getResults()))
      rewriter.replaceAllUsesWith(from, to);
    rewriter.eraseOp(op);
    return success();
  }
};

/// Invariants that are constants move into the body, where they fold and fuse.
struct SinkConstants : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScanOp op,
                                PatternRewriter &rewriter) const override {
    bool changed = false;
    for (auto [value, argument] :
         llvm::zip_equal(op.getInvariants(), op.getInvariantArguments())) {
      SplatElementsAttr splat;
      if (argument.use_empty() || !matchPattern(value, m_Constant(&splat)))
        continue;
      rewriter.setInsertionPointToStart(&op.getBlock());
      Value constant =
          arith::ConstantOp::create(rewriter, value.getLoc(), splat);
      rewriter.replaceAllUsesWith(argument, constant);
      changed = true;
    }
    return success(changed);
  }
};

/// Two invariants, sequences or outputs that are one value are one.
struct MergeOperands : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScanOp op,
                                PatternRewriter &rewriter) const override {
    bool changed = false;
    auto merge = [&](OperandRange values, ArrayRef<BlockArgument> arguments) {
      llvm::DenseMap<Value, BlockArgument> first;
      for (auto [value, argument] : llvm::zip_equal(values, arguments)) {
        auto [known, isNew] = first.try_emplace(value, argument);
        if (isNew || argument.use_empty())
          continue;
        rewriter.replaceAllUsesWith(argument, known->second);
        changed = true;
      }
    };
    merge(op.getSequences(), op.getSequenceArguments());
    merge(op.getInvariants(), op.getInvariantArguments());
    llvm::DenseMap<Value, Value> first;
    for (auto [value, output] :
         llvm::zip_equal(op.getYieldedOutputs(), op.getOutputs())) {
      auto [known, isNew] = first.try_emplace(value, output);
      if (isNew || output.use_empty())
        continue;
      rewriter.replaceAllUsesWith(output, known->second);
      changed = true;
    }
    return success(changed);
  }
};
} // namespace

void ScanOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                         MLIRContext *context) {
  patterns.add<DropUnused, MergeOperands, SinkConstants>(context);
}
