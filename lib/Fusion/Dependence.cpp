// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Order and dependence of the ops of one block.

#include "Dependence.h"
#include "mlir/IR/Block.h"

using namespace mlir;
using namespace bessemer;

llvm::SetVector<Operation *> fusion::dependentsUpTo(Operation *first,
                                                    Operation *last) {
  llvm::SetVector<Operation *> dependents;
  if (!first->isBeforeInBlock(last))
    return dependents;
  for (Operation *op = first->getNextNode();; op = op->getNextNode()) {
    for (Value operand : op->getOperands()) {
      Operation *def = operand.getDefiningOp();
      if (def && (def == first || dependents.contains(def))) {
        dependents.insert(op);
        break;
      }
    }
    if (op == last)
      return dependents;
  }
}

bool fusion::dependsIndirectly(Operation *first, Operation *last) {
  llvm::SetVector<Operation *> dependents = dependentsUpTo(first, last);
  for (Value operand : last->getOperands()) {
    Operation *def = operand.getDefiningOp();
    if (def && def != first && dependents.contains(def))
      return true;
  }
  return false;
}

bool fusion::depends(Operation *first, Operation *last) {
  return dependentsUpTo(first, last).contains(last);
}

void fusion::moveDependentsBehind(Operation *first, Operation *last) {
  Operation *position = last;
  for (Operation *op : dependentsUpTo(first, last)) {
    if (op == last)
      continue;
    op->moveAfter(position);
    position = op;
  }
}
