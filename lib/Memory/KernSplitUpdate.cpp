// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pass kern-split-update: large parameters get an update of their own.

#include "bessemer/Memory/Passes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Debug.h"

#define DEBUG_TYPE "kern-split-update"

using namespace mlir;
using namespace bessemer;

namespace bessemer {
#define GEN_PASS_DEF_KERNSPLITUPDATE
#include "bessemer/Memory/Passes.h.inc"
} // namespace bessemer

static int64_t elementsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

/// Whether the update's scalars depend on one of its gradients (clipping): then
/// all gradients live until the last is known, whatever the launches.
static bool waitsForGradients(kern::UpdateOp op) {
  llvm::SetVector<Operation *> pending;
  auto add = [&](Value value) {
    if (Operation *definition = value.getDefiningOp())
      pending.insert(definition);
  };
  llvm::for_each(op.getScalars(), add);
  for (size_t i = 0; i < pending.size(); ++i) {
    if (isa<kern::NormOp>(pending[i]))
      return true;
    llvm::for_each(pending[i]->getOperands(), add);
  }
  return false;
}

/// Makes an update of the parameters `members` of `op`.
static void buildPart(OpBuilder &builder, kern::UpdateOp op,
                      ArrayRef<unsigned> members) {
  unsigned moments = op.getMomentsPerParameter();
  unsigned count = op.getParameters().size();
  SmallVector<Value> parameters, gradients, momentValues;
  SmallVector<Value> oldResults, oldMoments;
  for (unsigned i : members) {
    parameters.push_back(op.getParameters()[i]);
    gradients.push_back(op.getGradients()[i]);
    oldResults.push_back(op.getResults()[i]);
    for (unsigned j = 0; j < moments; ++j) {
      momentValues.push_back(op.getMoments()[i * moments + j]);
      oldMoments.push_back(op.getResults()[count + i * moments + j]);
    }
  }
  llvm::append_range(oldResults, oldMoments);
  auto part = kern::UpdateOp::create(
      builder, op.getLoc(), ValueRange(oldResults).getTypes(), parameters,
      gradients, momentValues, op.getScalars(), op.getChunkAttr());
  IRMapping mapping;
  op.getBody().cloneInto(&part.getBody(), mapping);
  for (auto [oldResult, newResult] :
       llvm::zip_equal(oldResults, part.getResults()))
    oldResult.replaceAllUsesWith(newResult);
}

namespace {
struct KernSplitUpdate : bessemer::impl::KernSplitUpdateBase<KernSplitUpdate> {
  void runOnOperation() override {
    SmallVector<kern::UpdateOp> updates;
    getOperation().walk([&](kern::UpdateOp op) { updates.push_back(op); });
    for (kern::UpdateOp op : updates)
      split(op);
  }

  void split(kern::UpdateOp op) {
    if (op.getParameters().size() < 2 || waitsForGradients(op))
      return;
    int64_t total = 0;
    for (Value parameter : op.getParameters())
      total += elementsOf(parameter);
    SmallVector<unsigned> small;
    SmallVector<SmallVector<unsigned>> parts;
    for (auto [i, parameter] : llvm::enumerate(op.getParameters())) {
      if (elementsOf(parameter) * kShares >= total)
        parts.push_back({static_cast<unsigned>(i)});
      else
        small.push_back(i);
    }
    if (!small.empty())
      parts.push_back(small);
    if (parts.size() < 2)
      return;
    LLVM_DEBUG(llvm::dbgs()
               << "split " << op.getParameters().size() << " parameters into "
               << parts.size() << " updates\n");
    OpBuilder builder(op);
    for (ArrayRef<unsigned> part : parts)
      buildPart(builder, op, part);
    op.erase();
  }

  /// A parameter of at least this part of all elements is worth a launch.
  static constexpr int64_t kShares = 16;
};
} // namespace
