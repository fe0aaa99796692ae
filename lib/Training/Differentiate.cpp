// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reverse-mode differentiation of `@train_step`.

#include "Support.h"
#include "bessemer/Dialect/Graph/IR/ReverseMode.h"
#include "bessemer/Training/Passes.h"
#include "bessemer/Training/Training.h"

#define DEBUG_TYPE "graph-differentiate"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::training;

namespace {

/// Differentiates one scalar with respect to the trainable states of a block.
class ReversePass {
public:
  ReversePass(ModuleOp module, Block &block)
      : module(module), block(block), builder(block.getTerminator()),
        reverse(builder) {}

  /// Builds the gradients before the terminator.
  LogicalResult run(Value loss);

  /// The gradient of the loss with respect to `state`, or null.
  Value gradientOf(graph::StateOp state) const {
    return stateGradients.lookup(state.getSymNameAttr());
  }

private:
  /// Activates what depends on a trainable state.
  void findActiveValues();
  /// A state that is read several times gets the sum.
  void addToState(graph::ReadOp read);

  ModuleOp module;
  Block &block;
  OpBuilder builder;
  graph::ReverseMode reverse;
  DenseMap<StringAttr, Value> stateGradients;
};

} // namespace

void ReversePass::findActiveValues() {
  for (Operation &op : block) {
    if (auto read = dyn_cast<graph::ReadOp>(op)) {
      auto state = module.lookupSymbol<graph::StateOp>(read.getState());
      if (state && state.getTrainable())
        reverse.activate(read);
    }
    reverse.spread(op);
  }
}

void ReversePass::addToState(graph::ReadOp read) {
  Value gradient = reverse.gradientOf(read);
  if (!gradient)
    return;
  Value &sum = stateGradients[read.getStateAttr().getAttr()];
  sum = sum ? arith::AddFOp::create(builder, read.getLoc(), sum, gradient)
                  .getResult()
            : gradient;
}

LogicalResult ReversePass::run(Value loss) {
  findActiveValues();
  if (!reverse.isActive(loss))
    return success();
  // The ops of the forward pass, without the gradients built meanwhile.
  SmallVector<Operation *> forward;
  for (Operation &op : block.without_terminator())
    forward.push_back(&op);
  reverse.add(loss.getLoc(), loss,
              graph::buildSplat(builder, loss.getLoc(),
                                cast<RankedTensorType>(loss.getType()), 1.0));
  for (Operation *op : llvm::reverse(forward)) {
    if (llvm::none_of(op->getResults(),
                      [&](Value result) { return reverse.isActive(result); }))
      continue;
    if (auto read = dyn_cast<graph::ReadOp>(op))
      addToState(read);
    else if (failed(reverse.visit(*op)))
      return failure();
  }
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
  // They have said what they had to say.
  module.walk([](graph::StopGradientOp stop) {
    stop.replaceAllUsesWith(stop.getX());
    stop.erase();
  });
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
