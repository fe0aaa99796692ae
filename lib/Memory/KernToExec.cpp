// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pass kern-to-exec: writes the memory plan of each function as a program.

#include "KernelTable.h"
#include "Labels.h"
#include "bessemer/Memory/FunctionModel.h"
#include "bessemer/Memory/Liveness.h"
#include "bessemer/Memory/Passes.h"

using namespace mlir;
using namespace bessemer;

namespace bessemer {
#define GEN_PASS_DEF_KERNTOEXEC
#include "bessemer/Memory/Passes.h.inc"
} // namespace bessemer

namespace {
/// A function or the body of a loop, and where its values lie.
struct Level {
  const FunctionModel &model;
  const StoragePlan &plan;
  const OffsetPacking &packing;
  /// In a body: what encloses it.
  const Level *outer = nullptr;
  const LoopModel *loop = nullptr;
  /// By value: its number in the `values` of commands.
  std::vector<int64_t> numbers;

  unsigned depth() const { return outer ? outer->depth() + 1 : 0; }
};

/// Makes the program of one function.
class ProgramWriter {
public:
  ProgramWriter(func::FuncOp function, const FunctionModel &model,
                const StateLayout &states, KernelTable &kernels,
                exec::ProgramOp program, OpBuilder &kernelBuilder)
      : function(function), model(model), states(states), kernels(kernels),
        kernelBuilder(kernelBuilder),
        builder(OpBuilder::atBlockEnd(&program.getBody().front())),
        plan(planStorage(model.problem, programOrder(model.problem))),
        packing(packOffsets(plan.buffers)) {}

  void run() {
    makeArenas();
    Level top{model, plan, packing};
    numberValues(top);
    makeCommands(top);
  }

private:
  void makeArenas();
  void makeArena(StringRef name, exec::ArenaKind kind, int64_t bytes,
                 int64_t value = 0, int64_t bound = 0, ElementsAttr data = {});
  void makeConstants(const FunctionModel &part);
  void numberValues(Level &level);
  void makeCommands(const Level &level);
  void makeCommand(const Level &level, size_t node);
  void makeLoop(const Level &level, size_t node);
  /// The number that a value has before a loop changes it; fills or copies the
  /// start value where it is not there already.
  int64_t startCarried(const Level &level, const LoopModel::Init &init,
                       unsigned final);
  void makeLibrary(kern::ConvOp conv, ArrayAttr operands, StringAttr label,
                   DenseI64ArrayAttr values);
  void makeCopy(const Level &level, const StoragePlan::Copy &copy);
  void makeCopy(exec::SliceAttr from, exec::SliceAttr to, int64_t fromNumber,
                int64_t toNumber);
  exec::SliceAttr slice(StringRef arena, int64_t offset, int64_t bytes);
  exec::SliceAttr slice(const Level &level, Storage storage, int64_t bytes);
  exec::SliceAttr slice(const Level &level, unsigned value);
  /// The step's element of a slice, in the body of `level`.
  exec::SliceAttr element(const Level &level, exec::SliceAttr stack);
  StringAttr label(Location location);

  func::FuncOp function;
  const FunctionModel &model;
  const StateLayout &states;
  KernelTable &kernels;
  OpBuilder &kernelBuilder;
  OpBuilder builder;
  StoragePlan plan;
  OffsetPacking packing;
  int64_t nextNumber = 0;
  DenseMap<Attribute, std::string> constantArenas;
};
} // namespace

void ProgramWriter::makeArena(StringRef name, exec::ArenaKind kind,
                              int64_t bytes, int64_t value, int64_t bound,
                              ElementsAttr data) {
  exec::ArenaOp::create(builder, builder.getUnknownLoc(), name, kind, bytes,
                        value, bound, data);
}

void ProgramWriter::makeArenas() {
  using exec::ArenaKind;
  if (!states.entries.empty())
    makeArena("state", ArenaKind::State, states.bytes);
  if (!plan.buffers.empty())
    makeArena("work", ArenaKind::Work, packing.peak, 0, plan.bound);
  int64_t inputs = 0;
  for (Type type : function.getArgumentTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type)) {
      makeArena("in" + std::to_string(inputs), ArenaKind::Input,
                byteSize(tensor), inputs);
      ++inputs;
    } else {
      makeArena("step", ArenaKind::Step, kStepBytes);
    }
  for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
    makeArena("out" + std::to_string(index), ArenaKind::Output,
              byteSize(cast<RankedTensorType>(type)), index);
  makeConstants(model);
}

