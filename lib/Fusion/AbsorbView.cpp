// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads and writes through transposes, reshapes and slices as views.

#include "AbsorbView.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::fusion;
using graph::StridedView;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static bool isContiguous(const StridedView &view, ArrayRef<int64_t> sizes,
                         bool mayRepeat) {
  return view.strides[3] == 1 || sizes[3] == 1 ||
         (mayRepeat && view.strides[3] == 0);
}

std::pair<Value, StridedView> fusion::absorbProducers(Value value,
                                                      bool mayRepeat) {
  ArrayRef<int64_t> sizes = shapeOf(value);
  StridedView view = StridedView::rowMajor(sizes);
  std::pair<Value, StridedView> best{value, view};
  // A step may be in the way of contiguity that the next one restores.
  while (Operation *op = value.getDefiningOp()) {
    if (isa<graph::BroadcastOp>(op) && !mayRepeat)
      break;
    std::optional<StridedView> next = view.throughProducer(op, sizes);
    if (!next)
      break;
    view = *next;
    value = op->getOperand(0);
    if (isContiguous(view, sizes, mayRepeat))
      best = {value, view};
  }
  return best;
}

AbsorbedResult
fusion::absorbConsumers(Value value,
                        llvm::function_ref<bool(Operation *)> isBeside) {
  ArrayRef<int64_t> sizes = shapeOf(value);
  StridedView view = StridedView::rowMajor(sizes);
  AbsorbedResult best{value, value, view, {}};
  SmallVector<Operation *> moves;
  while (true) {
    Operation *next = nullptr;
    bool isOnly = true;
    for (Operation *user : value.getUsers()) {
      if (moves.empty() && isBeside(user))
        continue;
      isOnly &= !next || next == user;
      next = user;
    }
    if (!next || !isOnly)
      return best;
    std::optional<StridedView> moved = view.throughConsumer(next, sizes);
    if (!moved)
      return best;
    view = *moved;
    value = next->getResult(0);
    moves.push_back(next);
    if (isContiguous(view, sizes, /*mayRepeat=*/false))
      best = {best.start, value, view, moves};
  }
}

/// The concat whose operands are exactly the ends of `results`.
static graph::ConcatOp commonConcat(ArrayRef<AbsorbedResult> results) {
  graph::ConcatOp concat;
  for (const AbsorbedResult &result : results) {
    if (!result.end.hasOneUse())
      return {};
    auto user = dyn_cast<graph::ConcatOp>(*result.end.getUsers().begin());
    if (!user || (concat && user != concat))
      return {};
    concat = user;
  }
  return concat && concat.getInputs().size() == results.size()
             ? concat
             : graph::ConcatOp();
}

SmallVector<Operation *>
fusion::absorbConcat(MutableArrayRef<AbsorbedResult> results) {
  graph::ConcatOp concat = commonConcat(results);
  if (!concat)
    return {};
  SmallVector<StridedView> views;
  for (AbsorbedResult &result : results) {
    unsigned operand = result.end.getUses().begin()->getOperandNumber();
    std::optional<StridedView> view =
        result.view.throughConcat(concat, operand, shapeOf(result.start));
    if (!view)
      return {};
    views.push_back(*view);
  }
  // What moves the concat as a whole moves all of its parts.
  Value end = concat.getResult();
  SmallVector<Operation *> moves{concat};
  while (end.hasOneUse()) {
    Operation *next = *end.getUsers().begin();
    SmallVector<StridedView> moved;
    for (auto [result, view] : llvm::zip_equal(results, views))
      if (std::optional<StridedView> part =
              view.throughConsumer(next, shapeOf(result.start));
          part && isContiguous(*part, shapeOf(result.start), false))
        moved.push_back(*part);
    if (moved.size() != results.size())
      break;
    views = moved;
    end = next->getResult(0);
    moves.push_back(next);
  }
  for (auto [result, view] : llvm::zip_equal(results, views)) {
    result.view = view;
    result.end = end;
  }
  return moves;
}

void AbsorbedResult::eraseMoves() {
  for (Operation *move : llvm::reverse(moves))
    move->erase();
}

void AbsorbedResult::replaceWith(Value kernel, OpBuilder &builder) {
  end.replaceAllUsesWith(kernel);
  if (moves.empty())
    return;
  // Backwards from the end to the start, for the users beside the moves.
  Value value = kernel;
  Location loc = kernel.getLoc();
  for (Operation *move : llvm::reverse(moves)) {
    Type type = move->getOperand(0).getType();
    if (auto transpose = dyn_cast<graph::TransposeOp>(move)) {
      SmallVector<int64_t> inverse(transpose.getPermutation().size());
      for (auto [to, from] : llvm::enumerate(transpose.getPermutation()))
        inverse[from] = to;
      value = graph::TransposeOp::create(builder, loc, type, value, inverse);
    } else {
      value = graph::buildReshape(builder, loc, value,
                                  cast<RankedTensorType>(type).getShape());
    }
  }
  start.replaceUsesWithIf(
      value, [&](OpOperand &use) { return use.getOwner() != moves.front(); });
  eraseMoves();
  // Nobody may have asked for the start.
  while (value != kernel && value.use_empty()) {
    Operation *op = value.getDefiningOp();
    value = op->getOperand(0);
    op->erase();
  }
}
