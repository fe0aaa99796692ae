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
    for (const StoragePlan::Copy &copy : plan.entryCopies)
      makeCopy(copy.value, copy.value, copy.to);
    for (size_t node = 0; node < model.ops.size(); ++node)
      makeCommand(node);
    for (const StoragePlan::Copy &copy : plan.finalCopies)
      makeCopy(copy.value, copy.value, copy.to);
  }

private:
  void makeArenas();
  void makeArena(StringRef name, exec::ArenaKind kind, int64_t bytes,
                 int64_t value = 0, int64_t bound = 0, ElementsAttr data = {});
  void makeCommand(size_t node);
  void makeLibrary(kern::ConvOp conv, ArrayAttr operands, StringAttr label,
                   DenseI64ArrayAttr values);
  void makeCopy(unsigned from, unsigned to, Storage target);
  exec::SliceAttr slice(StringRef arena, int64_t offset, int64_t bytes);
  exec::SliceAttr slice(Storage storage, int64_t bytes);
  exec::SliceAttr slice(unsigned value);
  StringAttr label(Location location);

  func::FuncOp function;
  const FunctionModel &model;
  const StateLayout &states;
  KernelTable &kernels;
  OpBuilder &kernelBuilder;
  OpBuilder builder;
  StoragePlan plan;
  OffsetPacking packing;
  /// Arena of each constant value.
  DenseMap<unsigned, std::string> constantArenas;
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
  for (auto [id, source] : llvm::enumerate(model.sources)) {
    if (source.kind != FunctionModel::Source::Constant)
      continue;
    std::string name = "constant" + std::to_string(constantArenas.size());
    makeArena(name, ArenaKind::Constant, model.problem.values[id].bytes, 0, 0,
              source.constant);
    constantArenas[id] = name;
  }
}

exec::SliceAttr ProgramWriter::slice(StringRef arena, int64_t offset,
                                     int64_t bytes) {
  MLIRContext *context = builder.getContext();
  return exec::SliceAttr::get(context, FlatSymbolRefAttr::get(context, arena),
                              offset, bytes);
}

exec::SliceAttr ProgramWriter::slice(Storage storage, int64_t bytes) {
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

exec::SliceAttr ProgramWriter::slice(unsigned value) {
  const FunctionModel::Source &source = model.sources[value];
  int64_t bytes = model.problem.values[value].bytes;
  switch (source.kind) {
  case FunctionModel::Source::Input:
    return slice("in" + std::to_string(source.index), 0, bytes);
  case FunctionModel::Source::Step:
    return slice("step", 0, bytes);
  case FunctionModel::Source::StepField:
    return slice("step", source.index, bytes);
  case FunctionModel::Source::Constant:
    return slice(constantArenas.lookup(value), 0, bytes);
  case FunctionModel::Source::State:
  case FunctionModel::Source::Node:
    return slice(plan.storage[value], bytes);
  }
  llvm_unreachable("unknown source");
}

StringAttr ProgramWriter::label(Location location) {
  std::string text = labelOf(location);
  return text.empty() ? StringAttr() : builder.getStringAttr(text);
}

/// Copies value `from` to `target`, where it is known as value `to`.
void ProgramWriter::makeCopy(unsigned from, unsigned to, Storage target) {
  exec::SliceAttr source = slice(from);
  if (!source.getBytes())
    return;
  exec::CopyOp::create(builder, function.getLoc(), source,
                       slice(target, source.getBytes()), StringAttr(),
                       builder.getDenseI64ArrayAttr({from, to}));
}

void ProgramWriter::makeLibrary(kern::ConvOp conv, ArrayAttr operands,
                                StringAttr label, DenseI64ArrayAttr values) {
  auto shape = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  };
  // Operands and result are x, w and y in another order for each kind.
  Value x, w, y;
  unsigned xAt = 0, wAt = 1, yAt = conv.getLayouts().size() - 1;
  switch (conv.getKind()) {
  case kern::ConvKind::Forward:
    x = conv.getInputs()[0], w = conv.getInputs()[1], y = conv.getResult();
    break;
  case kern::ConvKind::InputGrad:
    y = conv.getInputs()[0], w = conv.getInputs()[1], x = conv.getResult();
    std::swap(xAt, yAt);
    break;
  case kern::ConvKind::WeightGrad:
    x = conv.getInputs()[0], y = conv.getInputs()[1], w = conv.getResult();
    std::swap(wAt, yAt);
    break;
  }
  auto layout = [&](unsigned at) {
    return builder.getStringAttr(
        cast<kern::LayoutAttr>(conv.getLayouts()[at]).getFormat());
  };
  auto numbers = [&](ArrayRef<int64_t> values) {
    return builder.getDenseI64ArrayAttr(values);
  };
  bool hasBias = conv.getInputs().size() == 3;
  DictionaryAttr descriptor = builder.getDictionaryAttr({
      builder.getNamedAttr(
          "kind",
          builder.getStringAttr(kern::stringifyConvKind(conv.getKind()))),
      builder.getNamedAttr("has_bias", builder.getBoolAttr(hasBias)),
      builder.getNamedAttr("x", numbers(shape(x))),
      builder.getNamedAttr("w", numbers(shape(w))),
      builder.getNamedAttr("y", numbers(shape(y))),
      builder.getNamedAttr("strides", numbers(conv.getStrides())),
      builder.getNamedAttr("pads", numbers(conv.getPads())),
      builder.getNamedAttr("dilations", numbers(conv.getDilations())),
      builder.getNamedAttr("groups",
                           builder.getI64IntegerAttr(conv.getGroups())),
      builder.getNamedAttr("x_layout", layout(xAt)),
      builder.getNamedAttr("w_layout", layout(wAt)),
      builder.getNamedAttr("y_layout", layout(yAt)),
  });
  exec::LibraryOp::create(builder, conv.getLoc(), "onednn.convolution",
                          operands, descriptor, label, values);
}

