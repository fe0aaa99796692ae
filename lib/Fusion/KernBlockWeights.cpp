// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kern-block-weights pass: weights of convolutions, and the states updated
// with them, in the layout that the library computes on.

#include "Kernel.h"
#include "bessemer/Dialect/Graph/IR/TensorType.h"
#include "bessemer/Fusion/Passes.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/EquivalenceClasses.h"

#define DEBUG_TYPE "kern-block-weights"

namespace bessemer {
#define GEN_PASS_DEF_KERNBLOCKWEIGHTS
#include "bessemer/Fusion/Passes.h.inc"
} // namespace bessemer

using namespace mlir;
using namespace bessemer;
using namespace bessemer::fusion;

/// The type of `value` in blocks, or null when it cannot be.
static RankedTensorType blockedTypeOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? graph::getBlockedWeights(type) : nullptr;
}

static bool isSplat(Value value) {
  SplatElementsAttr splat;
  return matchPattern(value, m_Constant(&splat));
}

/// Whether a convolution computes faster on blocked weights: on images in rows
/// the library may take the weights in rows, too.
static bool wantsBlocks(kern::ConvOp conv) {
  kern::ConvOp::Roles roles = conv.getRoles();
  int64_t outputs = conv.getLogicalType(roles.w).getDimSize(0);
  return (conv.isBlocked(roles.x) || conv.isBlocked(roles.y)) &&
         outputs / conv.getGroups() % kern::kChannelBlock == 0;
}

/// The tensors that a map takes and gives element by element, all of them of
/// one type; empty when it does anything else.
static SmallVector<Value> elementwiseTensors(Operation *op) {
  std::optional<Kernel> kernel = Kernel::get(op);
  if (!kernel || !kernel->isMap())
    return {};
  bool asksForIndex = false;
  kernel->getBody().walk([&](kern::IndexOp) { asksForIndex = true; });
  if (asksForIndex)
    return {};
  SmallVector<Value> tensors;
  for (unsigned i = 0; i < op->getNumOperands() + op->getNumResults(); ++i) {
    Value value = i < op->getNumOperands()
                      ? op->getOperand(i)
                      : Value(op->getResult(i - op->getNumOperands()));
    auto type = dyn_cast<RankedTensorType>(value.getType());
    AffineMap map = kernel->getInputMap(i);
    if (!type || map.getNumResults() == 0)
      continue;
    if (!map.isIdentity() || type.getShape() != kernel->getBounds() ||
        !blockedTypeOf(value))
      return {};
    tensors.push_back(value);
  }
  return tensors;
}

//===----------------------------------------------------------------------===//
// What lies alike
//===----------------------------------------------------------------------===//

namespace {
/// A value or a state.
using Member = llvm::PointerUnion<Value, Operation *>;

/// Groups of values and states of which all are blocked, or none.
class Groups {
public:
  explicit Groups(ModuleOp module) : symbols(module) {
    module.walk([&](Operation *op) { add(op); });
  }

  /// The members of groups in which a convolution wants blocks and nothing
  /// stands against them.
  SmallVector<Member> takeBlocked() const {
    llvm::SmallDenseSet<Member> refused, taken;
    for (Member member : unfit)
      refused.insert(groups.getLeaderValue(member));
    SmallVector<Member> blocked;
    for (Member member : wanted) {
      Member leader = groups.getLeaderValue(member);
      if (!refused.contains(leader) && taken.insert(leader).second)
        llvm::append_range(blocked, groups.members(leader));
    }
    return blocked;
  }

private:
  void add(Operation *op);
  void add(kern::ConvOp conv);
  void add(kern::UpdateOp update);
  void add(graph::ScanOp scan);

  void want(Value value) {
    // A splat lies no way at all, so that a convolution by it gains nothing.
    if (blockedTypeOf(value) && !isSplat(value)) {
      groups.insert(value);
      wanted.push_back(value);
    }
  }
  void refuse(Value value) {
    if (blockedTypeOf(value) && !isSplat(value)) {
      groups.insert(value);
      unfit.push_back(value);
    }
  }
  void refuse(ValueRange values) {
    for (Value value : values)
      refuse(value);
  }
  void tie(Value a, Value b) { tie({a, b}); }
  /// A splat follows whatever it is combined with.
  void tie(ArrayRef<Value> values) {
    Value first;
    for (Value value : values) {
      if (!blockedTypeOf(value) || isSplat(value))
        continue;
      if (first)
        groups.unionSets(first, value);
      else
        groups.insert(first = value);
    }
  }
  void tieToState(Value value, StringRef name) {
    if (!blockedTypeOf(value))
      return;
    Operation *state = symbols.lookup(name);
    groups.insert(state);
    if (isSplat(value))
      unfit.push_back(state);
    else
      groups.unionSets(value, state);
  }

  SymbolTable symbols;
  llvm::EquivalenceClasses<Member> groups;
  SmallVector<Member> unfit, wanted;
};
} // namespace

void Groups::add(Operation *op) {
  if (auto conv = dyn_cast<kern::ConvOp>(op))
    return add(conv);
  if (auto update = dyn_cast<kern::UpdateOp>(op))
    return add(update);
  if (auto scan = dyn_cast<graph::ScanOp>(op))
    return add(scan);
  if (auto read = dyn_cast<graph::ReadOp>(op))
    return tieToState(read.getResult(), read.getState());
  if (auto write = dyn_cast<graph::WriteOp>(op))
    return tieToState(write.getValue(), write.getState());
  if (auto function = dyn_cast<func::FuncOp>(op)) {
    if (!function.isExternal())
      refuse(function.getArguments());
    return;
  }
  // Sums of squares do not mind the order; yields are part of their loop.
  if (isa<kern::NormOp>(op) || isa<graph::YieldOp>(op))
    return;
  if (SmallVector<Value> tensors = elementwiseTensors(op); !tensors.empty())
    return tie(tensors);
  refuse(op->getOperands());
  refuse(op->getResults());
}

