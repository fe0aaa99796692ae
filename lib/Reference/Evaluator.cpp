// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks a function and keeps the values that later ops still need.

#include "bessemer/Reference/Evaluator.h"
#include "Operations.h"
#include "bessemer/Dialect/Kern/IR/Kern.h"
#include "bessemer/Reference/Memo.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OwningOpRef.h"

using namespace mlir;

namespace bessemer::reference {
namespace {

class Evaluator {
public:
  Evaluator(const States &states, const StepBlock &step,
            const EvaluatorOptions &options)
      : states(states), step(step), options(options) {}

  void bind(Value value, Tensor tensor) {
    values.emplace(value, std::make_unique<Tensor>(std::move(tensor)));
  }

  /// Evaluates the ops of `block` from `first` to its end or terminator.
  LogicalResult run(Block &block, Block::iterator first);

  const Tensor *lookup(Value value) const {
    auto found = values.find(value);
    return found == values.end() ? nullptr : found->second.get();
  }

  States written;

private:
  LogicalResult evaluate(Operation &op);
  LogicalResult expand(Operation &op, Operands operands);
  Results evaluateAlone(Operation &op, Operands operands);
  LogicalResult evaluateState(Operation &op, bool &isState);
  LogicalResult evaluateScan(graph::ScanOp scan, Operands operands);
  void set(Operation &op, std::vector<Tensor> results);

