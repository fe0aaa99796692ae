// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kern-fuse pass: greedy, deterministic merging of kernels.

#include "CostModel.h"
#include "Dependence.h"
#include "Kernel.h"
#include "bessemer/Fusion/Passes.h"
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
  llvm::sort(sorted, [](Operation *a, Operation *b) {
    return a->isBeforeInBlock(b);
  });
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

struct KernFuse : bessemer::impl::KernFuseBase<KernFuse> {
  void runOnOperation() override {
    for (Block &block : getOperation().getBody()) {
      dropAllUnused(block);
      bool changed = true;
      while (changed) {
        // What is cheap goes everywhere first, so that no comparison or
        // broadcast is stored; then chains; then what makes a kernel write an
        // intermediate value that others need as well; then siblings.
        changed = duplicateCheapProducers(block);
        changed |= mergeProducers(block, /*keepResults=*/false);
        if (changed)
          continue;
        changed = mergeProducers(block, /*keepResults=*/true);
        if (!changed)
          changed = mergeSiblings(block);
      }
    }
  }

  void dropAllUnused(Block &block) {
    for (Operation &op :
         llvm::make_early_inc_range(llvm::reverse(block)))
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
      duplicated += users.size() - 1;
      ++merged;
      next = op->getNextNode(); // a user may have been next
      op->erase();
      changed = true;
    }
    return changed;
  }

  /// Merges producers into consumers. With `keepResults`, also those whose
  /// results others use too: the merged kernel yields them.
  bool mergeProducers(Block &block, bool keepResults) {
    bool changed = false;
    for (Operation *op = &block.front(); op;) {
      Operation *mergedOp = nullptr;
      if (Kernel::get(op))
        for (Value operand : op->getOperands()) {
          Operation *producer = operand.getDefiningOp();
          if (producer && producer->getBlock() == &block &&
              (mergedOp = mergePair(producer, op, keepResults)))
            break;
        }
      changed |= mergedOp != nullptr;
      // A merged kernel may take further producers.
      op = mergedOp ? mergedOp : op->getNextNode();
    }
    return changed;
  }

  /// Merges `p` into its user `c`. Returns the merged kernel, or null.
  Operation *mergePair(Operation *p, Operation *c, bool keepResults) {
    std::optional<Kernel> first = Kernel::get(p), second = Kernel::get(c);
    if (!first || !second)
      return nullptr;
    SmallVector<unsigned> kept;
    for (OpResult result : p->getResults())
      if (llvm::any_of(result.getUsers(),
                       [&](Operation *user) { return user != c; }))
        kept.push_back(result.getResultNumber());
    if (!kept.empty() && !keepResults)
      return nullptr;
    std::optional<Embedding> embedding = embed(*first, *second);
    if (!embedding || embedding->links.empty() ||
        usedBesideLinks(p, c, *embedding))
      return nullptr;
    // What is kept must still be written once.
    if (!kept.empty() && !embedding->isWhole(embedding->first) &&
        !(second->isFolding() && embedding->isPerRow(embedding->first)))
      return nullptr;
    if (!worthMerging(*first, *second, *embedding) || dependsIndirectly(p, c))
      return nullptr;
    return merge(*first, *second, *embedding, kept);
  }

  /// Replaces both kernels by one at the place of the second.
  Operation *merge(const Kernel &first, const Kernel &second,
                   const Embedding &embedding, ArrayRef<unsigned> kept) {
    Operation *p = first.getOperation(), *c = second.getOperation();
    LLVM_DEBUG(llvm::dbgs() << "merging " << *p << "\n  into " << *c << "\n");
    if (!kept.empty())
      moveDependentsBehind(p, c);
    Operation *mergedOp = buildMerged(first, second, embedding, kept);
    for (auto [index, result] : llvm::enumerate(kept))
      p->getResult(result).replaceUsesWithIf(
          mergedOp->getResult(index),
          [&](OpOperand &use) { return use.getOwner() != c; });
    c->replaceAllUsesWith(mergedOp->getResults().drop_front(kept.size()));
    c->erase();
    p->erase();
    ++merged;
    return mergedOp;
  }

  /// Merges independent kernels that read the same tensor.
  bool mergeSiblings(Block &block) {
    bool changed = false;
    for (Operation *op = &block.front(); op;) {
      Operation *mergedOp = nullptr;
      for (Operation *other = op->getNextNode(); other && Kernel::get(op);
           other = other->getNextNode()) {
        std::optional<Kernel> first = Kernel::get(op),
                              second = Kernel::get(other);
        if (!second || first->isFolding() != second->isFolding())
          continue;
        std::optional<Embedding> embedding = embed(*first, *second);
        if (!embedding || !embedding->links.empty() ||
            !worthPairing(*first, *second, *embedding) || depends(op, other))
          continue;
        auto kept = llvm::to_vector(
            llvm::seq<unsigned>(0, op->getNumResults()));
        mergedOp = merge(*first, *second, *embedding, kept);
        break;
      }
      changed |= mergedOp != nullptr;
      op = mergedOp ? mergedOp : op->getNextNode();
    }
    return changed;
  }
};
} // namespace