void ProgramWriter::makeCommand(size_t nodeIndex) {
  const MemoryProblem::Node &node = model.problem.nodes[nodeIndex];
  Operation *op = model.ops[nodeIndex];
  if (!op)
    return makeCopy(node.operands[0], node.results[0],
                    plan.storage[node.results[0]]);
  SmallVector<Attribute> slices;
  SmallVector<int64_t> ids;
  for (const auto &values : {node.operands, node.results})
    for (unsigned value : values) {
      slices.push_back(slice(value));
      ids.push_back(value);
    }
  ArrayAttr operands = builder.getArrayAttr(slices);
  DenseI64ArrayAttr values = builder.getDenseI64ArrayAttr(ids);
  StringAttr text = label(op->getLoc());
  if (auto conv = dyn_cast<kern::ConvOp>(op))
    return makeLibrary(conv, operands, text, values);
  exec::KernelOp kernel = kernels.getOrCreate(op, kernelBuilder);
  exec::LaunchOp::create(builder, op->getLoc(), kernel.getSymName(), operands,
                         text, values);
}

/// Names and types of arguments or results; those without a name in the IR are
/// numbered.
static ArrayAttr valuesOf(OpBuilder &builder, TypeRange types,
                          function_ref<StringAttr(unsigned)> nameOf,
                          StringRef prefix) {
  SmallVector<Attribute> values;
  for (auto [index, type] : llvm::enumerate(types)) {
    if (!isa<RankedTensorType>(type))
      continue;
    StringAttr name = nameOf(index);
    if (!name)
      name = builder.getStringAttr(prefix + Twine(index));
    values.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("name", name),
         builder.getNamedAttr("type", TypeAttr::get(type))}));
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
      exec::StateOp::create(builder, state.getLoc(), state.getSymName(),
                            entry.offset, state.getType(), state.getInit(),
                            graph::stringifyStateRole(state.getRole()),
                            state.getTrainable(), state.getWhyAttr());
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
            [&](unsigned i) {
              return function.getArgAttrOfType<StringAttr>(i, graph::kNameAttr);
            },
            "arg"),
        valuesOf(
            builder, function.getResultTypes(),
            [&](unsigned i) {
              return function.getResultAttrOfType<StringAttr>(i,
                                                              graph::kNameAttr);
            },
            "result"));
    program.getBody().emplaceBlock();
    OpBuilder kernelBuilder(program);
    ProgramWriter(function, model, states, kernels, program, kernelBuilder)
        .run();
  }
};
} // namespace