  struct Less {
    bool operator()(Value a, Value b) const {
      return a.getAsOpaquePointer() < b.getAsOpaquePointer();
    }
  };
  std::map<Value, std::unique_ptr<Tensor>, Less> values;
  const States &states;
  const StepBlock &step;
  const EvaluatorOptions &options;
};

} // namespace

void Evaluator::set(Operation &op, std::vector<Tensor> results) {
  for (auto [value, tensor] : llvm::zip_equal(op.getResults(), results)) {
    assert(value.getType() == tensor.type);
    if (options.round && tensor.isFloat()) {
      auto type = cast<FloatType>(tensor.type.getElementType());
      for (double &element : tensor.floats)
        element = roundTo(type, element);
    }
    if (options.onValue)
      options.onValue(value, tensor);
    bind(value, std::move(tensor));
  }
}

/// graph.read and graph.write.
LogicalResult Evaluator::evaluateState(Operation &op, bool &isState) {
  isState = true;
  if (auto read = dyn_cast<graph::ReadOp>(op)) {
    auto state = states.find(read.getState().str());
    if (state == states.end())
      return op.emitError() << "state '" << read.getState()
                            << "' has no value to evaluate with";
    if (state->second.type != read.getType())
      return op.emitError()
             << "state '" << read.getState() << "' is " << read.getType()
             << ", got a value of type " << state->second.type;
    set(op, {state->second});
    return success();
  }
  if (auto write = dyn_cast<graph::WriteOp>(op)) {
    written.insert_or_assign(write.getState().str(), *lookup(write.getValue()));
    return success();
  }
  isState = false;
  return success();
}

/// The simpler ops that compute the same as a kern op or a composite.
static FailureOr<SmallVector<Value>> buildExpansion(Operation *op,
                                                    OpBuilder &builder) {
  if (auto kernel = dyn_cast<kern::KernelOpInterface>(op))
    return kernel.expand(builder);
  return cast<graph::DecomposableOpInterface>(op).decompose(builder);
}

/// Evaluates an op as the simpler ops it expands to.
LogicalResult Evaluator::expand(Operation &op, Operands operands) {
  OpBuilder builder(op.getContext());
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(op.getLoc());
  builder.setInsertionPointToStart(scratch->getBody());
  auto function = func::FuncOp::create(
      builder, op.getLoc(), "expansion",
      builder.getFunctionType(op.getOperandTypes(), op.getResultTypes()));
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToStart(block);
  IRMapping mapping;
  for (auto [operand, argument] :
       llvm::zip_equal(op.getOperands(), block->getArguments()))
    mapping.map(operand, argument);
  // Operands that occur twice are bound to the last argument, by value equal.
  Operation *clone = builder.clone(op, mapping);
  FailureOr<SmallVector<Value>> results = buildExpansion(clone, builder);
  if (failed(results))
    return op.emitError() << "'" << op.getName()
                          << "' has no expansion to evaluate";
  func::ReturnOp::create(builder, op.getLoc(), *results);

  EvaluatorOptions innerOptions = options;
  innerOptions.onValue = nullptr;
  Evaluator inner(states, step, innerOptions);
  for (auto [argument, operand] :
       llvm::zip_equal(block->getArguments(), operands))
    if (operand)
      inner.bind(argument, *operand);
  if (failed(inner.run(*block, std::next(clone->getIterator()))))
    return failure();
  std::vector<Tensor> tensors;
  for (auto [result, value] : llvm::zip_equal(op.getResults(), *results)) {
    const Tensor *tensor = inner.lookup(value);
    if (!tensor || tensor->type != result.getType())
      return op.emitError()
             << "'" << op.getName() << "' expands to type " << value.getType()
             << " where it gives " << result.getType();
    tensors.push_back(*tensor);
  }
  set(op, std::move(tensors));
  return success();
}

/// Element `index` of dimension 0.
static Tensor elementAt(const Tensor &stack, int64_t index) {
  Tensor element(graph::ScanOp::elementOf(stack.type));
  int64_t first = index * element.size();
  if (stack.isFloat())
    element.floats.assign(stack.floats.begin() + first,
                          stack.floats.begin() + first + element.size());
  else
    element.integers.assign(stack.integers.begin() + first,
                            stack.integers.begin() + first + element.size());
  return element;
}

static void setElementAt(Tensor &stack, int64_t index, const Tensor &element) {
  int64_t first = index * element.size();
  llvm::copy(element.floats,
             stack.floats.begin() + (stack.isFloat() ? first : 0));
  llvm::copy(element.integers,
             stack.integers.begin() + (stack.isFloat() ? 0 : first));
}

/// Runs the body once per step, each time with values of its own.
LogicalResult Evaluator::evaluateScan(graph::ScanOp scan, Operands operands) {
  unsigned carriedCount = scan.getNumCarried();
  unsigned sequenceCount = scan.getSequences().size();
  std::vector<Tensor> results;
  for (unsigned i = 0; i < carriedCount; ++i)
    results.push_back(*operands[i]);
  for (Value output : scan.getOutputs())
    results.emplace_back(cast<RankedTensorType>(output.getType()));

  auto length = static_cast<int64_t>(scan.getLength());
  for (int64_t iteration = 0; iteration < length; ++iteration) {
    int64_t stepIndex = scan.getReverse() ? length - 1 - iteration : iteration;
    Evaluator inner(states, step, options);
    for (auto [i, argument] : llvm::enumerate(scan.getBlock().getArguments())) {
      if (i < carriedCount)
        inner.bind(argument, results[i]);
      else if (i < carriedCount + sequenceCount)
        inner.bind(argument, elementAt(*operands[i], stepIndex));
      else if (operands[i])
        inner.bind(argument, *operands[i]);
    }
    if (failed(inner.run(scan.getBlock(), scan.getBlock().begin())))
      return failure();
    Operation *yield = scan.getBlock().getTerminator();
    for (auto [i, value] : llvm::enumerate(yield->getOperands())) {
      const Tensor *tensor = inner.lookup(value);
      if (i < carriedCount)
        results[i] = *tensor;
      else
        setElementAt(results[i], stepIndex, *tensor);
    }
  }
  set(*scan.getOperation(), std::move(results));
  return success();
}

LogicalResult Evaluator::evaluate(Operation &op) {
  bool isState;
  LogicalResult stateResult = evaluateState(op, isState);
  if (isState)
    return stateResult;

  SmallVector<const Tensor *> operands;
  for (Value operand : op.getOperands()) {
    const Tensor *tensor = lookup(operand);
    if (!tensor && !isa<graph::StepType>(operand.getType()))
      return op.emitError() << "cannot evaluate '" << op.getName()
                            << "' on operand of type " << operand.getType();
    operands.push_back(tensor);
  }
  if (auto scan = dyn_cast<graph::ScanOp>(op))
    return evaluateScan(scan, operands);
  if (isa<kern::KernelOpInterface>(op))
    return expand(op, operands);
  Results results = evaluateAlone(op, operands);
  // An op of a plugin means what it decomposes to.
  if (!results && isa<graph::DecomposableOpInterface>(op))
    return expand(op, operands);
  if (!results)
    return op.emitError() << "the reference evaluator does not know '"
                          << op.getName() << "'";
  set(op, std::move(*results));
  return success();
}

/// Evaluates an op by its own rule; nothing when there is none.
Results Evaluator::evaluateAlone(Operation &op, Operands operands) {
  bool remember = options.memo && Memo::isCostly(&op);
  Memo::Key key;
  if (remember) {
    key = Memo::keyOf(&op, operands);
    if (const std::vector<Tensor> *known = options.memo->find(key))
      return *known;
  }
  Results results;
  if (isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op.getDialect()))
    results = evaluateElementwise(&op, operands);
  if (!results)
    results = evaluatePrimitive(&op, operands, step);
  if (!results)
    results = evaluateDataMovement(&op, operands);
  if (!results)
    results = evaluateWindow(&op, operands);
  if (!results)
    results = evaluateComposite(&op, operands, step);
  if (!results)
    results = evaluateTransformer(&op, operands, step);
  if (remember && results)
    options.memo->insert(std::move(key), *results);
  return results;
}

