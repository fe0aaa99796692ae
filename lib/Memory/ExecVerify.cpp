// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pass exec-verify: checks slices, then runs the commands on shadow memory.

#include "bessemer/Memory/FunctionModel.h"
#include "bessemer/Memory/OffsetPacking.h"
#include "bessemer/Memory/Passes.h"
#include "bessemer/Memory/ShadowMemory.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::exec;

namespace bessemer {
#define GEN_PASS_DEF_EXECVERIFY
#include "bessemer/Memory/Passes.h.inc"
} // namespace bessemer

namespace {
/// What a command does to memory.
struct Access {
  /// Where they are in the iteration at hand: without strides.
  SmallVector<SliceAttr> slices;
  /// As the command states them.
  SmallVector<SliceAttr> moving;
  /// Slices from here on are written, those before are read.
  unsigned firstResult = 0;
  /// Bytes expected of each slice, and of an element of it; empty when the
  /// command does not say.
  SmallVector<int64_t> bytes, elementBytes;
  /// Set for launches: may say that a result takes the place of an operand.
  kern::KernelOpInterface kernel;
};

class ProgramVerifier {
public:
  ProgramVerifier(ProgramOp program, SymbolTable &symbols)
      : program(program), symbols(symbols) {}

  LogicalResult run();

private:
  LogicalResult runBlock(Block &block);
  LogicalResult runCommand(Operation *command);
  LogicalResult runRepeat(RepeatOp repeat);
  LogicalResult addArena(ArenaOp arena);
  LogicalResult readAccess(Operation *command, Access &access);
  LogicalResult checkSlices(Operation *command, const Access &access);
  LogicalResult checkSlice(Operation *command, const Twine &what,
                           SliceAttr slice, int64_t alignment);
  /// The slice in the iteration at hand.
  SliceAttr resolve(SliceAttr slice) const;
  int64_t alignmentOf(SliceAttr slice, int64_t elementBytes) const;
  LogicalResult checkOverlaps(Operation *command, const Access &access);
  LogicalResult runOnShadow(Operation *command, const Access &access);
  LogicalResult checkRead(Operation *command, unsigned index, SliceAttr slice,
                          std::optional<int64_t> value);
  void write(Operation *command, SliceAttr slice, std::optional<int64_t> value);
  LogicalResult checkOutputs();

  /// A write that bytes may hold: by which command, of which value.
  struct Write {
    Operation *command;
    std::optional<int64_t> value;
  };
  std::string describe(int64_t tag) const;

  ProgramOp program;
  SymbolTable &symbols;
  llvm::MapVector<StringAttr, ArenaOp> arenas;
  DenseMap<StringAttr, ShadowMemory> memory;
  DenseMap<Operation *, unsigned> numbers;
  unsigned nextNumber = 0;
  /// The iteration of each enclosing repeat, the outermost first.
  SmallVector<int64_t> iterations;
  /// By tag. Tag 0 is what memory holds at entry.
  std::vector<Write> writes;
  /// Values that some command made.
  DenseMap<int64_t, Operation *> makers;
};
} // namespace

/// MLIR's accessors of i64 attributes are unsigned.
static int64_t bytesOf(ArenaOp arena) {
  return static_cast<int64_t>(arena.getBytes());
}

static bool overlap(SliceAttr a, SliceAttr b) {
  return a.getArena() == b.getArena() &&
         a.getOffset() < b.getOffset() + b.getBytes() &&
         b.getOffset() < a.getOffset() + a.getBytes();
}

/// Arenas whose content exists at entry.
static bool hasContent(ArenaKind kind) {
  return kind != ArenaKind::Work && kind != ArenaKind::Output;
}

static bool isWritable(ArenaKind kind) {
  return kind == ArenaKind::State || kind == ArenaKind::Work ||
         kind == ArenaKind::Output;
}

