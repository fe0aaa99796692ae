// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kern-fuse pass: greedy, deterministic merging of kernels.

#include "Blocks.h"
#include "CostModel.h"
#include "Dependence.h"
#include "Kernel.h"
#include "ReshapeKernel.h"
#include "bessemer/Fusion/Passes.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/Debug.h"

#define DEBUG_TYPE "kern-fuse"

namespace bessemer {
#define GEN_PASS_DEF_KERNFUSE
#include "bessemer/Fusion/Passes.h.inc"
} // namespace bessemer

using namespace mlir;
using namespace bessemer;
using namespace bessemer::fusion;

namespace {

/// Ops that use a result of `op`, each once, in block order.
SmallVector<Operation *> usersOf(Operation *op) {
  llvm::SetVector<Operation *> users;
  for (Operation *user : op->getUsers())
    users.insert(user);
  SmallVector<Operation *> sorted(users.begin(), users.end());
  llvm::sort(sorted,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return sorted;
}

/// Whether `op` is an operand of `user` in other places than `embedding` links:
/// as a factor of a product, or with another order of dimensions.
bool usedBesideLinks(Operation *op, Operation *user,
                     const Embedding &embedding) {
  unsigned uses = llvm::count_if(user->getOperands(), [&](Value operand) {
    return operand.getDefiningOp() == op;
  });
  return uses != embedding.links.size();
}

/// Erases the reshapes among the definitions of `values` that nothing uses.
void eraseUnusedReshapes(ArrayRef<Value> values) {
  llvm::SetVector<Operation *> reshapes;
  for (Value value : values)
    if (Operation *op = value.getDefiningOp())
      if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
        reshapes.insert(op);
  for (Operation *op : reshapes)
    if (op->use_empty())
      op->erase();
}

/// Whether others than `reshape` and `user` use results of `op`.
bool isUsedBeside(Operation *op, Operation *reshape, Operation *user) {
  return llvm::any_of(op->getUsers(), [&](Operation *other) {
    return other != reshape && other != user;
  });
}

/// Two kernels that can become one.
struct Plan {
  Operation *first, *second;
  Embedding embedding;
  /// Results of the first that others use.
  SmallVector<unsigned> kept;
  int64_t bytesSaved = 0;
};

struct KernFuse : bessemer::impl::KernFuseBase<KernFuse> {
  void runOnOperation() override {
    for (Block *blockPointer : blocksOf(getOperation())) {
      Block &block = *blockPointer;
      dropAllUnused(block);
      bool changed = true;
      while (changed) {
        // What is cheap goes everywhere first, so that no comparison or
        // broadcast is stored; then chains; then epilogues of products, which
        // nothing else can take once their users took them; then what makes a
        // kernel write an intermediate value that others need as well; then
        // siblings.
        changed = duplicateCheapProducers(block);
        changed |= mergeChains(block);
        if (changed)
          continue;
        changed = mergeThroughReshapes(block, /*productsOnly=*/true);
        if (!changed)
          changed = mergeSharedProducers(block);
        if (!changed)
          changed = mergeThroughReshapes(block, /*productsOnly=*/false);
        if (!changed)
          changed = mergeSiblings(block);
      }
    }
  }

  void dropAllUnused(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (Kernel::get(&op))
        dropUnused(&op);
  }

  /// Merges `producer` into every user, if all of them can take it.
  bool duplicateCheapProducers(Block &block) {
    bool changed = false;
    Operation *next = nullptr;
    for (Operation *op = &block.front(); op; op = next) {
      next = op->getNextNode();
      std::optional<Kernel> producer = Kernel::get(op);
      if (!producer || op->use_empty() || !worthDuplicating(*producer))
        continue;
      SmallVector<Operation *> users = usersOf(op);
      bool all = llvm::all_of(users, [&](Operation *user) {
        std::optional<Kernel> consumer = Kernel::get(user);
        if (!consumer)
          return false;
        std::optional<Embedding> embedding = embed(*producer, *consumer);
        return embedding && !embedding->links.empty() &&
               !usedBesideLinks(op, user, *embedding) &&
               worthMerging(*producer, *consumer, *embedding);
      });
      if (!all)
        continue;
      LLVM_DEBUG(llvm::dbgs() << "duplicating into " << users.size()
                              << " users: " << *op << "\n");
      for (Operation *user : users) {
        Kernel consumer = *Kernel::get(user);
        Embedding embedding = *embed(*producer, consumer);
        Operation *merged = buildMerged(*producer, consumer, embedding, {});
        user->replaceAllUsesWith(merged->getResults());
        user->erase();
      }
      next = op->getNextNode(); // a user may have been next
      op->erase();
      changed = true;
    }
    return changed;
  }

  /// Merges producers into the consumers that alone use them.
  bool mergeChains(Block &block) {
    bool changed = false;
    for (Operation *op = &block.front(); op;) {
      Operation *mergedOp = nullptr;
      if (Kernel::get(op))
        for (Value operand : op->getOperands()) {
          Operation *producer = operand.getDefiningOp();
          std::optional<Plan> plan = planProducer(producer, op);
          if (!plan || !plan->kept.empty())
            continue;
          mergedOp = merge(*plan);
          break;
        }
      changed |= mergedOp != nullptr;
      // A merged kernel may take further producers.
      op = mergedOp ? mergedOp : op->getNextNode();
    }
    return changed;
  }

  /// Merges producers into consumers although others use them too (the merged
  /// kernel yields what they use), what saves most first.
  bool mergeSharedProducers(Block &block) {
    std::vector<Plan> plans;
    for (Operation &op : block) {
      llvm::SmallSetVector<Operation *, 8> producers;
      for (Value operand : op.getOperands())
        if (Operation *producer = operand.getDefiningOp())
          producers.insert(producer);
      for (Operation *producer : producers)
        if (std::optional<Plan> plan = planProducer(producer, &op))
          plans.push_back(std::move(*plan));
    }
    return mergeBest(plans, [&](const Plan &plan) {
      return planProducer(plan.first, plan.second);
    });
  }

  /// Merges independent kernels that read the same tensor, what saves most
  /// first.
  bool mergeSiblings(Block &block) {
    std::vector<Plan> plans;
    for (Operation &first : block)
      if (Kernel::get(&first))
        for (Operation *second = first.getNextNode(); second;
             second = second->getNextNode())
          if (std::optional<Plan> plan = planSiblings(&first, second))
            plans.push_back(std::move(*plan));
    return mergeBest(plans, [&](const Plan &plan) {
      return planSiblings(plan.first, plan.second);
    });
  }

  /// Merges producers into consumers that read them through a reshape, which
  /// one of them does without. One at a time: a pair that can meet may be
  /// neighbours of others then.
  bool mergeThroughReshapes(Block &block, bool productsOnly) {
    for (Operation &op : block) {
      if (!isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
        continue;
      Operation *p = op.getOperand(0).getDefiningOp();
      std::optional<Kernel> first = Kernel::get(p);
      if (!first || op.use_empty() || (productsOnly && !first->isGemm()))
        continue;
      if (!op.hasOneUse()) {
        if (computeReshaped(&op, *first))
          return true;
        continue;
      }
      std::optional<Kernel> second = Kernel::get(*op.getUsers().begin());
      if (second && mergeThrough(&op, *first, *second))
        return true;
    }
    return false;
  }

  /// Lets a cheap producer that only `reshape` reads compute the reshaped
  /// tensor, so that all users of the reshape can take it.
  bool computeReshaped(Operation *reshape, const Kernel &producer) {
    Operation *p = producer.getOperation();
    if (!p->hasOneUse() || !worthDuplicating(producer))
      return false;
    std::optional<ReshapedKernel> copy = reshapeProducer(reshape, producer);
    if (!copy)
      return false;
    LLVM_DEBUG(llvm::dbgs() << "computing reshaped: " << *reshape << "\n");
    reshape->getResult(0).replaceAllUsesWith(meetingValue(reshape, *copy));
    reshape->erase();
    for (Operation *made : llvm::reverse(copy->made))
      if (made->use_empty())
        made->erase();
    p->erase();
    return true;
  }

  bool mergeThrough(Operation *reshape, const Kernel &first,
                    const Kernel &second) {
    std::optional<MeetingKernel> meeting = meetThrough(reshape, first, second);
    if (!meeting)
      return false;
    ReshapedKernel &copy = meeting->reshaped;
    Operation *original =
        meeting->isConsumer ? second.getOperation() : first.getOperation();
    Operation *p = meeting->isConsumer ? first.getOperation() : copy.op;
    Operation *c = meeting->isConsumer ? copy.op : second.getOperation();
    // The copy of a producer has no users yet: let it have them, and take them
    // back if that leads nowhere.
    Value meets = meeting->isConsumer ? Value() : meetingValue(reshape, copy);
    if (meets)
      reshape->getResult(0).replaceAllUsesWith(meets);
    std::optional<Embedding> embedding =
        embed(*Kernel::get(p), *Kernel::get(c));
    bool fits = embedding && !embedding->links.empty() &&
                !usedBesideLinks(p, c, *embedding) &&
                embedding->isWhole(embedding->first) &&
                !(embedding->isPartial && isUsedBeside(p, reshape, c)) &&
                worthMerging(*Kernel::get(p), *Kernel::get(c), *embedding) &&
                !dependsIndirectly(p, c);
    if (!fits) {
      if (meets)
        meets.replaceUsesWithIf(reshape->getResult(0), [&](OpOperand &use) {
          return use.getOwner() == c;
        });
      copy.discard();
      return false;
    }
    LLVM_DEBUG(llvm::dbgs() << "meeting through " << *reshape << "\n");
    // A reshape that only the original read would look like another user of
    // what it reads.
    SmallVector<Value> operands(original->getOperands());
    operands.push_back(reshape->getResult(0));
    original->replaceAllUsesWith(copy.results);
    original->erase();
    eraseUnusedReshapes(operands);
    // Reshapes that only the original's other users needed.
    for (Operation *made : llvm::reverse(copy.made))
      if (made->use_empty())
        made->erase();
    std::optional<Plan> plan = planProducer(p, c);
    if (plan)
      merge(*plan);
    return true;
  }

  /// The result of a reshaped producer that is what `reshape` gave.
  static Value meetingValue(Operation *reshape, const ReshapedKernel &copy) {
    auto result = cast<OpResult>(reshape->getOperand(0));
    return copy.op->getResult(result.getResultNumber());
  }

  /// Carries out plans, the most valuable first, as far as earlier ones leave
  /// them possible; `again` plans anew for the same kernels.
  bool mergeBest(std::vector<Plan> &plans,
                 llvm::function_ref<std::optional<Plan>(const Plan &)> again) {
    llvm::stable_sort(plans, [](const Plan &a, const Plan &b) {
      return a.bytesSaved > b.bytesSaved;
    });
    // A new kernel may lie where an erased one was: it waits for the next round
    // like those that merged. So do plans of less value than one that waits:
    // they could make it impossible.
    llvm::SmallPtrSet<Operation *, 16> gone;
    int64_t waiting = 0;
    bool changed = false;
    for (const Plan &plan : plans) {
      if (plan.bytesSaved < waiting)
        break;
      if (gone.contains(plan.first) || gone.contains(plan.second)) {
        waiting = plan.bytesSaved;
        continue;
      }
      std::optional<Plan> current = again(plan);
      if (!current)
        continue;
      gone.insert(plan.first);
      gone.insert(plan.second);
      gone.insert(merge(*current));
      changed = true;
    }
    return changed;
  }

  /// How to merge `p` into its user `c`, if that is possible and worth it.
  std::optional<Plan> planProducer(Operation *p, Operation *c) {
    std::optional<Kernel> first = Kernel::get(p), second = Kernel::get(c);
    if (!first || !second || p->getBlock() != c->getBlock())
      return std::nullopt;
    Plan plan{p, c, {}, {}, 0};
    for (OpResult result : p->getResults())
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return user != c; }))
        plan.kept.push_back(result.getResultNumber());
    std::optional<Embedding> embedding = embed(*first, *second);
    if (!embedding || embedding->links.empty() ||
        usedBesideLinks(p, c, *embedding))
      return std::nullopt;
    // What is kept must still be written, all of it and once.
    if (!plan.kept.empty() &&
        (embedding->isPartial ||
         (!embedding->isWhole(embedding->first) &&
          !(second->isFolding() && embedding->isPerRow(embedding->first)))))
      return std::nullopt;
    if (!worthMerging(*first, *second, *embedding) || dependsIndirectly(p, c))
      return std::nullopt;
    plan.bytesSaved = bytesSaved(*first, *second);
    plan.embedding = std::move(*embedding);
    return plan;
  }