void Groups::add(kern::ConvOp conv) {
  unsigned weights = conv.getRoles().w;
  unsigned inputs = conv.getInputs().size();
  for (unsigned i = 0; i <= inputs; ++i) {
    Value value = i < inputs ? conv.getInputs()[i] : conv.getResult();
    if (i == weights && wantsBlocks(conv))
      want(value);
    else
      refuse(value);
  }
}

void Groups::add(kern::UpdateOp update) {
  unsigned count = update.getParameters().size();
  unsigned moments = update.getMomentsPerParameter();
  for (unsigned i = 0; i < count; ++i) {
    SmallVector<Value> alike = {update.getParameters()[i],
                                update.getGradients()[i], update.getResult(i)};
    for (unsigned j = i * moments; j < (i + 1) * moments; ++j) {
      alike.push_back(update.getMoments()[j]);
      alike.push_back(update.getResult(count + j));
    }
    tie(alike);
  }
}

void Groups::add(graph::ScanOp scan) {
  for (auto [init, argument, yielded, final] :
       llvm::zip_equal(scan.getInits(), scan.getCarriedArguments(),
                       scan.getYieldedCarried(), scan.getFinals()))
    tie({init, argument, yielded, final});
  for (auto [outer, inner] :
       llvm::zip_equal(scan.getInvariants(), scan.getInvariantArguments()))
    tie(outer, inner);
  refuse(scan.getSequences());
  for (Value argument : scan.getSequenceArguments())
    refuse(argument);
  refuse(scan.getYieldedOutputs());
  refuse(scan.getOutputs());
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// Gives a splat, which has no layout, the type of what it goes with.
static void setSplatType(OpOperand &operand, Type type) {
  if (operand.get().getType() == type || !isSplat(operand.get()))
    return;
  auto constant = operand.get().getDefiningOp<arith::ConstantOp>();
  OpBuilder builder(operand.getOwner());
  operand.set(
      arith::ConstantOp::create(builder, constant.getLoc(),
                                cast<SplatElementsAttr>(constant.getValue())
                                    .resizeSplat(cast<ShapedType>(type))));
}

/// Lets the attributes of `op` follow the types of its operands and results.
static void followTypes(Operation *op) {
  if (auto conv = dyn_cast<kern::ConvOp>(op)) {
    unsigned weights = conv.getRoles().w;
    Value value = weights < conv.getInputs().size() ? conv.getInputs()[weights]
                                                    : conv.getResult();
    if (tensorOf(value).getRank() == 4)
      return;
    SmallVector<Attribute> layouts(conv.getLayouts().getValue());
    layouts[weights] =
        kern::LayoutAttr::get(op->getContext(), graph::kBlockedWeights);
    conv.setLayoutsAttr(ArrayAttr::get(op->getContext(), layouts));
  } else if (auto update = dyn_cast<kern::UpdateOp>(op)) {
    // A gradient may be zero everywhere.
    for (auto [parameter, gradient] :
         llvm::zip_equal(update.getParameters(), update.getGradientsMutable()))
      setSplatType(gradient, parameter.getType());
  } else if (auto scan = dyn_cast<graph::ScanOp>(op)) {
    for (auto [init, argument] :
         llvm::zip_equal(scan.getInitsMutable(), scan.getCarriedArguments()))
      setSplatType(init, argument.getType());
    Operation *yield = scan.getBlock().getTerminator();
    for (auto [i, argument] : llvm::enumerate(scan.getCarriedArguments()))
      setSplatType(yield->getOpOperand(i), argument.getType());
  } else if (auto map = dyn_cast<kern::MapOp>(op)) {
    RankedTensorType type = tensorOf(map.getResult(0));
    if (type.getRank() <= static_cast<int64_t>(map.getBounds().size()))
      return;
    SmallVector<AffineMap> maps;
    for (auto attribute : map.getIndexingMaps().getAsRange<AffineMapAttr>())
      maps.push_back(attribute.getValue().getNumResults() == 0
                         ? AffineMap::get(type.getRank(), 0, op->getContext())
                         : AffineMap::getMultiDimIdentityMap(type.getRank(),
                                                             op->getContext()));
    map.setBounds(type.getShape());
    map.setIndexingMapsAttr(Builder(op).getAffineMapArrayAttr(maps));
    for (OpOperand &operand : op->getOpOperands())
      if (auto tensor = dyn_cast<RankedTensorType>(operand.get().getType());
          tensor && tensor.getRank() != 0)
        setSplatType(operand, type);
  }
}

namespace {
struct KernBlockWeights
    : bessemer::impl::KernBlockWeightsBase<KernBlockWeights> {
  void runOnOperation() override {
    SmallVector<Member> members = Groups(getOperation()).takeBlocked();
    if (members.empty())
      return;
    for (Member member : members) {
      if (auto value = dyn_cast<Value>(member)) {
        value.setType(blockedTypeOf(value));
        continue;
      }
      auto state = cast<graph::StateOp>(cast<Operation *>(member));
      state.setType(
          graph::getBlockedWeights(cast<RankedTensorType>(state.getType())));
      state.setLayout(graph::kBlockedWeights);
    }
    getOperation().walk(followTypes);
  }
};
} // namespace