void ProgramWriter::makeConstants(const FunctionModel &part) {
  for (auto [id, source] : llvm::enumerate(part.sources)) {
    if (source.kind != FunctionModel::Source::Constant)
      continue;
    std::string name = "constant" + std::to_string(constantArenas.size());
    if (constantArenas.try_emplace(source.constant, name).second)
      makeArena(name, exec::ArenaKind::Constant, part.problem.values[id].bytes,
                0, 0, source.constant);
  }
  for (const auto &[node, loop] : part.loops)
    makeConstants(loop.body);
}

/// A carried value and an output have the number of the result that they are;
/// what comes from outside keeps its number.
void ProgramWriter::numberValues(Level &level) {
  level.numbers.resize(level.model.sources.size());
  for (auto [value, source] : llvm::enumerate(level.model.sources)) {
    int64_t &number = level.numbers[value];
    const Storage &storage = level.plan.storage[value];
    bool isInner = level.outer != nullptr;
    using Source = FunctionModel::Source;
    if (source.kind == Source::Outer || source.kind == Source::Element)
      number = level.outer->numbers[source.index];
    else if (isInner && source.kind == Source::State)
      number = level.outer->numbers[level.loop->finals[source.index]];
    else if (isInner && source.kind == Source::Node &&
             storage.kind == Storage::Output)
      number = level.outer->numbers[level.loop->outputs[storage.index]];
    else
      number = nextNumber++;
  }
}

exec::SliceAttr ProgramWriter::slice(StringRef arena, int64_t offset,
                                     int64_t bytes) {
  MLIRContext *context = builder.getContext();
  return exec::SliceAttr::get(context, FlatSymbolRefAttr::get(context, arena),
                              offset, bytes, {});
}

exec::SliceAttr ProgramWriter::element(const Level &level,
                                       exec::SliceAttr stack) {
  graph::ScanOp scan = level.loop->op;
  auto length = static_cast<int64_t>(scan.getLength());
  int64_t bytes = stack.getBytes() / length;
  SmallVector<int64_t> strides(stack.getStrides());
  strides.resize(level.depth() - 1, 0);
  strides.push_back(scan.getReverse() ? -bytes : bytes);
  int64_t first = scan.getReverse() ? (length - 1) * bytes : 0;
  return exec::SliceAttr::get(builder.getContext(), stack.getArena(),
                              stack.getOffset() + first, bytes, strides);
}

exec::SliceAttr ProgramWriter::slice(const Level &level, Storage storage,
                                     int64_t bytes) {
  if (level.outer) {
    const LoopModel &loop = *level.loop;
    switch (storage.kind) {
    case Storage::State:
      return slice(*level.outer, loop.finals[storage.index]);
    case Storage::Output:
      return element(level, slice(*level.outer, loop.outputs[storage.index]));
    case Storage::Work: {
      exec::SliceAttr workspace = slice(*level.outer, *loop.workspace);
      return exec::SliceAttr::get(builder.getContext(), workspace.getArena(),
                                  workspace.getOffset() +
                                      level.packing.offsets[storage.index],
                                  bytes, workspace.getStrides());
    }
    case Storage::External:
      break;
    }
    llvm_unreachable("external values have slices of their own");
  }
  switch (storage.kind) {
  case Storage::State:
    return slice("state", states.entries[storage.index].offset, bytes);
  case Storage::Output:
    return slice("out" + std::to_string(storage.index), 0, bytes);
  case Storage::Work:
    return slice("work", packing.offsets[storage.index], bytes);
  case Storage::External:
    break;
  }
  llvm_unreachable("external values have slices of their own");
}

exec::SliceAttr ProgramWriter::slice(const Level &level, unsigned value) {
  const FunctionModel::Source &source = level.model.sources[value];
  int64_t bytes = level.model.problem.values[value].bytes;
  switch (source.kind) {
  case FunctionModel::Source::Input:
    return slice("in" + std::to_string(source.index), 0, bytes);
  case FunctionModel::Source::Step:
    return slice("step", 0, bytes);
  case FunctionModel::Source::StepField:
    return slice("step", source.index, bytes);
  case FunctionModel::Source::Constant:
    return slice(constantArenas.lookup(source.constant), 0, bytes);
  case FunctionModel::Source::Outer:
    return slice(*level.outer, source.index);
  case FunctionModel::Source::Element:
    return element(level, slice(*level.outer, source.index));
  case FunctionModel::Source::State:
  case FunctionModel::Source::Node:
    return slice(level, level.plan.storage[value], bytes);
  }
  llvm_unreachable("unknown source");
}

StringAttr ProgramWriter::label(Location location) {
  std::string text = labelOf(location);
  return text.empty() ? StringAttr() : builder.getStringAttr(text);
}

void ProgramWriter::makeCopy(exec::SliceAttr from, exec::SliceAttr to,
                             int64_t fromNumber, int64_t toNumber) {
  if (!from.getBytes())
    return;
  exec::CopyOp::create(builder, function.getLoc(), from, to, StringAttr(),
                       builder.getDenseI64ArrayAttr({fromNumber, toNumber}));
}

