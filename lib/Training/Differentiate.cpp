// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reverse-mode differentiation of `@train_step`.

#include "Support.h"
#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "bessemer/Training/Passes.h"
#include "bessemer/Training/Training.h"
#include "llvm/Support/Debug.h"

#define DEBUG_TYPE "graph-differentiate"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::training;

namespace {

/// Differentiates one scalar with respect to the trainable states of a block.
class ReversePass {
public:
  ReversePass(ModuleOp module, Block &block) : module(module), block(block) {}

  /// Builds the gradients before the terminator.
  LogicalResult run(Value loss);

  /// The gradient of the loss with respect to `state`, or null.
  Value gradientOf(graph::StateOp state) const {
    return stateGradients.lookup(state.getSymNameAttr());
  }

private:
  void findActiveValues();
  void accumulate(OpBuilder &builder, Location loc, Value value,
                  Value gradient);
  LogicalResult visit(OpBuilder &builder, Operation &op);

  ModuleOp module;
  Block &block;
  /// Float values that depend on a trainable state.
  llvm::DenseSet<Value> active;
  DenseMap<Value, Value> gradients;
  DenseMap<StringAttr, Value> stateGradients;
};

} // namespace

void ReversePass::findActiveValues() {
  for (Operation &op : block) {
    bool isActive = llvm::any_of(op.getOperands(), [&](Value operand) {
      return active.contains(operand);
    });
    if (auto read = dyn_cast<graph::ReadOp>(op)) {
      auto state = module.lookupSymbol<graph::StateOp>(read.getState());
      isActive = state && state.getTrainable();
    }
    if (!isActive)
      continue;
    for (Value result : op.getResults())
      if (isa<FloatType>(getElementTypeOrSelf(result.getType())))
        active.insert(result);
  }
}

void ReversePass::accumulate(OpBuilder &builder, Location loc, Value value,
                             Value gradient) {
  assert(value.getType() == gradient.getType() &&
         "a gradient has the type of its value");
  Value &sum = gradients[value];
  sum = sum ? arith::AddFOp::create(builder, loc, sum, gradient).getResult()
            : gradient;
}

LogicalResult ReversePass::visit(OpBuilder &builder, Operation &op) {
  SmallVector<Value> resultGradients;
  for (Value result : op.getResults())
    resultGradients.push_back(gradients.lookup(result));
  if (llvm::none_of(resultGradients, [](Value value) { return !!value; }))
    return success();

  if (auto read = dyn_cast<graph::ReadOp>(op)) {
    // A state that is read several times gets the sum.
    Value &sum = stateGradients[read.getStateAttr().getAttr()];
    sum = sum ? arith::AddFOp::create(builder, op.getLoc(), sum,
                                      resultGradients[0])
                    .getResult()
              : resultGradients[0];
    return success();
  }
  auto differentiable = dyn_cast<graph::DifferentiableOpInterface>(op);
  if (!differentiable)
    return op.emitError("'") << op.getName()
                             << "' has no gradient, but a trainable parameter "
                                "influences the loss through it";
  LLVM_DEBUG(llvm::dbgs() << "gradient of " << op << "\n");
  SmallVector<Value> operandGradients;
  if (failed(differentiable.buildGradient(builder, resultGradients,
                                          operandGradients)))
    return failure();
  assert(operandGradients.size() == op.getNumOperands() &&
         "one gradient per operand, null where none flows");
  for (auto [operand, gradient] :
       llvm::zip_equal(op.getOperands(), operandGradients))
    if (gradient && active.contains(operand))
      accumulate(builder, op.getLoc(), operand, gradient);
  return success();
}

LogicalResult ReversePass::run(Value loss) {
  findActiveValues();
  Operation *terminator = block.getTerminator();
  OpBuilder builder(terminator);
  if (!active.contains(loss))
    return success();
  gradients[loss] = graph::buildSplat(
      builder, loss.getLoc(), cast<RankedTensorType>(loss.getType()), 1.0);
  // The ops of the forward pass, without the gradients built meanwhile.
  SmallVector<Operation *> forward;
  for (Operation &op : block.without_terminator())
    forward.push_back(&op);
  forward.pop_back(); // the constant above
  for (Operation *op : llvm::reverse(forward))
    if (llvm::any_of(op->getResults(),
                     [&](Value result) { return active.contains(result); }))
      if (failed(visit(builder, *op)))
        return failure();
  return success();
}

LogicalResult bessemer::differentiate(ModuleOp module) {
  auto function = module.lookupSymbol<func::FuncOp>("train_step");
  if (!function || !function.getBody().hasOneBlock())
    return module.emitError("expected a function @train_step");
  Block &block = function.front();
  auto terminator = cast<func::ReturnOp>(block.getTerminator());
  if (terminator.getNumOperands() == 0)
    return function.emitError("expected @train_step to return the loss");
  Value loss = terminator.getOperand(0);
  auto lossType = dyn_cast<RankedTensorType>(loss.getType());
  if (!lossType || lossType.getRank() != 0 ||
      !isa<FloatType>(lossType.getElementType()))
    return function.emitError(
               "expected @train_step to return a float scalar first, got ")
           << loss.getType();

  ReversePass reverse(module, block);
  if (failed(reverse.run(loss)))
    return failure();

  Builder builder(module.getContext());
  SmallVector<Value> results(terminator.getOperands());
  SmallVector<Attribute> attributes;
  for (unsigned index = 0; index < function.getNumResults(); ++index)
    attributes.push_back(builder.getDictionaryAttr(
        function_interface_impl::getResultAttrs(function, index)));
  bool any = false;
  for (graph::StateOp state : module.getOps<graph::StateOp>()) {
    if (!state.getTrainable())
      continue;
    Value gradient = reverse.gradientOf(state);
    if (!gradient) {
      state.emitWarning() << "parameter '" << state.getSymName()
                          << "' does not influence the loss: it is not trained";
      continue;
    }
    any = true;
    results.push_back(gradient);
    attributes.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
        kGradientAttr, FlatSymbolRefAttr::get(state.getSymNameAttr()))));
  }
  if (!any)
    return function.emitError(
        "the loss depends on no trainable parameter: nothing to train");
  terminator->setOperands(results);
  function.setType(builder.getFunctionType(function.getArgumentTypes(),
                                           TypeRange(ValueRange(results))));
  function.setResAttrsAttr(builder.getArrayAttr(attributes));
  eraseDeadOps(block);
  return success();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace bessemer {
#define GEN_PASS_DEF_GRAPHDIFFERENTIATE
#include "bessemer/Training/Passes.h.inc"
} // namespace bessemer

namespace {
struct GraphDifferentiate
    : bessemer::impl::GraphDifferentiateBase<GraphDifferentiate> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(differentiate(getOperation())))
      signalPassFailure();
  }
};
} // namespace
