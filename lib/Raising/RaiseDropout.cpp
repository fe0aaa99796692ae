// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The raise-dropout pass.

#include "Match.h"
#include "bessemer/Raising/Passes.h"
#include "llvm/Support/Debug.h"

#define DEBUG_TYPE "raise-dropout"

namespace bessemer {
#define GEN_PASS_DEF_RAISEDROPOUT
#include "bessemer/Raising/Passes.h.inc"
} // namespace bessemer

using namespace mlir;
using namespace bessemer;
using namespace bessemer::raising;

namespace {
/// A tensor of ones and zeros, one where a random number is below `kept`.
struct Mask {
  graph::RandomOp random;
  Value value;
  double kept = 0;
};

/// A use of a mask, perhaps broadcast, that divides by the share kept.
struct ScaledUse {
  /// The op whose result is replaced.
  Operation *op;
  /// What the mask multiplies; null: nothing, the op is the scaled mask.
  Value x;
  /// The mask, or its broadcast.
  Value mask;
};
} // namespace

static Operation *onlyUser(Value value) {
  return value.hasOneUse() ? *value.user_begin() : nullptr;
}

/// The probability that the comparison of a random number with a constant
/// holds.
static std::optional<double> probabilityOf(arith::CmpFOp compare,
                                           Value random) {
  using Predicate = arith::CmpFPredicate;
  bool isLeft = compare.getLhs() == random;
  std::optional<double> constant =
      splatOf(isLeft ? compare.getRhs() : compare.getLhs());
  if (!constant)
    return std::nullopt;
  switch (compare.getPredicate()) {
  case Predicate::OLT:
  case Predicate::OLE:
  case Predicate::ULT:
  case Predicate::ULE:
    return isLeft ? *constant : 1 - *constant;
  case Predicate::OGT:
  case Predicate::OGE:
  case Predicate::UGT:
  case Predicate::UGE:
    return isLeft ? 1 - *constant : *constant;
  default:
    return std::nullopt;
  }
}

/// float(random < kept) and the like, or floor(random + kept).
static std::optional<Mask> matchMask(graph::RandomOp random) {
  Mask mask{random, {}, 0};
  Operation *user = onlyUser(random.getResult());
  if (auto compare = dyn_cast_or_null<arith::CmpFOp>(user)) {
    std::optional<double> kept = probabilityOf(compare, random.getResult());
    auto cast = dyn_cast_or_null<arith::UIToFPOp>(onlyUser(compare));
    if (!kept || !cast)
      return std::nullopt;
    mask.value = cast.getResult();
    mask.kept = *kept;
  } else if (auto sum = dyn_cast_or_null<arith::AddFOp>(user)) {
    Value other =
        sum.getLhs() == random.getResult() ? sum.getRhs() : sum.getLhs();
    std::optional<double> kept = splatOf(other);
    auto floor = dyn_cast_or_null<math::FloorOp>(onlyUser(sum));
    if (!kept || !floor)
      return std::nullopt;
    mask.value = floor.getResult();
    mask.kept = *kept;
  }
  if (!mask.value || !(mask.kept > 0 && mask.kept <= 1))
    return std::nullopt;
  return mask;
}

/// Whether `op` is `value` / kept or `value` * (1 / kept).
static bool isScaled(Operation *op, Value value, double kept) {
  if (auto division = dyn_cast_or_null<arith::DivFOp>(op)) {
    std::optional<double> by = splatOf(division.getRhs());
    return division.getLhs() == value && by && isNear(*by, kept);
  }
  return isa_and_nonnull<arith::MulFOp>(op) &&
         matchEither<arith::MulFOp>(op->getResult(0), [&](Value a, Value b) {
           std::optional<double> by = a == value ? splatOf(b) : std::nullopt;
           return by && isNear(*by, 1 / kept);
         });
}