void ProgramWriter::makeCopy(const Level &level,
                             const StoragePlan::Copy &copy) {
  int64_t number = level.numbers[copy.value], target = number;
  if (level.outer && copy.to.kind == Storage::Output)
    target = level.outer->numbers[level.loop->outputs[copy.to.index]];
  int64_t bytes = level.model.problem.values[copy.value].bytes;
  makeCopy(slice(level, copy.value), slice(level, copy.to, bytes), number,
           target);
}

void ProgramWriter::makeCommands(const Level &level) {
  for (const StoragePlan::Copy &copy : level.plan.entryCopies)
    makeCopy(level, copy);
  for (size_t node = 0; node < level.model.ops.size(); ++node)
    makeCommand(level, node);
  for (const StoragePlan::Copy &copy : level.plan.finalCopies)
    makeCopy(level, copy);
}

int64_t ProgramWriter::startCarried(const Level &level,
                                    const LoopModel::Init &init,
                                    unsigned final) {
  exec::SliceAttr target = slice(level, final);
  int64_t number = level.numbers[final];
  if (init.value) {
    exec::SliceAttr source = slice(level, *init.value);
    if (source == target)
      return level.numbers[*init.value];
    makeCopy(source, target, level.numbers[*init.value], number);
    return number;
  }
  // The bits of one element, repeated.
  ArrayRef<char> raw = init.splat.getRawData();
  int64_t width =
      llvm::divideCeil(init.splat.getElementType().getIntOrFloatBitWidth(), 8);
  uint64_t pattern = 0;
  if (init.splat.getElementType().isInteger(1))
    pattern = init.splat.getSplatValue<APInt>().getZExtValue();
  else
    std::memcpy(&pattern, raw.data(), width);
  if (target.getBytes())
    exec::FillOp::create(builder, function.getLoc(), target, pattern, width,
                         StringAttr(), builder.getDenseI64ArrayAttr({number}));
  return number;
}

void ProgramWriter::makeLoop(const Level &level, size_t nodeIndex) {
  const LoopModel &loop = level.model.loops.at(nodeIndex);
  SmallVector<int64_t> before;
  SmallVector<Attribute> carried, scratch;
  for (auto [init, final] : llvm::zip_equal(loop.inits, loop.finals)) {
    before.push_back(startCarried(level, init, final));
    carried.push_back(slice(level, final));
  }
  if (loop.workspace)
    scratch.push_back(slice(level, *loop.workspace));

  Level inner{loop.body, loop.plan, loop.packing, &level, &loop};
  numberValues(inner);
  SmallVector<int64_t> values;
  for (auto [number, final, value] :
       llvm::zip_equal(before, loop.finals, loop.body.newCarried))
    llvm::append_range(values, ArrayRef<int64_t>{number, level.numbers[final],
                                                 inner.numbers[value]});
  graph::ScanOp scan = loop.op;
  auto repeat = exec::RepeatOp::create(
      builder, scan.getLoc(), scan.getLength(), builder.getArrayAttr(scratch),
      builder.getArrayAttr(carried), label(scan.getLoc()),
      builder.getDenseI64ArrayAttr(values));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&repeat.getBody().emplaceBlock());
  makeCommands(inner);
}

void ProgramWriter::makeLibrary(kern::ConvOp conv, ArrayAttr operands,
                                StringAttr label, DenseI64ArrayAttr values) {
  kern::ConvOp::Roles roles = conv.getRoles();
  auto layout = [&](unsigned at) {
    return builder.getStringAttr(
        cast<kern::LayoutAttr>(conv.getLayouts()[at]).getFormat());
  };
  auto numbers = [&](ArrayRef<int64_t> values) {
    return builder.getDenseI64ArrayAttr(values);
  };
  auto shape = [&](unsigned at) {
    return numbers(conv.getLogicalType(at).getShape());
  };
  bool hasBias = conv.getInputs().size() == 3;
  DictionaryAttr descriptor = builder.getDictionaryAttr({
      builder.getNamedAttr(
          "kind",
          builder.getStringAttr(kern::stringifyConvKind(conv.getKind()))),
      builder.getNamedAttr("has_bias", builder.getBoolAttr(hasBias)),
      builder.getNamedAttr("x", shape(roles.x)),
      builder.getNamedAttr("w", shape(roles.w)),
      builder.getNamedAttr("y", shape(roles.y)),
      builder.getNamedAttr("strides", numbers(conv.getStrides())),
      builder.getNamedAttr("pads", numbers(conv.getPads())),
      builder.getNamedAttr("dilations", numbers(conv.getDilations())),
      builder.getNamedAttr("groups",
                           builder.getI64IntegerAttr(conv.getGroups())),
      builder.getNamedAttr("x_layout", layout(roles.x)),
      builder.getNamedAttr("w_layout", layout(roles.w)),
      builder.getNamedAttr("y_layout", layout(roles.y)),
      builder.getNamedAttr("winograd", builder.getBoolAttr(conv.getWinograd())),
  });
  exec::LibraryOp::create(builder, conv.getLoc(), "onednn.convolution",
                          operands, descriptor, label, values);
}

