// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The gradient of graph.scan: a scan in the other direction.
//
// Its body starts as a copy of the forward body followed by the gradients of
// the copied ops. What of the copy is needed is then either computed again,
// when that is cheap, or replaced by a value that the forward scan puts out.

#include "bessemer/Dialect/Graph/IR/ReverseMode.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace bessemer::graph;

static bool isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

/// Ops that cost less than reading their result from memory would.
static bool isCheap(Operation *op) {
  if (isa<arith::DivFOp, arith::RemFOp>(op))
    return false;
  return isa<arith::ArithDialect>(op->getDialect()) ||
         isa<BroadcastOp, IotaOp, SliceOp, StepValueOp, tensor::CollapseShapeOp,
             tensor::ExpandShapeOp>(op);
}

namespace {
/// A product with an invariant, to be differentiated after the loop.
struct DeferredProduct {
  /// In the forward body.
  ContractOp product;
  /// Which operand is the invariant, and its number.
  unsigned operand, invariant;
  /// The gradient of the product, and the copy of the other operand.
  Value gradient, other;
};

class ScanGradient {
public:
  ScanGradient(ScanOp scan, OpBuilder &builder)
      : scan(scan), builder(builder), loc(scan.getLoc()), inner(builder) {}

  LogicalResult run(ValueRange resultGradients,
                    SmallVectorImpl<Value> &operandGradients);

private:
  /// Arguments of the new body by what they are; the final order comes last.
  struct Argument {
    BlockArgument argument;
    /// The operand of the new scan.
    Value operand;
  };
  BlockArgument addArgument(SmallVectorImpl<Argument> &list, Type type,
                            Value operand);

  void copyBody(ValueRange resultGradients);
  LogicalResult differentiate();
  /// Whether the gradient of an invariant through `op` can wait.
  std::optional<DeferredProduct> defer(Operation &original, Operation &copy);
  /// Decides which copies stay, and replaces the others by what is saved.
  void chooseSaved();
  void eraseUnusedCopies();
  /// A product's other operand that is a sequence need not be put out again.
  Value findStack(Value element) const;
  /// Replaces the scan by one that also puts out what is saved.
  void buildForward();
  /// The gradient of an invariant through a product, from the stacks of all
  /// steps.
  Value productGradient(const DeferredProduct &product, Value dyStack,
                        Value otherStack);

  ScanOp scan;
  OpBuilder &builder;
  Location loc;

  /// The body under construction, and the builder in it.
  Region region;
  Block *body = nullptr;
  OpBuilder inner;
  std::optional<ReverseMode> reverse;
  IRMapping mapping;
  /// The forward body's ops and their copies.
  SmallVector<Operation *> originals, copies;
  /// Arguments that stand for the forward body's.
  SmallVector<BlockArgument> oldCarried;
  SmallVector<Argument> gradientsIn, sums, sequences, invariants;
  SmallVector<DeferredProduct> deferred;
  /// Values of the forward body that it must put out: the results of the scan
  /// that has them.
  llvm::SmallSetVector<Value, 8> saved;
  /// What the new body yields: carried values in the order of gradientsIn and
  /// sums, then outputs.
  SmallVector<Value> yieldedCarried, yieldedOutputs;
};
} // namespace

BlockArgument ScanGradient::addArgument(SmallVectorImpl<Argument> &list,
                                        Type type, Value operand) {
  BlockArgument argument = body->addArgument(type, loc);
  list.push_back({argument, operand});
  return argument;
}