std::string ProgramVerifier::describe(int64_t tag) const {
  if (tag == ShadowMemory::kUnwritten)
    return "nothing";
  if (tag == 0)
    return "what it held at entry";
  Operation *command = writes[tag].command;
  std::string text =
      "the result of command " + std::to_string(numbers.lookup(command));
  if (auto label = command->getAttrOfType<StringAttr>("label"))
    text += " (" + label.str() + ")";
  return text;
}

LogicalResult ProgramVerifier::addArena(ArenaOp arena) {
  arenas[arena.getSymNameAttr()] = arena;
  if (bytesOf(arena) < 0)
    return arena.emitOpError("expected bytes of at least 0, got ")
           << bytesOf(arena);
  if (arena.getKind() == ArenaKind::Step && bytesOf(arena) != kStepBytes)
    return arena.emitOpError("expected the step block of 64 bytes, got ")
           << bytesOf(arena);
  bool isInput = arena.getKind() == ArenaKind::Input;
  if (isInput || arena.getKind() == ArenaKind::Output) {
    ArrayAttr values = isInput ? program.getInputs() : program.getOutputs();
    if (arena.getValue() >= values.size())
      return arena.emitOpError("expected a value below ")
             << values.size() << ", got " << arena.getValue();
    auto entry = cast<DictionaryAttr>(values[arena.getValue()]);
    auto type =
        cast<RankedTensorType>(entry.getAs<TypeAttr>("type").getValue());
    if (bytesOf(arena) != byteSize(type))
      return arena.emitOpError("expected ")
             << byteSize(type) << " bytes of " << type << ", got "
             << bytesOf(arena);
  }
  if (arena.getKind() == ArenaKind::Constant) {
    ElementsAttr data = arena.getDataAttr();
    if (!data || byteSize(cast<RankedTensorType>(data.getShapedType())) !=
                     bytesOf(arena))
      return arena.emitOpError("expected data of ")
             << bytesOf(arena) << " bytes";
  }
  if (hasContent(arena.getKind()))
    memory[arena.getSymNameAttr()].write(0, bytesOf(arena), 0);
  return success();
}

SliceAttr ProgramVerifier::resolve(SliceAttr slice) const {
  int64_t offset = slice.getOffset();
  for (auto [stride, iteration] : llvm::zip(slice.getStrides(), iterations))
    offset += stride * iteration;
  return SliceAttr::get(slice.getContext(), slice.getArena(), offset,
                        slice.getBytes(), {});
}

/// A slice that stands still begins like a buffer, one that moves at any
/// element. Fields of the step block have the alignment of their type.
int64_t ProgramVerifier::alignmentOf(SliceAttr slice,
                                     int64_t elementBytes) const {
  ArenaOp arena = arenas.lookup(slice.getArena().getAttr());
  if (arena && arena.getKind() == ArenaKind::Step)
    return 4;
  return slice.getStrides().empty() ? kBufferAlignment : elementBytes;
}

LogicalResult ProgramVerifier::readAccess(Operation *command, Access &access) {
  if (auto copy = dyn_cast<CopyOp>(command)) {
    access.slices = {copy.getFrom(), copy.getTo()};
    access.firstResult = 1;
    access.bytes = {copy.getFrom().getBytes(), copy.getFrom().getBytes()};
    return success();
  }
  if (auto fill = dyn_cast<FillOp>(command)) {
    access.slices = {fill.getTo()};
    return success();
  }
  if (auto library = dyn_cast<LibraryOp>(command)) {
    for (auto slice : library.getOperands().getAsRange<SliceAttr>())
      access.slices.push_back(slice);
    if (access.slices.empty())
      return library.emitOpError("expected a result");
    access.firstResult = access.slices.size() - 1;
    return success();
  }
  auto launch = dyn_cast<LaunchOp>(command);
  if (!launch)
    return command->emitOpError("expected an arena or a command");
  auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
  if (!kernel)
    return launch.emitOpError("expected a kernel, got '")
           << launch.getKernel() << "'";
  Operation *op = kernel.getKernelOp();
  access.kernel = cast<kern::KernelOpInterface>(op);
  for (auto slice : launch.getOperands().getAsRange<SliceAttr>())
    access.slices.push_back(slice);
  access.firstResult = op->getNumOperands();
  for (auto types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      access.bytes.push_back(tensor ? byteSize(tensor) : kStepBytes);
      access.elementBytes.push_back(
          tensor ? llvm::divideCeil(tensor.getElementTypeBitWidth(), 8) : 4);
    }
  if (access.slices.size() != access.bytes.size())
    return launch.emitOpError("expected ")
           << access.bytes.size() << " operands of kernel '"
           << launch.getKernel() << "', got " << access.slices.size();
  return success();
}

