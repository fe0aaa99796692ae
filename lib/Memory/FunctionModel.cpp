// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kern function -> MemoryProblem.

#include "bessemer/Memory/FunctionModel.h"
#include "mlir/IR/Matchers.h"
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
  /// Of a function.
  explicit ModelBuilder(const StateLayout &states)
      : states(states), entryValues(states.entries.size(), -1) {
    model.problem.states = states.entries.size();
  }
  /// Of the body of `scan`, which is in the code of `outer` (null when it is
  /// read alone).
  ModelBuilder(const StateLayout &states, graph::ScanOp scan,
               const FunctionModel *outer)
      : states(states), scan(scan), outer(outer) {
    model.problem.states = scan.getNumCarried();
  }

  FailureOr<FunctionModel> runFunction(func::FuncOp function);
  FailureOr<FunctionModel> runBody();

private:
  unsigned addValue(int64_t bytes, FunctionModel::Source source);
  LogicalResult addOp(Operation &op);
  void addKernel(kern::KernelOpInterface kernel);
  LogicalResult addLoop(graph::ScanOp loop);
  /// A new value of a state.
  struct Write {
    unsigned state;
    Value value;
  };
  LogicalResult readWrites(std::vector<Write> &list);
  void addWrites(ArrayRef<Write> list);
  LogicalResult addReturn(func::ReturnOp op);
  FailureOr<int> findState(Operation *op, StringRef name);

  const StateLayout &states;
  graph::ScanOp scan;
  const FunctionModel *outer = nullptr;
  FunctionModel model;
  std::vector<int> entryValues;
  std::vector<graph::WriteOp> writes;
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

/// Whether a constant is only what loops start from: then it is filled in
/// there, and need not lie in memory.
static bool onlyStartsLoops(arith::ConstantOp constant) {
  return isa<SplatElementsAttr>(constant.getValue()) &&
         llvm::all_of(constant->getUses(), [](OpOperand &use) {
           auto loop = dyn_cast<graph::ScanOp>(use.getOwner());
           return loop && use.getOperandNumber() < loop.getNumCarried();
         });
}

LogicalResult ModelBuilder::addOp(Operation &op) {
  using Source = FunctionModel::Source;
  if (auto kernel = dyn_cast<kern::KernelOpInterface>(op)) {
    addKernel(kernel);
    return success();
  }
  if (auto loop = dyn_cast<graph::ScanOp>(op))
    return addLoop(loop);
  if (scan && isa<graph::ReadOp, graph::WriteOp>(op))
    return op.emitOpError("expected outside of loops");
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
    if (onlyStartsLoops(constant))
      return success();
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
  if (scan && isa<graph::YieldOp>(op))
    return success();
  return op.emitOpError("expected an op of the kern level");
}

LogicalResult ModelBuilder::addReturn(func::ReturnOp op) {
  for (auto [output, value] : llvm::enumerate(op.getOperands()))
    model.problem.values[model.idOf(value)].outputs.push_back(output);
  return success();
}

LogicalResult ModelBuilder::addLoop(graph::ScanOp loop) {
  FailureOr<FunctionModel> body = ModelBuilder(states, loop, &model).runBody();
  if (failed(body))
    return failure();
  LoopModel info;
  info.op = loop;
  info.body = std::move(*body);
  info.plan = planStorage(info.body.problem, programOrder(info.body.problem));
  info.packing = packOffsets(info.plan.buffers);

  MemoryProblem::Node node;
  std::vector<std::optional<unsigned>> operandOfInit;
  for (Value init : loop.getInits()) {
    SplatElementsAttr splat;
    if (matchPattern(init, m_Constant(&splat))) {
      info.inits.push_back({std::nullopt, splat});
      operandOfInit.push_back(std::nullopt);
      continue;
    }
    info.inits.push_back({model.idOf(init), {}});
    operandOfInit.push_back(node.operands.size());
    node.operands.push_back(model.idOf(init));
  }
  for (ValueRange values :
       {ValueRange(loop.getSequences()), ValueRange(loop.getInvariants())})
    for (Value value : values)
      node.operands.push_back(model.idOf(value));
  auto addResult = [&](int64_t bytes) {
    unsigned id = addValue(bytes, {FunctionModel::Source::Node});
    node.results.push_back(id);
    return id;
  };
  for (auto [index, result] : llvm::enumerate(loop.getResults())) {
    unsigned id = addResult(byteSize(cast<RankedTensorType>(result.getType())));
    model.valueIds[result] = id;
    bool isFinal = index < loop.getNumCarried();
    (isFinal ? info.finals : info.outputs).push_back(id);
    // The loop may work on its start value in place, unless the values would
    // have to be apart.
    if (isFinal && operandOfInit[index])
      node.reuse.push_back(
          {*operandOfInit[index], static_cast<unsigned>(index)});
  }
  if (info.packing.peak > 0)
    info.workspace = addResult(info.packing.peak);
  model.loops.emplace(model.problem.nodes.size(), std::move(info));
  model.problem.nodes.push_back(std::move(node));
  model.ops.push_back(loop);
  return success();
}