/// mask / kept; x * mask / kept; (x / kept) * mask.
static std::optional<ScaledUse> matchUse(Operation *user, Value mask,
                                         double kept) {
  if (isScaled(user, mask, kept))
    return ScaledUse{user, {}, mask};
  auto product = dyn_cast<arith::MulFOp>(user);
  if (!product || product.getLhs() == product.getRhs())
    return std::nullopt;
  Value x = product.getLhs() == mask ? product.getRhs() : product.getLhs();
  // A mask times itself.
  if (stripReshapesAndBroadcasts(x) == stripReshapesAndBroadcasts(mask))
    return std::nullopt;
  if (Operation *next = onlyUser(product);
      next && isScaled(next, product.getResult(), kept))
    return ScaledUse{next, x, mask};
  auto [inner, factor] = peelFactors(x);
  if (inner != x && isNear(factor, 1 / kept))
    return ScaledUse{product, inner, mask};
  return std::nullopt;
}

/// All uses of the mask and of its broadcasts; false when one is another.
static bool collectUses(Value mask, double kept,
                        SmallVectorImpl<ScaledUse> &uses) {
  for (Operation *user : mask.getUsers()) {
    if (isa<graph::BroadcastOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
            user)) {
      if (!collectUses(user->getResult(0), kept, uses))
        return false;
      continue;
    }
    std::optional<ScaledUse> use = matchUse(user, mask, kept);
    if (!use)
      return false;
    uses.push_back(*use);
  }
  return true;
}

static void raise(Mask mask, SmallVector<ScaledUse> uses) {
  graph::RandomOp random = mask.random;
  OpBuilder builder(mask.value.getDefiningOp());
  builder.setInsertionPointAfterValue(mask.value);
  auto drop = [&](Value x) -> Value {
    if (mask.kept == 1)
      return x;
    return graph::DropoutOp::create(builder, random.getLoc(), x.getType(), x,
                                    random.getStep(), random.getMicro(),
                                    builder.getF64FloatAttr(1 - mask.kept),
                                    random.getIdAttr());
  };
  if (uses.size() == 1 && uses[0].x && uses[0].mask == mask.value) {
    builder.setInsertionPoint(uses[0].op);
    uses[0].op->getResult(0).replaceAllUsesWith(drop(uses[0].x));
    return;
  }
  // The scaled mask: what is left of a tensor of ones.
  auto type = cast<RankedTensorType>(mask.value.getType());
  Value ones = arith::ConstantOp::create(
      builder, random.getLoc(),
      DenseElementsAttr::get(type,
                             builder.getFloatAttr(type.getElementType(), 1.0)));
  Value scaled = drop(ones);
  mask.value.replaceAllUsesWith(scaled);
  // In order: what a use multiplies may be another one's result.
  llvm::sort(uses, [](const ScaledUse &a, const ScaledUse &b) {
    return a.op->isBeforeInBlock(b.op);
  });
  llvm::DenseMap<Value, Value> replaced;
  for (const ScaledUse &use : uses) {
    Value factor = use.mask == mask.value ? scaled : use.mask;
    builder.setInsertionPoint(use.op);
    Value result = factor;
    if (Value x = use.x) {
      if (Value other = replaced.lookup(x))
        x = other;
      result = arith::MulFOp::create(builder, use.op->getLoc(), x, factor);
    }
    replaced[use.op->getResult(0)] = result;
    use.op->getResult(0).replaceAllUsesWith(result);
  }
}

namespace {
struct RaiseDropout : bessemer::impl::RaiseDropoutBase<RaiseDropout> {
  void runOnOperation() override {
    SmallVector<graph::RandomOp> randoms;
    getOperation().walk([&](graph::RandomOp op) { randoms.push_back(op); });
    for (graph::RandomOp random : randoms) {
      std::optional<Mask> mask = matchMask(random);
      SmallVector<ScaledUse> uses;
      if (!mask || !collectUses(mask->value, mask->kept, uses) ||
          uses.empty()) {
        LLVM_DEBUG(llvm::dbgs() << "not a dropout: " << random << "\n");
        continue;
      }
      raise(*mask, uses);
    }
  }
};
} // namespace