LogicalResult ProgramVerifier::checkSlice(Operation *command, const Twine &what,
                                          SliceAttr slice, int64_t alignment) {
  ArenaOp arena = arenas.lookup(slice.getArena().getAttr());
  if (!arena)
    return command->emitOpError(what)
           << ": expected an arena of the program before it, got "
           << slice.getArena();
  if (slice.getOffset() < 0 || slice.getBytes() < 0 ||
      slice.getBytes() > bytesOf(arena) ||
      slice.getOffset() > bytesOf(arena) - slice.getBytes())
    return command->emitOpError(what) << ": expected bytes of the arena's "
                                      << bytesOf(arena) << ", got " << slice;
  if (slice.getOffset() % alignment)
    return command->emitOpError(what)
           << ": expected an offset that is a multiple of " << alignment
           << ", got " << slice;
  return success();
}

LogicalResult ProgramVerifier::checkSlices(Operation *command,
                                           const Access &access) {
  for (auto [index, slice] : llvm::enumerate(access.slices)) {
    SliceAttr moving = access.moving[index];
    if (moving.getStrides().size() > iterations.size())
      return command->emitOpError("slice ")
             << index << ": expected at most " << iterations.size()
             << " strides, one per enclosing repeat, got " << moving;
    int64_t alignment = alignmentOf(
        moving, access.elementBytes.empty() ? 1 : access.elementBytes[index]);
    if (failed(checkSlice(command, "slice " + Twine(index), slice, alignment)))
      return failure();
    ArenaOp arena = arenas.lookup(slice.getArena().getAttr());
    if (!access.bytes.empty() && slice.getBytes() != access.bytes[index])
      return command->emitOpError("slice ")
             << index << ": expected " << access.bytes[index] << " bytes, got "
             << slice;
    if (index >= access.firstResult && !isWritable(arena.getKind()))
      return command->emitOpError("slice ")
             << index << ": expected a writable arena, got "
             << stringifyArenaKind(arena.getKind()) << " arena "
             << slice.getArena();
  }
  auto values = command->getAttrOfType<DenseI64ArrayAttr>("values");
  if (values && values.size() != int64_t(access.slices.size()))
    return command->emitOpError("expected one value per slice, got ")
           << values.size() << " for " << access.slices.size();
  return success();
}

LogicalResult ProgramVerifier::checkOverlaps(Operation *command,
                                             const Access &access) {
  for (unsigned w = access.firstResult; w < access.slices.size(); ++w) {
    for (unsigned other = 0; other < w; ++other) {
      SliceAttr written = access.slices[w], read = access.slices[other];
      if (!overlap(written, read))
        continue;
      if (other >= access.firstResult)
        return command->emitOpError("writes slices ")
               << other << " and " << w << ", which overlap: " << read
               << " and " << written;
      if (written != read)
        return command->emitOpError("writes ")
               << written << " and reads other bytes there: " << read;
      if (!access.kernel ||
          !kern::KernelOpInterface(access.kernel)
               .canReuseOperand(other, w - access.firstResult))
        return command->emitOpError("writes ")
               << written << " in place of operand " << other
               << ", which it may not";
    }
  }
  return success();
}

