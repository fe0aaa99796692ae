// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// exec level -> artifact.

#include "ElementData.h"
#include "bessemer/Dialect/Exec/IR/Exec.h"
#include "bessemer/Emit/Emit.h"
#include "llvm/ADT/StringMap.h"
#include <map>

using namespace mlir;
using namespace bessemer;
using namespace bessemer::exec;

namespace {
/// Collects the table and the blobs of one artifact.
class ProgramEmitter {
public:
  ProgramEmitter(ModuleOp module, ArrayRef<CodeForTarget> code,
                 const EmitOptions &options)
      : module(module), code(code), options(options) {}

  LogicalResult collect();
  void write(raw_ostream &stream);

private:
  unsigned addBlob(StringRef bytes);
  FailureOr<unsigned> addElements(Operation *op, ElementsAttr elements);
  LogicalResult addCode();
  LogicalResult addKernels();
  LogicalResult addFunctions();
  LogicalResult addPrograms();
  LogicalResult addStates();
  LogicalResult addProgram(ProgramOp op, const CodeForTarget &target);
  LogicalResult addArena(ArenaOp arena);
  FailureOr<std::vector<std::unique_ptr<format::ValueT>>>
  readValues(ProgramOp op, ArrayAttr values);
  FailureOr<format::CommandBodyUnion> readCommand(Operation &op,
                                                  const CodeForTarget &target);
  FailureOr<format::CommandBodyUnion> readLibrary(LibraryOp op);
  format::Slice readSlice(SliceAttr slice);
  LogicalResult addCommands(Block &block, const CodeForTarget &target,
                            std::vector<std::unique_ptr<format::CommandT>> &to);

  ModuleOp module;
  ArrayRef<CodeForTarget> code;
  const EmitOptions &options;
  format::ProgramT table;
  std::vector<std::string_view> blobs;
  /// Bytes that no attribute holds. Growing does not move them.
  std::deque<std::string> storage;
  DenseMap<Attribute, unsigned> elementBlobs;
  llvm::StringMap<unsigned> kernelNumbers;
  /// Entries of the targets' kernels by name, as in `code`.
  std::vector<llvm::StringMap<const KernelCode *>> kernelCode;
  /// The program at hand, its arenas, and its strides by their list.
  format::ExecProgramT *program = nullptr;
  llvm::StringMap<unsigned> arenaNumbers;
  std::map<std::vector<int64_t>, unsigned> strideNumbers;
};
} // namespace

unsigned ProgramEmitter::addBlob(StringRef bytes) {
  blobs.emplace_back(bytes.data(), bytes.size());
  return blobs.size() - 1;
}

/// The blob of a constant tensor; equal attributes share one.
FailureOr<unsigned> ProgramEmitter::addElements(Operation *op,
                                                ElementsAttr elements) {
  auto [known, isNew] = elementBlobs.try_emplace(elements, 0);
  if (isNew) {
    std::optional<std::string_view> bytes = elementBytes(elements, storage);
    if (!bytes)
      return op->emitOpError("expected a constant with its data");
    known->second = addBlob(StringRef(bytes->data(), bytes->size()));
  }
  return known->second;
}

LogicalResult ProgramEmitter::addCode() {
  for (const CodeForTarget &target : code) {
    auto object = std::make_unique<format::CodeObjectT>();
    object->target = target.target;
    object->blob = addBlob(StringRef(target.bytes.data(), target.bytes.size()));
    table.code.push_back(std::move(object));
    llvm::StringMap<const KernelCode *> &entries = kernelCode.emplace_back();
    for (const KernelCode &kernel : target.kernels)
      entries[kernel.name] = &kernel;
  }
  if (code.empty())
    return module.emitError("expected code of at least one target");
  return success();
}

LogicalResult ProgramEmitter::addKernels() {
  for (auto op : module.getOps<KernelOp>()) {
    kernelNumbers[op.getSymName()] = table.kernels.size();
    auto kernel = std::make_unique<format::KernelT>();
    kernel->name = op.getSymName().str();
    llvm::raw_string_ostream source(kernel->source);
    op.getKernelOp()->print(source, OpPrintingFlags().useLocalScope());
    for (size_t t = 0; t < code.size(); ++t) {
      const KernelCode *entry = kernelCode[t].lookup(op.getSymName());
      if (!entry)
        return op.emitOpError("expected code for target '")
               << code[t].target << "'";
      kernel->entries.push_back(entry->offset);
      kernel->scratch.push_back(entry->scratch);
    }
    table.kernels.push_back(std::move(kernel));
  }
  return success();
}

