// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kern function -> MemoryProblem.

#include "bessemer/Memory/FunctionModel.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace bessemer;

int64_t bessemer::byteSize(RankedTensorType type) {
  return type.getNumElements() *
         llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

int64_t bessemer::stepFieldOffset(graph::StepField field) {
  switch (field) {
  case graph::StepField::Step:
    return 0;
  case graph::StepField::Seed:
    return 8;
  case graph::StepField::LearningRate:
    return 20;
  case graph::StepField::ValidRows:
    return 24;
  }
  llvm_unreachable("unknown step field");
}

namespace {
class ModelBuilder {
public:
  ModelBuilder(func::FuncOp function, const StateLayout &states)
      : function(function), states(states),
        entryValues(states.entries.size(), -1), written(states.entries.size()) {
    model.problem.states = states.entries.size();
  }

  FailureOr<FunctionModel> run();

private:
  unsigned addValue(int64_t bytes, FunctionModel::Source source);
  LogicalResult addOp(Operation &op);
  void addKernel(kern::KernelOpInterface kernel);
  LogicalResult addWrites();
  LogicalResult addReturn(func::ReturnOp op);
  FailureOr<int> findState(Operation *op, StringRef name);

  func::FuncOp function;
  const StateLayout &states;
  FunctionModel model;
  std::vector<int> entryValues;
  std::vector<graph::WriteOp> writes;
  /// States that get a value other than their own old one.
  std::vector<bool> written;
  DenseMap<Attribute, unsigned> constants;
};
} // namespace

unsigned ModelBuilder::addValue(int64_t bytes, FunctionModel::Source source) {
  MemoryProblem::Value value;
  value.bytes = bytes;
  if (source.kind == FunctionModel::Source::State)
    value.entryState = int(source.index);
  else
    value.external = source.kind != FunctionModel::Source::Node;
  model.problem.values.push_back(value);
  model.sources.push_back(source);
  return model.problem.values.size() - 1;
}

FailureOr<int> ModelBuilder::findState(Operation *op, StringRef name) {
  int state = states.find(name);
  if (state < 0)
    return op->emitOpError("expected a state, got '") << name << "'";
  return state;
}

void ModelBuilder::addKernel(kern::KernelOpInterface kernel) {
  MemoryProblem::Node node;
  for (Value operand : kernel->getOperands())
    node.operands.push_back(model.idOf(operand));
  for (Value result : kernel->getResults()) {
    unsigned id = addValue(byteSize(cast<RankedTensorType>(result.getType())),
                           {FunctionModel::Source::Node});
    model.valueIds[result] = id;
    node.results.push_back(id);
  }
  for (unsigned operand = 0; operand < node.operands.size(); ++operand)
    for (unsigned result = 0; result < node.results.size(); ++result)
      if (isa<RankedTensorType>(kernel->getOperand(operand).getType()) &&
          kernel.canReuseOperand(operand, result))
        node.reuse.push_back({operand, result});
  model.problem.nodes.push_back(std::move(node));
  model.ops.push_back(kernel);
}

LogicalResult ModelBuilder::addOp(Operation &op) {
  using Source = FunctionModel::Source;
  if (auto kernel = dyn_cast<kern::KernelOpInterface>(op)) {
    addKernel(kernel);
    return success();
  }
  if (auto read = dyn_cast<graph::ReadOp>(op)) {
    FailureOr<int> state = findState(read, read.getState());
    if (failed(state))
      return failure();
    int &id = entryValues[*state];
    if (id < 0)
      id = addValue(states.entries[*state].bytes, {Source::State, *state});
    model.valueIds[read.getResult()] = id;
    return success();
  }
  if (auto write = dyn_cast<graph::WriteOp>(op)) {
    writes.push_back(write);
    return success();
  }
  if (auto field = dyn_cast<graph::StepValueOp>(op)) {
    model.valueIds[field.getResult()] =
        addValue(byteSize(cast<RankedTensorType>(field.getType())),
                 {Source::StepField, stepFieldOffset(field.getField())});
    return success();
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto value = dyn_cast<ElementsAttr>(constant.getValue());
    if (!value)
      return op.emitOpError("expected a tensor constant at the kern level");
    auto [known, isNew] = constants.try_emplace(value, 0);
    if (isNew)
      known->second =
          addValue(byteSize(cast<RankedTensorType>(constant.getType())),
                   {Source::Constant, 0, value});
    model.valueIds[constant.getResult()] = known->second;
    return success();
  }
  if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op)) {
    model.valueIds[op.getResult(0)] = model.idOf(op.getOperand(0));
    return success();
  }
  if (auto result = dyn_cast<func::ReturnOp>(op))
    return addReturn(result);
  return op.emitOpError("expected an op of the kern level");
}

LogicalResult ModelBuilder::addReturn(func::ReturnOp op) {
  for (auto [output, value] : llvm::enumerate(op.getOperands()))
    model.problem.values[model.idOf(value)].outputs.push_back(output);
  return success();
}

LogicalResult ModelBuilder::addWrites() {
  std::vector<int> targets;
  std::vector<bool> seen(states.entries.size());
  for (graph::WriteOp write : writes) {
    FailureOr<int> state = findState(write, write.getState());
    if (failed(state))
      return failure();
    if (seen[*state])
      return write.emitOpError("expected at most one write of state '")
             << write.getState() << "' in a function";
    seen[*state] = true;
    targets.push_back(*state);
    int entryState =
        model.problem.values[model.idOf(write.getValue())].entryState;
    written[*state] = entryState != *state;
  }
  for (auto [write, target] : llvm::zip_equal(writes, targets)) {
    if (!written[target])
      continue;
    unsigned id = model.idOf(write.getValue());
    // The old value of a state that is itself overwritten is saved first.
    int entryState = model.problem.values[id].entryState;
    if (entryState >= 0 && written[entryState]) {
      unsigned saved = addValue(model.problem.values[id].bytes,
                                {FunctionModel::Source::Node});
      model.problem.nodes.push_back({{id}, {saved}, {}});
      model.ops.push_back(nullptr);
      ++model.problem.trailing;
      id = saved;
    }
    model.problem.values[id].states.push_back(target);
  }
  return success();
}

FailureOr<FunctionModel> ModelBuilder::run() {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("expected a body of one block");
  using Source = FunctionModel::Source;
  int64_t inputs = 0;
  for (BlockArgument argument : function.getArguments()) {
    if (auto type = dyn_cast<RankedTensorType>(argument.getType()))
      model.valueIds[argument] =
          addValue(byteSize(type), {Source::Input, inputs++});
    else if (isa<graph::StepType>(argument.getType()))
      model.valueIds[argument] = addValue(kStepBytes, {Source::Step});
    else
      return function.emitOpError("expected arguments of tensor or step type, "
                                  "got ")
             << argument.getType();
  }
  for (Operation &op : function.getBody().front())
    if (failed(addOp(op)))
      return failure();
  if (failed(addWrites()))
    return failure();
  return std::move(model);
}

FailureOr<FunctionModel> FunctionModel::build(func::FuncOp function,
                                              const StateLayout &states) {
  return ModelBuilder(function, states).run();
}