LogicalResult ProgramVerifier::checkRead(Operation *command, unsigned index,
                                         SliceAttr slice,
                                         std::optional<int64_t> value) {
  std::optional<int64_t> first;
  for (const ShadowMemory::Segment &segment :
       memory[slice.getArena().getAttr()].read(
           slice.getOffset(), slice.getOffset() + slice.getBytes())) {
    auto fail = [&](const Twine &expected) {
      InFlightDiagnostic error = command->emitOpError("command ")
                                 << numbers.lookup(command) << " reads "
                                 << slice << " (slice " << index
                                 << "): expected " << expected << " in bytes "
                                 << segment.begin << " to " << segment.end
                                 << ", got " << describe(segment.tag);
      if (segment.tag > 0)
        error.attachNote(writes[segment.tag].command->getLoc())
            << "written here";
      return error;
    };
    if (segment.tag == ShadowMemory::kUnwritten)
      return fail("a value");
    if (!value) {
      // Without numbers, a value is what one write left.
      if (first && *first != segment.tag)
        return fail(describe(*first));
      first = segment.tag;
      continue;
    }
    Operation *maker = makers.lookup(*value);
    bool same = segment.tag == 0 ? !maker : writes[segment.tag].value == *value;
    if (!same)
      return fail("value " + Twine(*value) +
                  (maker ? ", the result of command " +
                               std::to_string(numbers.lookup(maker))
                         : std::string(", which exists at entry")));
  }
  return success();
}

LogicalResult ProgramVerifier::runOnShadow(Operation *command,
                                           const Access &access) {
  auto values = command->getAttrOfType<DenseI64ArrayAttr>("values");
  auto valueOf = [&](unsigned index) {
    return values ? std::optional<int64_t>(values[index]) : std::nullopt;
  };
  for (unsigned i = 0; i < access.firstResult; ++i)
    if (failed(checkRead(command, i, access.slices[i], valueOf(i))))
      return failure();
  for (unsigned i = access.firstResult; i < access.slices.size(); ++i) {
    std::optional<int64_t> value = valueOf(i);
    // A copy does not make the value it copies.
    if (value && !(isa<CopyOp>(command) && values[0] == *value))
      makers.try_emplace(*value, command);
    write(command, access.slices[i], value);
  }
  return success();
}

void ProgramVerifier::write(Operation *command, SliceAttr slice,
                            std::optional<int64_t> value) {
  memory[slice.getArena().getAttr()].write(
      slice.getOffset(), slice.getOffset() + slice.getBytes(), writes.size());
  writes.push_back({command, value});
}

LogicalResult ProgramVerifier::checkOutputs() {
  for (auto &[name, arena] : arenas) {
    if (arena.getKind() != ArenaKind::Output)
      continue;
    for (const ShadowMemory::Segment &segment :
         memory[name].read(0, bytesOf(arena)))
      if (segment.tag == ShadowMemory::kUnwritten)
        return arena.emitOpError("expected every byte of the output to be "
                                 "written, got nothing in bytes ")
               << segment.begin << " to " << segment.end;
  }
  return success();
}