static std::unique_ptr<format::ValueRangeT>
formatRange(graph::InputRangeAttr range) {
  auto result = std::make_unique<format::ValueRangeT>();
  result->meaning = range.getMeaning().str();
  result->least = range.getLeast();
  result->most = range.getMost();
  result->exempt.assign(range.getExempt().begin(), range.getExempt().end());
  if (ArrayRef<int64_t> part = range.getPart(); !part.empty()) {
    result->dim = part[0];
    result->begin = part[1];
    result->end = part[2];
  }
  return result;
}

FailureOr<std::vector<std::unique_ptr<format::ValueT>>>
ProgramEmitter::readValues(ProgramOp op, ArrayAttr values) {
  std::vector<std::unique_ptr<format::ValueT>> result;
  for (auto entry : values.getAsRange<DictionaryAttr>()) {
    auto type =
        dyn_cast<RankedTensorType>(entry.getAs<TypeAttr>("type").getValue());
    if (!type || !formatElementType(type.getElementType()))
      return op.emitOpError("expected tensors of elements that artifacts have, "
                            "got ")
             << entry;
    auto value = std::make_unique<format::ValueT>();
    value->name = entry.getAs<StringAttr>("name").str();
    value->type = formatTensorType(type);
    if (auto ranges = entry.getAs<ArrayAttr>("ranges"))
      for (auto range : ranges.getAsRange<graph::InputRangeAttr>())
        value->ranges.push_back(formatRange(range));
    result.push_back(std::move(value));
  }
  return std::move(result);
}

LogicalResult ProgramEmitter::addFunctions() {
  for (auto op : module.getOps<ProgramOp>()) {
    auto inputs = readValues(op, op.getInputs());
    auto outputs = readValues(op, op.getOutputs());
    if (failed(inputs) || failed(outputs))
      return failure();
    auto function = std::make_unique<format::FunctionT>();
    function->name = op.getSymName().str();
    function->inputs = std::move(*inputs);
    function->outputs = std::move(*outputs);
    table.functions.push_back(std::move(function));
  }
  return success();
}

format::Slice ProgramEmitter::readSlice(SliceAttr slice) {
  unsigned strides = 0;
  if (!slice.getStrides().empty()) {
    std::vector<int64_t> list(slice.getStrides().begin(),
                              slice.getStrides().end());
    auto [known, isNew] =
        strideNumbers.try_emplace(list, program->strides.size() + 1);
    if (isNew) {
      program->strides.push_back(std::make_unique<format::StridesT>());
      program->strides.back()->bytes = list;
    }
    strides = known->second;
  }
  return format::Slice(arenaNumbers.lookup(slice.getArena().getValue()),
                       strides, slice.getOffset(), slice.getBytes());
}

LogicalResult ProgramEmitter::addArena(ArenaOp op) {
  // The enums have the same values in both schemas.
  auto arena = std::make_unique<format::ArenaT>();
  arena->kind = static_cast<format::ArenaKind>(op.getKind());
  arena->bytes = op.getBytes();
  arena->value = op.getValue();
  arena->bound = op.getBound();
  if (op.getKind() == ArenaKind::Constant) {
    FailureOr<unsigned> blob = addElements(op, op.getDataAttr());
    if (failed(blob))
      return failure();
    arena->blob = *blob;
  }
  arenaNumbers[op.getSymName()] = program->arenas.size();
  program->arenas.push_back(std::move(arena));
  return success();
}

