// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients of straight-line code, summed per value.

#include "bessemer/Dialect/Graph/IR/ReverseMode.h"
#include "llvm/Support/Debug.h"

#define DEBUG_TYPE "graph-differentiate"

using namespace mlir;
using namespace bessemer::graph;

void ReverseMode::spread(Operation &op) {
  if (llvm::none_of(op.getOperands(),
                    [&](Value operand) { return active.contains(operand); }))
    return;
  for (Value result : op.getResults())
    if (isa<FloatType>(getElementTypeOrSelf(result.getType())))
      active.insert(result);
}

void ReverseMode::add(Location loc, Value value, Value gradient) {
  assert(value.getType() == gradient.getType() &&
         "a gradient has the type of its value");
  Value &sum = gradients[value];
  sum = sum ? arith::AddFOp::create(builder, loc, sum, gradient).getResult()
            : gradient;
}

SmallVector<Value> ReverseMode::resultGradients(Operation &op) const {
  SmallVector<Value> result;
  for (Value value : op.getResults())
    result.push_back(gradients.lookup(value));
  return result;
}

LogicalResult ReverseMode::visit(Operation &op) {
  SmallVector<Value> given = resultGradients(op);
  if (llvm::none_of(given, [](Value value) { return !!value; }))
    return success();
  auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
  if (!differentiable)
    return op.emitError("'") << op.getName()
                             << "' has no gradient, but a trainable parameter "
                                "influences the loss through it";
  LLVM_DEBUG(llvm::dbgs() << "gradient of " << op << "\n");
  SmallVector<Value> operandGradients;
  if (failed(differentiable.buildGradient(builder, given, operandGradients)))
    return failure();
  assert(operandGradients.size() == op.getNumOperands() &&
         "one gradient per operand, null where none flows");
  for (auto [operand, gradient] :
       llvm::zip_equal(op.getOperands(), operandGradients))
    if (gradient && active.contains(operand))
      add(op.getLoc(), operand, gradient);
  return success();
}