/// What is carried changes its number at both ends of the body, so that an old
/// and a new value in one place are told apart; temporaries are forgotten.
LogicalResult ProgramVerifier::runRepeat(RepeatOp repeat) {
  SmallVector<SliceAttr> carried, scratch;
  for (auto slice : repeat.getCarried().getAsRange<SliceAttr>())
    carried.push_back(resolve(slice));
  for (auto slice : repeat.getScratch().getAsRange<SliceAttr>())
    scratch.push_back(resolve(slice));
  for (const auto &list : {carried, scratch})
    for (auto [index, slice] : llvm::enumerate(list))
      if (failed(checkSlice(repeat, "slice " + Twine(index), slice, 1)))
        return failure();
  auto rename = [&](unsigned from) -> LogicalResult {
    auto values = repeat.getValues();
    for (auto [index, slice] : llvm::enumerate(carried)) {
      std::optional<int64_t> expected, renamed;
      if (values) {
        expected = (*values)[3 * index + from];
        renamed = (*values)[3 * index + 1];
        if (*expected == *renamed)
          continue;
      }
      if (failed(checkRead(repeat, index, slice, expected)))
        return failure();
      if (renamed)
        makers.try_emplace(*renamed, repeat);
      write(repeat, slice, renamed);
    }
    return success();
  };
  if (failed(rename(0)))
    return failure();
  iterations.push_back(0);
  auto count = static_cast<int64_t>(repeat.getCount());
  for (int64_t &iteration = iterations.back(); iteration < count; ++iteration) {
    if (failed(runBlock(repeat.getBody().front())) || failed(rename(2)))
      return failure();
    for (SliceAttr slice : scratch)
      memory[slice.getArena().getAttr()].write(
          slice.getOffset(), slice.getOffset() + slice.getBytes(),
          ShadowMemory::kUnwritten);
  }
  iterations.pop_back();
  return success();
}

LogicalResult ProgramVerifier::runCommand(Operation *command) {
  if (numbers.try_emplace(command, nextNumber).second)
    ++nextNumber;
  if (auto repeat = dyn_cast<RepeatOp>(command))
    return runRepeat(repeat);
  Access access;
  if (failed(readAccess(command, access)))
    return failure();
  access.moving = access.slices;
  for (SliceAttr &slice : access.slices)
    slice = resolve(slice);
  return success(succeeded(checkSlices(command, access)) &&
                 succeeded(checkOverlaps(command, access)) &&
                 succeeded(runOnShadow(command, access)));
}

LogicalResult ProgramVerifier::runBlock(Block &block) {
  for (Operation &op : block) {
    if (auto arena = dyn_cast<ArenaOp>(op)) {
      if (failed(addArena(arena)))
        return failure();
      continue;
    }
    if (failed(runCommand(&op)))
      return failure();
  }
  return success();
}

LogicalResult ProgramVerifier::run() {
  writes.push_back({nullptr, std::nullopt});
  if (failed(runBlock(program.getBody().front())))
    return failure();
  return checkOutputs();
}

namespace {
struct ExecVerify : bessemer::impl::ExecVerifyBase<ExecVerify> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (Operation &op : *getOperation().getBody()) {
      if (isa<func::FuncOp, graph::StateOp>(op)) {
        op.emitOpError("expected no op of the levels above exec");
        return signalPassFailure();
      }
      if (auto program = dyn_cast<ProgramOp>(op))
        if (failed(ProgramVerifier(program, symbols).run()))
          return signalPassFailure();
    }
    if (failed(checkStates()))
      return signalPassFailure();
  }

  /// States lie apart from each other, in the arena of every program.
  LogicalResult checkStates() {
    SmallVector<StateOp> states(getOperation().getOps<StateOp>());
    llvm::stable_sort(states, [](StateOp a, StateOp b) {
      return a.getOffset() < b.getOffset();
    });
    int64_t end = 0;
    for (StateOp state : states) {
      int64_t offset = state.getOffset();
      if (offset % kBufferAlignment || offset < end)
        return state.emitOpError("expected an offset that is a multiple of 64 "
                                 "and at least ")
               << end << ", got " << offset;
      end = offset + byteSize(cast<RankedTensorType>(state.getType()));
    }
    for (auto program : getOperation().getOps<ProgramOp>())
      for (auto arena : program.getOps<ArenaOp>())
        if (arena.getKind() == ArenaKind::State && bytesOf(arena) < end)
          return arena.emitOpError("expected at least the ")
                 << end << " bytes of all states, got " << bytesOf(arena);
    return success();
  }
};
} // namespace
