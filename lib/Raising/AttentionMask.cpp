// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is added to the scores of attention before the softmax.

#include "AttentionMask.h"
#include "Match.h"
#include "bessemer/Reference/Evaluator.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OwningOpRef.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace bessemer;
using namespace bessemer::raising;

/// A number that leaves nothing of exp(score) when it is added to the score.
static constexpr double kHidden = -1e30;
/// Masks of more elements are not evaluated when compiling.
static constexpr int64_t kLargestKnown = int64_t(1) << 24;

/// Whether a gradient flows from `value` to a trainable state. None flows
/// through integers and conditions.
static bool needsGradient(Value value) {
  SmallVector<Value> work{value};
  llvm::DenseSet<Operation *> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!op || !isa<FloatType>(getElementTypeOrSelf(next.getType())) ||
        !seen.insert(op).second)
      continue;
    if (auto read = dyn_cast<graph::ReadOp>(op)) {
      auto state = SymbolTable::lookupNearestSymbolFrom<graph::StateOp>(
          op, read.getStateAttr());
      if (!state || state.getTrainable())
        return true;
    }
    llvm::append_range(work, op->getOperands());
  }
  return false;
}

/// Copies what computes `value` behind `builder`; fails when it depends on more
/// than constants.
static LogicalResult copyKnown(Value value, OpBuilder &builder,
                               IRMapping &mapping) {
  if (mapping.contains(value))
    return success();
  Operation *op = value.getDefiningOp();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!op || !type || type.getNumElements() > kLargestKnown ||
      isa<graph::ReadOp, graph::StepValueOp, graph::RandomOp>(op) ||
      !isPure(op))
    return failure();
  for (Value operand : op->getOperands())
    if (failed(copyKnown(operand, builder, mapping)))
      return failure();
  builder.clone(*op, mapping);
  return success();
}

/// The elements of a value that depends on constants only.
static std::optional<reference::Tensor> evaluateKnown(Value value) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(value.getLoc());
  OpBuilder builder(value.getContext());
  builder.setInsertionPointToStart(module->getBody());
  auto function =
      func::FuncOp::create(builder, value.getLoc(), "known",
                           builder.getFunctionType({}, {value.getType()}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  IRMapping mapping;
  if (failed(copyKnown(value, builder, mapping)))
    return std::nullopt;
  func::ReturnOp::create(builder, value.getLoc(), mapping.lookup(value));
  FailureOr<reference::Outcome> outcome = reference::evaluate(function, {}, {});
  if (failed(outcome))
    return std::nullopt;
  return std::move(outcome->results[0]);
}

LogicalResult AttentionMask::addTerm(Value value, Term term) {
  if (needsGradient(value))
    return failure();
  // One value for all scores: hides nothing or everything alike.
  RankedTensorType type = tensorOf(value);
  if (type.getRank() < 2 || type.getRank() > 4)
    return failure();
  SmallVector<int64_t> shape(type.getShape());
  if (auto broadcast = value.getDefiningOp<graph::BroadcastOp>()) {
    value = broadcast.getInput();
    for (auto [dim, size] : llvm::enumerate(shape))
      if (!llvm::is_contained(broadcast.getDims(), dim))
        size = 1;
  }
  // [queries, keys] and [batch, queries, keys] are of one head.
  if (shape.size() == 3)
    shape.insert(shape.begin() + 1, 1);
  while (shape.size() < 4)
    shape.insert(shape.begin(), 1);
  term.value = value;
  term.shape = shape;
  terms.push_back(term);
  return success();
}

LogicalResult AttentionMask::add(Value mask) { return addTerm(mask, {}); }

LogicalResult AttentionMask::addSelection(Value condition, bool hidden,
                                          double fill) {
  Term term;
  term.isSelection = true;
  term.hidden = hidden;
  term.fill = fill;
  return addTerm(condition, term);
}

namespace {
/// What a known mask does.
enum class Effect { Nothing, Causal, Other };
} // namespace

/// `hides(i)` and `keeps(i)` say what element i of a mask of `shape` does.
static Effect effectOf(ArrayRef<int64_t> shape,
                       llvm::function_ref<bool(int64_t)> hides,
                       llvm::function_ref<bool(int64_t)> keeps) {
  int64_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  bool isNothing = true, isCausal = shape[2] > 1 && shape[3] > 1;
  for (int64_t i = 0; i < elements && (isNothing || isCausal); ++i) {
    int64_t key = i % shape[3], query = i / shape[3] % shape[2];
    isNothing &= keeps(i);
    isCausal &= key <= query ? keeps(i) : hides(i);
  }
  return isNothing ? Effect::Nothing
                   : (isCausal ? Effect::Causal : Effect::Other);
}

Value AttentionMask::build(OpBuilder &builder, Location loc, Type element,
                           bool &isCausal) const {
  SmallVector<std::pair<Value, SmallVector<int64_t>>> values;
  SmallVector<int64_t> common(4, 1);
  for (const Term &term : terms) {
    if (std::optional<reference::Tensor> known = evaluateKnown(term.value)) {
      auto isHidden = [&](int64_t i) {
        return term.isSelection ? (known->integers[i] != 0) == term.hidden &&
                                      term.fill <= kHidden
                                : known->floats[i] <= kHidden;
      };
      auto isKept = [&](int64_t i) {
        return term.isSelection ? (known->integers[i] != 0) != term.hidden
                                : known->floats[i] == 0.0;
      };
      Effect effect = effectOf(term.shape, isHidden, isKept);
      isCausal |= effect == Effect::Causal;
      if (effect != Effect::Other)
        continue;
    }
    Value value = term.value;
    if (term.isSelection) {
      auto type = RankedTensorType::get(tensorOf(value).getShape(), element);
      Value fill = graph::buildSplat(builder, loc, type, term.fill);
      Value zero = graph::buildSplat(builder, loc, type, 0.0);
      value = arith::SelectOp::create(builder, loc, value,
                                      term.hidden ? fill : zero,
                                      term.hidden ? zero : fill);
    }
    values.push_back({value, term.shape});
    for (auto [to, size] : llvm::zip_equal(common, term.shape))
      to = std::max(to, size);
  }
  Value sum;
  auto type = RankedTensorType::get(common, element);
  for (auto &[value, shape] : values) {
    SmallVector<int64_t> kept, dims;
    for (int64_t dim = 0; dim < 4; ++dim)
      if (shape[dim] == common[dim]) {
        kept.push_back(shape[dim]);
        dims.push_back(dim);
      }
    value = graph::buildBroadcast(
        builder, loc, graph::buildReshape(builder, loc, value, kept), type,
        dims);
    sum = sum ? arith::AddFOp::create(builder, loc, sum, value).getResult()
              : value;
  }
  return sum;
}