void ScanGradient::copyBody(ValueRange resultGradients) {
  body = &region.emplaceBlock();
  inner.setInsertionPointToEnd(body);
  for (BlockArgument argument : scan.getCarriedArguments()) {
    oldCarried.push_back(body->addArgument(argument.getType(), loc));
    mapping.map(argument, oldCarried.back());
  }
  for (auto [argument, operand] :
       llvm::zip_equal(scan.getSequenceArguments(), scan.getSequences()))
    mapping.map(argument, addArgument(sequences, argument.getType(), operand));
  for (auto [argument, operand] :
       llvm::zip_equal(scan.getInvariantArguments(), scan.getInvariants()))
    mapping.map(argument, addArgument(invariants, argument.getType(), operand));
  for (Operation &op : scan.getBlock().without_terminator()) {
    originals.push_back(&op);
    copies.push_back(inner.clone(op, mapping));
  }

  reverse.emplace(inner);
  for (BlockArgument argument : body->getArguments())
    if (isFloat(argument))
      reverse->activate(argument);
  for (Operation *copy : copies)
    reverse->spread(*copy);
  // What flows in from later iterations and from the outputs' users.
  for (auto [index, value] : llvm::enumerate(scan.getYieldedCarried())) {
    if (!isFloat(value))
      continue;
    Value initial = resultGradients[index];
    if (!initial)
      initial = buildSplat(builder, loc,
                           cast<RankedTensorType>(value.getType()), 0.0);
    reverse->add(loc, mapping.lookup(value),
                 addArgument(gradientsIn, value.getType(), initial));
  }
  for (auto [value, gradient] :
       llvm::zip_equal(scan.getYieldedOutputs(),
                       resultGradients.drop_front(scan.getNumCarried())))
    if (gradient)
      reverse->add(loc, mapping.lookup(value),
                   addArgument(sequences, value.getType(), gradient));
}

std::optional<DeferredProduct> ScanGradient::defer(Operation &original,
                                                   Operation &copy) {
  auto contract = dyn_cast<ContractOp>(copy);
  Value gradient =
      contract ? reverse->gradientOf(contract.getResult()) : Value();
  if (!gradient)
    return std::nullopt;
  auto invariantOf = [&](Value value) {
    return llvm::find_if(
               invariants,
               [&](const Argument &entry) { return entry.argument == value; }) -
           invariants.begin();
  };
  auto count = static_cast<int64_t>(invariants.size());
  int64_t left = invariantOf(contract.getLhs());
  int64_t right = invariantOf(contract.getRhs());
  // Both would need a stack of an invariant; neither is an ordinary product.
  if ((left < count) == (right < count))
    return std::nullopt;
  bool isRight = right < count;
  return DeferredProduct{cast<ContractOp>(original), isRight ? 1u : 0u,
                         static_cast<unsigned>(isRight ? right : left),
                         gradient,
                         isRight ? contract.getLhs() : contract.getRhs()};
}

LogicalResult ScanGradient::differentiate() {
  for (auto [original, copy] :
       llvm::reverse(llvm::zip_equal(originals, copies))) {
    if (llvm::none_of(copy->getResults(),
                      [&](Value result) { return reverse->isActive(result); }))
      continue;
    std::optional<DeferredProduct> product = defer(*original, *copy);
    if (!product) {
      if (failed(reverse->visit(*copy)))
        return failure();
      continue;
    }
    SmallVector<Value> operandGradients;
    if (failed(cast<ContractOp>(copy).buildGradient(inner, {product->gradient},
                                                    operandGradients)))
      return failure();
    if (reverse->isActive(product->other))
      reverse->add(loc, product->other, operandGradients[1 - product->operand]);
    deferred.push_back(*product);
  }

  auto gradientOrZero = [&](Value value) {
    if (Value gradient = reverse->gradientOf(value))
      return gradient;
    return buildSplat(inner, loc, cast<RankedTensorType>(value.getType()), 0.0);
  };
  for (BlockArgument argument : oldCarried)
    if (isFloat(argument))
      yieldedCarried.push_back(gradientOrZero(argument));
  for (const Argument &entry : invariants) {
    Value gradient = reverse->gradientOf(entry.argument);
    if (!gradient)
      continue;
    auto type = cast<RankedTensorType>(gradient.getType());
    BlockArgument sum =
        addArgument(sums, type, buildSplat(builder, loc, type, 0.0));
    yieldedCarried.push_back(arith::AddFOp::create(inner, loc, sum, gradient));
  }
  for (unsigned index = 0; index < scan.getSequences().size(); ++index)
    if (isFloat(sequences[index].argument))
      yieldedOutputs.push_back(gradientOrZero(sequences[index].argument));
  for (const DeferredProduct &product : deferred) {
    yieldedOutputs.push_back(product.gradient);
    yieldedOutputs.push_back(product.other);
  }
  SmallVector<Value> yielded(yieldedCarried);
  llvm::append_range(yielded, yieldedOutputs);
  YieldOp::create(inner, loc, yielded);
  return success();
}

void ScanGradient::eraseUnusedCopies() {
  for (Operation *&copy : llvm::reverse(copies))
    if (isOpTriviallyDead(copy)) {
      copy->erase();
      copy = nullptr;
    }
  llvm::erase_if(copies, [](Operation *copy) { return copy == nullptr; });
}

