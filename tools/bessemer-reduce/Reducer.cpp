// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The edits of bessemer-reduce.

#include "Reducer.h"
#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::reduce;

namespace {
class Reducer {
public:
  Reducer(ModuleOp module, Test isInteresting)
      : best(module.clone()), isInteresting(isInteresting) {}

  OwningOpRef<ModuleOp> run() {
    attempt([](ModuleOp) { return true; }); // what is unused already
    bool changed = true;
    while (changed) {
      changed = dropFunctions();
      changed |= dropResults();
      changed |= dropEffects();
      changed |= cutRanges();
      changed |= bypassOps();
    }
    return std::move(best);
  }

private:
  /// Edits a copy, and keeps it when the edit could be made, the module is
  /// valid and the test holds.
  bool attempt(llvm::function_ref<bool(ModuleOp)> edit) {
    OwningOpRef<ModuleOp> copy = best->clone();
    if (!edit(*copy))
      return false;
    dropUnused(*copy);
    ScopedDiagnosticHandler silence(best->getContext(),
                                    [](Diagnostic &) { return success(); });
    if (failed(verify(*copy)) || !isInteresting(*copy))
      return false;
    best = std::move(copy);
    return true;
  }

  static SmallVector<func::FuncOp> functionsOf(ModuleOp module) {
    return llvm::to_vector(module.getOps<func::FuncOp>());
  }

  size_t countFunctions() { return functionsOf(*best).size(); }

  /// Calls `edit` with the index of each function, last first, so that dropping
  /// one does not move the others.
  bool forEachFunction(llvm::function_ref<bool(size_t)> edit) {
    bool changed = false;
    for (size_t i = countFunctions(); i-- > 0;)
      changed |= edit(i);
    return changed;
  }

  bool dropFunctions() {
    return forEachFunction([&](size_t index) {
      return attempt([&](ModuleOp module) {
        functionsOf(module)[index].erase();
        return true;
      });
    });
  }

  bool dropResults() {
    return forEachFunction([&](size_t index) {
      bool changed = false;
      for (unsigned i = functionsOf(*best)[index].getNumResults(); i-- > 0;)
        changed |= attempt([&](ModuleOp module) {
          func::FuncOp function = functionsOf(module)[index];
          llvm::BitVector dropped(function.getNumResults());
          dropped.set(i);
          function.front().getTerminator()->eraseOperand(i);
          return succeeded(function.eraseResults(dropped));
        });
      return changed;
    });
  }

  /// Ops of the function's body but the terminator.
  static SmallVector<Operation *> opsOf(func::FuncOp function) {
    SmallVector<Operation *> ops;
    for (Operation &op : function.front().without_terminator())
      ops.push_back(&op);
    return ops;
  }

  /// Writes and whatever else gives no value.
  bool dropEffects() {
    return forEachFunction([&](size_t index) {
      bool changed = false;
      for (size_t i = opsOf(functionsOf(*best)[index]).size(); i-- > 0;) {
        SmallVector<Operation *> ops = opsOf(functionsOf(*best)[index]);
        if (i < ops.size() && ops[i]->getNumResults() == 0)
          changed |= attempt([&](ModuleOp module) {
            opsOf(functionsOf(module)[index])[i]->erase();
            return true;
          });
      }
      return changed;
    });
  }

  /// Makes what `ops` compute for others arguments of the function, in front of
  /// the step block, which is the last.
  static bool cut(func::FuncOp function, ArrayRef<Operation *> ops) {
    llvm::SmallPtrSet<Operation *, 16> inside(ops.begin(), ops.end());
    auto isOutside = [&](OpOperand &use) {
      return !inside.contains(
          function.front().findAncestorOpInBlock(*use.getOwner()));
    };
    Builder builder(function.getContext());
    for (Operation *op : ops)
      for (Value result : op->getResults()) {
        if (!llvm::any_of(result.getUses(), isOutside))
          continue;
        if (!isa<RankedTensorType>(result.getType()))
          return false;
        std::string name = "cut" + std::to_string(function.getNumArguments());
        if (failed(function.insertArgument(
                0, result.getType(),
                builder.getDictionaryAttr(builder.getNamedAttr(
                    graph::kNameAttr, builder.getStringAttr(name))),
                result.getLoc())))
          return false;
        result.replaceUsesWithIf(function.getArgument(0), isOutside);
      }
    for (Operation *op : llvm::reverse(ops))
      op->erase();
    return true;
  }

  bool cutRanges() {
    return forEachFunction([&](size_t index) {
      bool changed = false;
      size_t size = opsOf(functionsOf(*best)[index]).size();
      for (; size > 0; size /= 2)
        for (size_t begin = 0;;) {
          SmallVector<Operation *> ops = opsOf(functionsOf(*best)[index]);
          if (begin >= ops.size())
            break;
          size_t end = std::min(begin + size, ops.size());
          bool done = attempt([&](ModuleOp module) {
            func::FuncOp function = functionsOf(module)[index];
            return cut(function,
                       ArrayRef(opsOf(function)).slice(begin, end - begin));
          });
          changed |= done;
          if (!done)
            begin = end;
        }
      return changed;
    });
  }

  /// All ops with regions' ops, in order.
  static SmallVector<Operation *> allOps(ModuleOp module) {
    SmallVector<Operation *> ops;
    module.walk([&](Operation *op) {
      if (op->getNumResults() == 1 && op->getNumOperands() > 0)
        ops.push_back(op);
    });
    return ops;
  }

  /// Replaces the result of an op by an operand of its type.
  bool bypassOps() {
    bool changed = false;
    for (size_t i = allOps(*best).size(); i-- > 0;) {
      SmallVector<Operation *> ops = allOps(*best);
      if (i >= ops.size())
        continue;
      for (unsigned operand = 0; operand < ops[i]->getNumOperands(); ++operand)
        if (attempt([&](ModuleOp module) {
              Operation *op = allOps(module)[i];
              Value value = op->getOperand(operand);
              if (value.getType() != op->getResult(0).getType())
                return false;
              op->getResult(0).replaceAllUsesWith(value);
              op->erase();
              return true;
            })) {
          changed = true;
          break;
        }
    }
    return changed;
  }

  /// Erases dead ops, arguments but the step block, and states.
  static void dropUnused(ModuleOp module) {
    for (func::FuncOp function : functionsOf(module)) {
      function.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
        if (isOpTriviallyDead(op))
          op->erase();
      });
      llvm::BitVector unused(function.getNumArguments());
      for (BlockArgument argument : function.getArguments())
        if (argument.use_empty() && !isa<graph::StepType>(argument.getType()))
          unused.set(argument.getArgNumber());
      (void)function.eraseArguments(unused);
    }
    for (auto state :
         llvm::make_early_inc_range(module.getOps<graph::StateOp>()))
      if (SymbolTable::symbolKnownUseEmpty(state, module))
        state.erase();
  }

  OwningOpRef<ModuleOp> best;
  Test isInteresting;
};
} // namespace

OwningOpRef<ModuleOp> reduce::reduceModule(ModuleOp module,
                                           Test isInteresting) {
  return Reducer(module, isInteresting).run();
}