FailureOr<format::CommandBodyUnion> ProgramEmitter::readLibrary(LibraryOp op) {
  if (op.getLibrary() != "onednn.convolution")
    return op.emitOpError("expected 'onednn.convolution', got '")
           << op.getLibrary() << "'";
  DictionaryAttr descriptor = op.getDescriptor();
  format::ConvolutionT convolution;
  bool complete = true;
  auto numbers = [&](StringRef key) {
    auto values = descriptor.getAs<DenseI64ArrayAttr>(key);
    complete &= bool(values);
    return values ? std::vector<int64_t>(values.asArrayRef().begin(),
                                         values.asArrayRef().end())
                  : std::vector<int64_t>();
  };
  auto text = [&](StringRef key) {
    auto value = descriptor.getAs<StringAttr>(key);
    complete &= bool(value);
    return value ? value.str() : std::string();
  };
  convolution.x = numbers("x");
  convolution.w = numbers("w");
  convolution.y = numbers("y");
  convolution.strides = numbers("strides");
  convolution.dilations = numbers("dilations");
  // Both in the order top, left, bottom, right.
  convolution.pads = numbers("pads");
  convolution.x_layout = text("x_layout");
  convolution.w_layout = text("w_layout");
  convolution.y_layout = text("y_layout");
  std::optional<kern::ConvKind> kind = kern::symbolizeConvKind(text("kind"));
  auto groups = descriptor.getAs<IntegerAttr>("groups");
  auto hasBias = descriptor.getAs<BoolAttr>("has_bias");
  auto winograd = descriptor.getAs<BoolAttr>("winograd");
  if (!complete || !kind || !groups || !hasBias)
    return op.emitOpError("expected the descriptor of a convolution, got ")
           << descriptor;
  convolution.kind = static_cast<format::ConvolutionKind>(*kind);
  convolution.groups = groups.getInt();
  convolution.has_bias = hasBias.getValue();
  convolution.winograd = winograd && winograd.getValue();

  format::LibraryT library;
  library.library = "onednn";
  library.descriptor.Set(std::move(convolution));
  for (auto slice : op.getOperands().getAsRange<SliceAttr>())
    library.operands.push_back(readSlice(slice));
  format::CommandBodyUnion body;
  body.Set(std::move(library));
  return std::move(body);
}

FailureOr<format::CommandBodyUnion>
ProgramEmitter::readCommand(Operation &op, const CodeForTarget &target) {
  format::CommandBodyUnion body;
  if (auto launch = dyn_cast<LaunchOp>(op)) {
    auto kernel = kernelNumbers.find(launch.getKernel());
    if (kernel == kernelNumbers.end())
      return launch.emitOpError("expected a kernel, got '")
             << launch.getKernel() << "'";
    format::LaunchT result;
    result.kernel = kernel->second;
    const KernelCode *entry =
        kernelCode[&target - code.data()].lookup(launch.getKernel());
    result.tiles = entry->tiles;
    result.small = entry->isSmall;
    for (auto slice : launch.getOperands().getAsRange<SliceAttr>())
      result.operands.emplace_back(format::OperandKind::slice, 0,
                                   readSlice(slice));
    body.Set(std::move(result));
    return std::move(body);
  }
  if (auto copy = dyn_cast<CopyOp>(op)) {
    format::CopyT result;
    result.from = std::make_unique<format::Slice>(readSlice(copy.getFrom()));
    result.to = std::make_unique<format::Slice>(readSlice(copy.getTo()));
    body.Set(std::move(result));
    return std::move(body);
  }
  if (auto fill = dyn_cast<FillOp>(op)) {
    format::FillT result;
    result.to = std::make_unique<format::Slice>(readSlice(fill.getTo()));
    result.pattern = fill.getPattern();
    result.width = fill.getWidth();
    body.Set(std::move(result));
    return std::move(body);
  }
  if (auto library = dyn_cast<LibraryOp>(op))
    return readLibrary(library);
  if (auto repeat = dyn_cast<RepeatOp>(op)) {
    format::RepeatT result;
    result.count = repeat.getCount();
    if (failed(addCommands(repeat.getBody().front(), target, result.commands)))
      return failure();
    body.Set(std::move(result));
    return std::move(body);
  }
  return op.emitOpError("expected a command that artifacts have");
}