void ProgramWriter::makeCommand(const Level &level, size_t nodeIndex) {
  const MemoryProblem::Node &node = level.model.problem.nodes[nodeIndex];
  Operation *op = level.model.ops[nodeIndex];
  if (!op)
    return makeCopy(
        slice(level, node.operands[0]), slice(level, node.results[0]),
        level.numbers[node.operands[0]], level.numbers[node.results[0]]);
  if (isa<graph::ScanOp>(op))
    return makeLoop(level, nodeIndex);
  SmallVector<Attribute> slices;
  SmallVector<int64_t> numbers;
  for (const auto &values : {node.operands, node.results})
    for (unsigned value : values) {
      slices.push_back(slice(level, value));
      numbers.push_back(level.numbers[value]);
    }
  ArrayAttr operands = builder.getArrayAttr(slices);
  DenseI64ArrayAttr values = builder.getDenseI64ArrayAttr(numbers);
  StringAttr text = label(op->getLoc());
  if (auto conv = dyn_cast<kern::ConvOp>(op))
    return makeLibrary(conv, operands, text, values);
  exec::KernelOp kernel = kernels.getOrCreate(op, kernelBuilder);
  exec::LaunchOp::create(builder, op->getLoc(), kernel.getSymName(), operands,
                         text, values);
}

/// Names and types of arguments or results, and what integers must be; those
/// without a name in the IR are numbered.
static ArrayAttr valuesOf(OpBuilder &builder, TypeRange types,
                          function_ref<DictionaryAttr(unsigned)> attributesOf,
                          StringRef prefix) {
  SmallVector<Attribute> values;
  for (auto [index, type] : llvm::enumerate(types)) {
    if (!isa<RankedTensorType>(type))
      continue;
    DictionaryAttr attributes = attributesOf(index);
    auto get = [&](StringRef key) {
      return attributes ? attributes.get(key) : Attribute();
    };
    Attribute name = get(graph::kNameAttr);
    if (!name)
      name = builder.getStringAttr(prefix + Twine(index));
    SmallVector<NamedAttribute> value = {
        builder.getNamedAttr("name", name),
        builder.getNamedAttr("type", TypeAttr::get(type))};
    if (Attribute ranges = get(graph::kRangesAttr))
      value.push_back(builder.getNamedAttr("ranges", ranges));
    values.push_back(builder.getDictionaryAttr(value));
  }
  return builder.getArrayAttr(values);
}

namespace {
struct KernToExec : bessemer::impl::KernToExecBase<KernToExec> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    StateLayout states(module);
    KernelTable kernels(module);
    OpBuilder builder(&getContext());
    SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
    for (func::FuncOp function : functions) {
      if (function.isPrivate() || function.getSymName() == kModelFunction)
        continue;
      FailureOr<FunctionModel> model = FunctionModel::build(function, states);
      if (failed(model))
        return signalPassFailure();
      convert(function, *model, states, kernels);
    }
    for (func::FuncOp function : functions)
      function.erase();
    for (const StateLayout::Entry &entry : states.entries) {
      graph::StateOp state = entry.op;
      builder.setInsertionPoint(state);
      exec::StateOp::create(
          builder, state.getLoc(), state.getSymName(), entry.offset,
          state.getInit().getType(), state.getInit(),
          graph::stringifyStateRole(state.getRole()), state.getTrainable(),
          state.getWhyAttr(), state.getLayoutAttr());
    }
    for (const StateLayout::Entry &entry : states.entries)
      entry.op->erase();
  }

  void convert(func::FuncOp function, const FunctionModel &model,
               const StateLayout &states, KernelTable &kernels) {
    OpBuilder builder(function);
    auto program = exec::ProgramOp::create(
        builder, function.getLoc(), function.getSymName(),
        valuesOf(
            builder, function.getArgumentTypes(),
            [&](unsigned i) { return function.getArgAttrDict(i); }, "arg"),
        valuesOf(
            builder, function.getResultTypes(),
            [&](unsigned i) { return function.getResultAttrDict(i); },
            "result"));
    program.getBody().emplaceBlock();
    OpBuilder kernelBuilder(program);
    ProgramWriter(function, model, states, kernels, program, kernelBuilder)
        .run();
  }
};
} // namespace