LogicalResult ModelBuilder::readWrites(std::vector<Write> &list) {
  std::vector<bool> seen(states.entries.size());
  for (graph::WriteOp write : writes) {
    FailureOr<int> state = findState(write, write.getState());
    if (failed(state))
      return failure();
    if (seen[*state])
      return write.emitOpError("expected at most one write of state '")
             << write.getState() << "' in a function";
    seen[*state] = true;
    list.push_back({static_cast<unsigned>(*state), write.getValue()});
  }
  return success();
}

void ModelBuilder::addWrites(ArrayRef<Write> list) {
  // States that get a value other than their own old one.
  std::vector<bool> written(model.problem.states);
  for (const Write &write : list)
    written[write.state] =
        model.problem.values[model.idOf(write.value)].entryState !=
        static_cast<int>(write.state);
  for (const Write &write : list) {
    unsigned id = model.idOf(write.value);
    if (written[write.state]) {
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
      model.problem.values[id].states.push_back(write.state);
    }
    if (scan)
      model.newCarried.push_back(id);
  }
}

FailureOr<FunctionModel> ModelBuilder::runFunction(func::FuncOp function) {
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
  std::vector<Write> list;
  if (failed(readWrites(list)))
    return failure();
  addWrites(list);
  return std::move(model);
}

FailureOr<FunctionModel> ModelBuilder::runBody() {
  using Source = FunctionModel::Source;
  auto bytesOf = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type ? byteSize(type) : kStepBytes;
  };
  for (auto [index, argument] : llvm::enumerate(scan.getCarriedArguments()))
    model.valueIds[argument] =
        addValue(bytesOf(argument), {Source::State, int64_t(index)});
  auto addOuter = [&](Value argument, Value operand, Source::Kind kind) {
    int64_t id = outer ? outer->idOf(operand) : 0;
    if (isa<graph::StepType>(operand.getType()))
      kind = Source::Step;
    model.valueIds[argument] = addValue(bytesOf(argument), {kind, id});
  };
  for (auto [argument, operand] :
       llvm::zip_equal(scan.getSequenceArguments(), scan.getSequences()))
    addOuter(argument, operand, Source::Element);
  for (auto [argument, operand] :
       llvm::zip_equal(scan.getInvariantArguments(), scan.getInvariants()))
    addOuter(argument, operand, Source::Outer);
  for (Operation &op : scan.getBlock())
    if (failed(addOp(op)))
      return failure();
  for (auto [output, value] : llvm::enumerate(scan.getYieldedOutputs()))
    model.problem.values[model.idOf(value)].outputs.push_back(output);
  std::vector<Write> list;
  for (auto [state, value] : llvm::enumerate(scan.getYieldedCarried()))
    list.push_back({static_cast<unsigned>(state), value});
  addWrites(list);
  return std::move(model);
}

FailureOr<FunctionModel> bessemer::buildBodyModel(graph::ScanOp scan,
                                                  const StateLayout &states) {
  return ModelBuilder(states, scan, nullptr).runBody();
}

FailureOr<FunctionModel> FunctionModel::build(func::FuncOp function,
                                              const StateLayout &states) {
  return ModelBuilder(states).runFunction(function);
}