LogicalResult ProgramEmitter::addCommands(
    Block &block, const CodeForTarget &target,
    std::vector<std::unique_ptr<format::CommandT>> &to) {
  for (Operation &op : block) {
    if (isa<ArenaOp>(op))
      continue;
    FailureOr<format::CommandBodyUnion> body = readCommand(op, target);
    if (failed(body))
      return failure();
    auto command = std::make_unique<format::CommandT>();
    command->body = std::move(*body);
    if (auto label = op.getAttrOfType<StringAttr>("label"))
      command->label = label.str();
    to.push_back(std::move(command));
  }
  return success();
}

LogicalResult ProgramEmitter::addProgram(ProgramOp op,
                                         const CodeForTarget &target) {
  auto result = std::make_unique<format::ExecProgramT>();
  program = result.get();
  program->function = op.getSymName().str();
  program->target = target.target;
  arenaNumbers.clear();
  strideNumbers.clear();
  for (auto arena : op.getOps<ArenaOp>())
    if (failed(addArena(arena)))
      return failure();
  if (failed(addCommands(op.getBody().front(), target, program->commands)))
    return failure();
  table.programs.push_back(std::move(result));
  return success();
}

LogicalResult ProgramEmitter::addPrograms() {
  for (auto op : module.getOps<ProgramOp>())
    for (const CodeForTarget &target : code)
      if (failed(addProgram(op, target)))
        return failure();
  return success();
}

LogicalResult ProgramEmitter::addStates() {
  for (auto op : module.getOps<StateOp>()) {
    auto type = cast<RankedTensorType>(op.getType());
    std::optional<graph::StateRole> role =
        graph::symbolizeStateRole(op.getRole());
    std::optional<format::ElementType> element =
        formatElementType(type.getElementType());
    if (!role || !element)
      return op.emitOpError("expected a role and an element type that "
                            "artifacts have");
    auto state = std::make_unique<format::StateT>();
    state->name = op.getSymName().str();
    state->role = static_cast<format::StateRole>(*role);
    state->type = formatTensorType(type);
    state->offset = op.getOffset();
    state->trainable = op.getTrainable();
    state->why = op.getWhy().value_or("").str();
    state->layout = op.getLayout().value_or("").str();
    if (std::optional<double> splat = splatValue(op.getInit())) {
      state->splat = *splat;
    } else {
      FailureOr<unsigned> blob = addElements(op, op.getInit());
      if (failed(blob))
        return failure();
      state->init_blob = *blob;
    }
    uint64_t bytes = type.getNumElements() *
                     llvm::divideCeil(type.getElementTypeBitWidth(), 8);
    table.state_bytes = std::max(table.state_bytes,
                                 format::alignArtifact(state->offset + bytes));
    table.states.push_back(std::move(state));
  }
  return success();
}

LogicalResult ProgramEmitter::collect() {
  table.producer = options.producer;
  for (const auto &[key, value] : options.settings) {
    auto setting = std::make_unique<format::SettingT>();
    setting->key = key;
    setting->value = value;
    table.settings.push_back(std::move(setting));
  }
  for (const ConstantNote &note : options.constants) {
    auto constant = std::make_unique<format::ConstantT>();
    constant->name = note.name;
    constant->type = note.type;
    constant->why = note.why;
    table.constants.push_back(std::move(constant));
  }
  // Small things first: what `inspect` reads lies in front of the weights.
  if (failed(addCode()) || failed(addKernels()) || failed(addFunctions()) ||
      failed(addPrograms()))
    return failure();
  if (!options.sourceModel.empty())
    table.model_blob = addBlob(options.sourceModel);
  return addStates();
}

void ProgramEmitter::write(raw_ostream &stream) {
  std::string head = format::packArtifactHead(table, blobs);
  stream << head;
  uint64_t written = head.size();
  for (size_t i = 0; i < blobs.size(); ++i) {
    stream.write_zeros(table.blobs[i].offset() - written);
    stream.write(blobs[i].data(), blobs[i].size());
    written = table.blobs[i].offset() + blobs[i].size();
  }
}

LogicalResult bessemer::emitProgram(ModuleOp module,
                                    ArrayRef<CodeForTarget> code,
                                    const EmitOptions &options,
                                    raw_ostream &stream) {
  ProgramEmitter emitter(module, code, options);
  if (failed(emitter.collect()))
    return failure();
  emitter.write(stream);
  return success();
}