LogicalResult Evaluator::run(Block &block, Block::iterator first) {
  // How many ops still read each value; the terminator's reads keep theirs.
  std::map<Value, int64_t, Less> readers;
  for (Operation &op : block)
    for (Value operand : op.getOperands())
      ++readers[operand];
  for (auto it = first; it != block.end(); ++it) {
    if (it->hasTrait<OpTrait::IsTerminator>())
      break;
    if (failed(evaluate(*it)))
      return failure();
    for (Value operand : it->getOperands())
      if (--readers[operand] == 0)
        values.erase(operand);
  }
  return success();
}

/// Visits the places of each of the state's elements, in rows and in its
/// layout.
static void
forEachPlace(graph::StateOp state,
             llvm::function_ref<void(int64_t row, int64_t laidOut)> visit) {
  auto type = cast<RankedTensorType>(state.getType());
  // OIhw16i16o: [O, I, h, w, i, o] of the layout is [O, o, I, i, h, w] of rows.
  ArrayRef<int64_t> shape = type.getShape();
  SmallVector<int64_t> strides =
      stridesOf({shape[0], shape[5], shape[1], shape[4], shape[2], shape[3]});
  int64_t place = 0;
  forEachIndex(shape, [&](ArrayRef<int64_t> at) {
    visit(at[0] * strides[0] + at[5] * strides[1] + at[1] * strides[2] +
              at[4] * strides[3] + at[2] * strides[4] + at[3],
          place++);
  });
}

Tensor layOut(graph::StateOp state, const Tensor &rowMajor) {
  if (!state.getLayout())
    return rowMajor;
  Tensor result(cast<RankedTensorType>(state.getType()));
  forEachPlace(state, [&](int64_t row, int64_t laidOut) {
    result.floats[laidOut] = rowMajor.floats[row];
  });
  return result;
}

Tensor toRowMajor(graph::StateOp state, const Tensor &value) {
  if (!state.getLayout())
    return value;
  Tensor result(cast<RankedTensorType>(state.getInit().getShapedType()));
  forEachPlace(state, [&](int64_t row, int64_t laidOut) {
    result.floats[row] = value.floats[laidOut];
  });
  return result;
}

FailureOr<States> initialStates(ModuleOp module) {
  States states;
  for (auto state : module.getOps<graph::StateOp>()) {
    FailureOr<Tensor> value = Tensor::fromAttribute(state.getInit());
    if (failed(value))
      return state.emitError() << "state '" << state.getSymName()
                               << "' has no initial value that can be read";
    states.emplace(state.getSymName().str(), layOut(state, *value));
  }
  return states;
}

FailureOr<Outcome> evaluate(func::FuncOp function, ArrayRef<Tensor> inputs,
                            const States &states, const StepBlock &step,
                            const EvaluatorOptions &options) {
  if (!function.getBody().hasOneBlock())
    return function.emitError("expected one block to evaluate");
  Evaluator evaluator(states, step, options);
  size_t next = 0;
  for (BlockArgument argument : function.getArguments()) {
    if (isa<graph::StepType>(argument.getType()))
      continue;
    if (next == inputs.size())
      return function.emitError()
             << "expected more than " << inputs.size() << " inputs";
    if (inputs[next].type != argument.getType())
      return function.emitError()
             << "expected input " << next << " of type " << argument.getType()
             << ", got " << inputs[next].type;
    evaluator.bind(argument, inputs[next++]);
  }
  if (next != inputs.size())
    return function.emitError()
           << "expected " << next << " inputs, got " << inputs.size();

  Block &block = function.front();
  if (failed(evaluator.run(block, block.begin())))
    return failure();
  Outcome outcome;
  for (Value value : block.getTerminator()->getOperands()) {
    const Tensor *tensor = evaluator.lookup(value);
    if (!tensor)
      return function.emitError()
             << "cannot evaluate a result of type " << value.getType();
    outcome.results.push_back(*tensor);
  }
  outcome.written = std::move(evaluator.written);
  return outcome;
}

} // namespace bessemer::reference