  /// How to merge two kernels that do not depend on each other.
  std::optional<Plan> planSiblings(Operation *a, Operation *b) {
    std::optional<Kernel> first = Kernel::get(a), second = Kernel::get(b);
    if (!first || !second || !mayPair(*first, *second))
      return std::nullopt;
    std::optional<Embedding> embedding = embed(*first, *second);
    if (!embedding || !embedding->links.empty())
      return std::nullopt; // without links it is not partial
    Pairing pairing = worthPairing(*first, *second, *embedding);
    if (pairing == Pairing::None || depends(a, b))
      return std::nullopt;
    // Tiny kernels are not worth the wait of those that use the first.
    if (pairing == Pairing::Tiny && !dependentsUpTo(a, b).empty())
      return std::nullopt;
    Plan plan{a, b, {}, {}, 0};
    for (unsigned i = 0; i < a->getNumResults(); ++i)
      plan.kept.push_back(i);
    plan.bytesSaved = bytesSaved(*first, *second);
    plan.embedding = std::move(*embedding);
    return plan;
  }

  /// Replaces both kernels by one at the place of the second.
  Operation *merge(const Plan &plan) {
    Operation *p = plan.first, *c = plan.second;
    LLVM_DEBUG(llvm::dbgs() << "merging " << *p << "\n  into " << *c
                            << "\n  saves " << plan.bytesSaved << " bytes\n");
    if (!plan.kept.empty())
      moveDependentsBehind(p, c);
    Operation *mergedOp = buildMerged(*Kernel::get(p), *Kernel::get(c),
                                      plan.embedding, plan.kept);
    for (auto [index, result] : llvm::enumerate(plan.kept))
      p->getResult(result).replaceUsesWithIf(
          mergedOp->getResult(index),
          [&](OpOperand &use) { return use.getOwner() != c; });
    c->replaceAllUsesWith(mergedOp->getResults().drop_front(plan.kept.size()));
    c->erase();
    p->erase();
    return mergedOp;
  }
};
} // namespace