void ScanGradient::chooseSaved() {
  // Gradients built for operands that need none keep copies alive.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*body)))
    if (!llvm::is_contained(copies, &op) && isOpTriviallyDead(&op))
      op.erase();
  eraseUnusedCopies();
  llvm::SmallPtrSet<Operation *, 32> isCopy(copies.begin(), copies.end());
  llvm::DenseSet<Value> available;
  for (const auto *list : {&sequences, &invariants})
    for (const Argument &entry : *list)
      available.insert(entry.argument);

  // Forward values by their copies.
  llvm::DenseMap<Value, Value> originalOf;
  for (auto [original, copy] : mapping.getValueMap())
    originalOf[copy] = original;
  SmallVector<std::pair<Value, Value>> replaced;
  auto save = [&](Value copy) {
    saved.insert(originalOf.lookup(copy));
    available.insert(copy);
    replaced.push_back({copy, originalOf.lookup(copy)});
  };
  for (BlockArgument argument : oldCarried)
    if (!argument.use_empty())
      save(argument);
  for (Operation *copy : copies) {
    bool again =
        isCheap(copy) && llvm::all_of(copy->getOperands(), [&](Value operand) {
          return available.contains(operand);
        });
    for (Value result : copy->getResults()) {
      bool demanded = llvm::any_of(result.getUsers(), [&](Operation *user) {
        return !isCopy.contains(user);
      });
      if (again)
        available.insert(result);
      else if (demanded)
        save(result);
    }
  }
  for (auto [copy, original] : replaced)
    copy.replaceAllUsesWith(
        addArgument(sequences, original.getType(), Value()));
  eraseUnusedCopies();
}

void ScanGradient::buildForward() {
  SmallVector<Type> types(scan.getResultTypes());
  for (Value value : saved)
    types.push_back(scan.stackOf(value.getType()));
  builder.setInsertionPointAfter(scan);
  auto forward = ScanOp::create(builder, loc, types, scan.getLength(),
                                scan.getReverse(), scan.getInits(),
                                scan.getSequences(), scan.getInvariants());
  IRMapping bodyMapping;
  scan.getBody().cloneInto(&forward.getBody(), bodyMapping);
  Operation *yield = forward.getBlock().getTerminator();
  SmallVector<Value> values(yield->getOperands());
  for (Value value : saved)
    values.push_back(bodyMapping.lookup(value));
  yield->setOperands(values);
  scan->replaceAllUsesWith(
      forward.getResults().take_front(scan.getNumResults()));

  unsigned firstSaved = sequences.size() - saved.size();
  for (unsigned index = 0; index < saved.size(); ++index)
    sequences[firstSaved + index].operand =
        forward.getResult(scan.getNumResults() + index);
}

Value ScanGradient::findStack(Value element) const {
  for (const Argument &entry : sequences)
    if (entry.argument == element)
      return entry.operand;
  return {};
}

Value ScanGradient::productGradient(const DeferredProduct &product,
                                    Value dyStack, Value otherStack) {
  ContractOp step = product.product;
  Value invariant = invariants[product.invariant].operand;
  auto shifted = [](ArrayRef<int64_t> dims) {
    SmallVector<int64_t> result;
    for (int64_t dim : dims)
      result.push_back(dim + 1);
    return result;
  };
  // The product over all steps at once: the step is one more free dimension of
  // the other operand.
  bool isRight = product.operand == 1;
  SmallVector<int64_t> lhsBatch(step.getLhsBatch()),
      rhsBatch(step.getRhsBatch()), lhsContract(step.getLhsContract()),
      rhsContract(step.getRhsContract());
  if (isRight) {
    lhsBatch = shifted(lhsBatch);
    lhsContract = shifted(lhsContract);
  } else {
    rhsBatch = shifted(rhsBatch);
    rhsContract = shifted(rhsContract);
  }
  auto whole =
      ContractOp::create(builder, loc, isRight ? otherStack : invariant,
                         isRight ? invariant : otherStack, lhsBatch, rhsBatch,
                         lhsContract, rhsContract);
  // Where the step is among the result's dimensions.
  int64_t position = lhsBatch.size();
  if (!isRight)
    position += cast<RankedTensorType>(invariant.getType()).getRank() -
                static_cast<int64_t>(lhsBatch.size() + lhsContract.size());
  if (position != 0) {
    SmallVector<int64_t> permutation;
    for (int64_t dim = 1; dim <= position; ++dim)
      permutation.push_back(dim);
    permutation.push_back(0);
    int64_t rank = cast<RankedTensorType>(dyStack.getType()).getRank();
    for (int64_t dim = position + 1; dim < rank; ++dim)
      permutation.push_back(dim);
    dyStack = TransposeOp::create(builder, loc, whole.getType(), dyStack,
                                  permutation);
  }
  SmallVector<Value> gradients;
  (void)whole.buildGradient(builder, {dyStack}, gradients);
  return gradients[product.operand];
}

LogicalResult ScanGradient::run(ValueRange resultGradients,
                                SmallVectorImpl<Value> &operandGradients) {
  OpBuilder::InsertionGuard guard(builder);
  copyBody(resultGradients);
  if (failed(differentiate()))
    return failure();
  unsigned ownSequences = scan.getSequences().size();
  chooseSaved();
  OpBuilder::InsertPoint here = builder.saveInsertionPoint();
  buildForward();
  builder.restoreInsertionPoint(here);

  // Saving may have replaced what the body yields.
  auto yield = cast<YieldOp>(body->getTerminator());
  SmallVector<Value> yielded(yield.getValues());
  size_t firstOther =
      yieldedCarried.size() + yieldedOutputs.size() - 2 * deferred.size();
  SmallVector<Value> otherStacks;
  SmallVector<Value> kept(yielded.begin(), yielded.begin() + firstOther);
  for (size_t index = firstOther; index < yielded.size(); index += 2) {
    kept.push_back(yielded[index]);
    Value stack = findStack(yielded[index + 1]);
    otherStacks.push_back(stack);
    if (!stack)
      kept.push_back(yielded[index + 1]);
  }
  yield->setOperands(kept);

  SmallVector<Value> inits, sequenceOperands, invariantOperands;
  SmallVector<BlockArgument> order;
  auto append = [&](ArrayRef<Argument> list, SmallVectorImpl<Value> &operands,
                    bool keepUnused) {
    for (const Argument &entry : list)
      if (keepUnused || !entry.argument.use_empty()) {
        operands.push_back(entry.operand);
        order.push_back(entry.argument);
      }
  };
  append(gradientsIn, inits, true);
  append(sums, inits, true);
  append(sequences, sequenceOperands, false);
  append(invariants, invariantOperands, false);

  SmallVector<Type> types(ValueRange(inits).getTypes());
  for (Value value : ArrayRef(kept).drop_front(yieldedCarried.size()))
    types.push_back(scan.stackOf(value.getType()));
  auto backward =
      ScanOp::create(builder, loc, types, scan.getLength(), !scan.getReverse(),
                     inits, sequenceOperands, invariantOperands);
  Block &block = backward.getBody().emplaceBlock();
  for (BlockArgument argument : order)
    argument.replaceAllUsesWith(
        block.addArgument(argument.getType(), argument.getLoc()));
  block.getOperations().splice(block.end(), body->getOperations());

  // Results in the order in which they were yielded.
  ResultRange results = backward.getResults();
  auto next = [&] {
    Value result = results.front();
    results = results.drop_front();
    return result;
  };
  for (Value init : scan.getInits())
    operandGradients.push_back(isFloat(init) ? next() : Value());
  SmallVector<Value> invariantGradients;
  for (const Argument &entry : invariants)
    invariantGradients.push_back(reverse->gradientOf(entry.argument) ? next()
                                                                     : Value());
  for (unsigned index = 0; index < ownSequences; ++index)
    operandGradients.push_back(isFloat(scan.getSequences()[index]) ? next()
                                                                   : Value());
  for (auto [product, otherStack] : llvm::zip_equal(deferred, otherStacks)) {
    Value dyStack = next();
    Value gradient =
        productGradient(product, dyStack, otherStack ? otherStack : next());
    Value &sum = invariantGradients[product.invariant];
    sum = sum ? arith::AddFOp::create(builder, loc, sum, gradient).getResult()
              : gradient;
  }
  llvm::append_range(operandGradients, invariantGradients);
  return success();
}

LogicalResult ScanOp::buildGradient(OpBuilder &builder,
                                    ValueRange resultGradients,
                                    SmallVectorImpl<Value> &operandGradients) {
  return ScanGradient(*this, builder).run(resultGradients, operandGradients);
}
