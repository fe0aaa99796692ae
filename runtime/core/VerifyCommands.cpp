// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checks of one exec program: its arenas and its commands.
#include "core/VerifyArtifact.h"

#include <vector>

namespace bessemer::runtime {

namespace {
constexpr size_t mostOperands = 1 << 20;
constexpr size_t mostNested = 8;
constexpr uint64_t mostIterations = uint64_t(1) << 31;

class CommandChecker {
public:
  CommandChecker(const std::string &name, const format::Program &program,
                 const format::ExecProgram &exec,
                 const format::Function &function)
      : name(name), program(program), exec(exec), function(function) {
    where = "program of '" + exec.function()->str() + "' for '" +
            exec.target()->str() + "'";
  }

  Status run() {
    BESSEMER_RETURN_IF_ERROR(checkArenas());
    return checkCommands(exec.commands());
  }

private:
  Status fail(const std::string &what, const std::string &expected,
              const std::string &got) const {
    return damaged(name, where + (what.empty() ? "" : ", " + what), expected,
                   got);
  }

  Status checkArenas() const;
  Status checkArena(size_t index, std::vector<unsigned> &boundOutputs) const;
  Status checkValueArena(
      const format::Arena &arena, const std::string &what, const char *kind,
      const flatbuffers::Vector<flatbuffers::Offset<format::Value>> *values)
      const;
  Status checkSlice(const std::string &what, const format::Slice &slice,
                    bool written) const;
  using CommandList = flatbuffers::Vector<flatbuffers::Offset<format::Command>>;
  Status checkCommands(const CommandList *commands);
  Status checkCommand(const format::Command &command);
  Status checkRepeat(const format::Repeat &repeat);
  Status checkReach(const std::string &what, const format::Slice &slice,
                    uint64_t arenaBytes) const;
  Status checkLaunch(const format::Launch &launch) const;
  Status checkLibrary(const format::Library &library) const;
  Status checkConvolutionOperands(const format::Library &library,
                                  const format::Convolution &conv) const;

  const std::string &name;
  const format::Program &program;
  const format::ExecProgram &exec;
  const format::Function &function;
  std::string where;
  /// Of the repeats around the command at hand, the outermost first.
  std::vector<uint64_t> counts;
};
} // namespace

Status CommandChecker::checkValueArena(
    const format::Arena &arena, const std::string &what, const char *kind,
    const flatbuffers::Vector<flatbuffers::Offset<format::Value>> *values)
    const {
  if (arena.value() >= sizeOf(values))
    return fail(what,
                std::string("an ") + kind + " below " +
                    std::to_string(sizeOf(values)),
                std::to_string(arena.value()));
  uint64_t bytes = 0;
  tensorBytes(values->Get(arena.value())->type(), bytes);
  if (arena.bytes() != bytes)
    return fail(what,
                std::to_string(bytes) + " bytes for " + kind + " '" +
                    values->Get(arena.value())->name()->str() + "'",
                std::to_string(arena.bytes()));
  return {};
}

Status CommandChecker::checkArena(size_t index,
                                  std::vector<unsigned> &boundOutputs) const {
  const format::Arena &arena = *exec.arenas()->Get(index);
  std::string what = "arena " + std::to_string(index);
  if (arena.bytes() > mostBytes)
    return fail(what, "at most 2^47 bytes", std::to_string(arena.bytes()));
  switch (arena.kind()) {
  case format::ArenaKind::state:
    if (arena.bytes() > program.state_bytes())
      return fail(what,
                  "at most the state's " +
                      std::to_string(program.state_bytes()) + " bytes",
                  std::to_string(arena.bytes()));
    return {};
  case format::ArenaKind::work:
    return {};
  case format::ArenaKind::input:
    return checkValueArena(arena, what, "input", function.inputs());
  case format::ArenaKind::output:
    BESSEMER_RETURN_IF_ERROR(
        checkValueArena(arena, what, "output", function.outputs()));
    ++boundOutputs[arena.value()];
    return {};
  case format::ArenaKind::step:
    if (arena.bytes() != 64)
      return fail(what, "a step block of 64 bytes",
                  std::to_string(arena.bytes()));
    return {};
  case format::ArenaKind::constant: {
    if (arena.blob() < 0 || uint64_t(arena.blob()) >= sizeOf(program.blobs()))
      return fail(what,
                  "a blob below " + std::to_string(sizeOf(program.blobs())),
                  std::to_string(arena.blob()));
    uint64_t bytes = program.blobs()->Get(arena.blob())->bytes();
    if (arena.bytes() != bytes)
      return fail(what, "its blob's " + std::to_string(bytes) + " bytes",
                  std::to_string(arena.bytes()));
    return {};
  }
  }
  return fail(what, "a kind of arena", std::to_string(int(arena.kind())));
}

Status CommandChecker::checkArenas() const {
  std::vector<unsigned> boundOutputs(sizeOf(function.outputs()));
  uint64_t work = 0;
  for (size_t i = 0; i < sizeOf(exec.arenas()); ++i) {
    BESSEMER_RETURN_IF_ERROR(checkArena(i, boundOutputs));
    const format::Arena &arena = *exec.arenas()->Get(i);
    if (arena.kind() == format::ArenaKind::work)
      work += format::alignArtifact(arena.bytes());
    if (work > mostBytes)
      return fail("work arenas", "at most 2^47 bytes together",
                  std::to_string(work));
  }
  for (size_t i = 0; i < boundOutputs.size(); ++i)
    if (boundOutputs[i] != 1)
      return fail("output '" + function.outputs()->Get(i)->name()->str() + "'",
                  "one arena", std::to_string(boundOutputs[i]));
  return {};
}

/// Checks a slice in all iterations: at its ends they are furthest.
Status CommandChecker::checkReach(const std::string &what,
                                  const format::Slice &slice,
                                  uint64_t arenaBytes) const {
  if (slice.strides() > sizeOf(exec.strides()))
    return fail(what,
                "strides of at most " + std::to_string(sizeOf(exec.strides())),
                std::to_string(slice.strides()));
  const auto *strides = exec.strides()->Get(slice.strides() - 1)->bytes();
  if (sizeOf(strides) > counts.size())
    return fail(what,
                "at most " + std::to_string(counts.size()) +
                    " strides, one per enclosing repeat",
                std::to_string(sizeOf(strides)));
  // Stays far from overflow: at most eight terms below 2^78.
  __int128 first = slice.offset(), last = slice.offset();
  for (size_t level = 0; level < sizeOf(strides); ++level) {
    int64_t stride = strides->Get(level);
    if (stride > int64_t(mostBytes) || stride < -int64_t(mostBytes))
      return fail(what, "strides of at most 2^47 bytes",
                  std::to_string(stride));
    __int128 moved = __int128(stride) * (counts[level] - 1);
    (moved < 0 ? first : last) += moved;
  }
  if (first < 0 || last + slice.bytes() > arenaBytes)
    return fail(what,
                "a slice that stays in arena " + std::to_string(slice.arena()) +
                    " (" + std::to_string(arenaBytes) +
                    " bytes) in all iterations",
                "one that leaves it");
  return {};
}

Status CommandChecker::checkSlice(const std::string &what,
                                  const format::Slice &slice,
                                  bool written) const {
  if (slice.arena() >= sizeOf(exec.arenas()))
    return fail(what, "an arena below " + std::to_string(sizeOf(exec.arenas())),
                std::to_string(slice.arena()));
  const format::Arena &arena = *exec.arenas()->Get(slice.arena());
  if (slice.bytes() > arena.bytes() ||
      slice.offset() > arena.bytes() - slice.bytes())
    return fail(what,
                "a slice of arena " + std::to_string(slice.arena()) + " (" +
                    std::to_string(arena.bytes()) + " bytes)",
                std::to_string(slice.bytes()) + " bytes from offset " +
                    std::to_string(slice.offset()));
  if (slice.strides())
    BESSEMER_RETURN_IF_ERROR(checkReach(what, slice, arena.bytes()));
  bool readOnly = arena.kind() == format::ArenaKind::input ||
                  arena.kind() == format::ArenaKind::step ||
                  arena.kind() == format::ArenaKind::constant;
  if (written && readOnly)
    return fail(what, "a writable arena",
                std::string("one of kind ") +
                    format::EnumNameArenaKind(arena.kind()));
  return {};
}

Status CommandChecker::checkLaunch(const format::Launch &launch) const {
  if (launch.kernel() >= sizeOf(program.kernels()))
    return fail("",
                "a kernel below " + std::to_string(sizeOf(program.kernels())),
                std::to_string(launch.kernel()));
  if (launch.tiles() > mostBytes)
    return fail("", "at most 2^47 tiles", std::to_string(launch.tiles()));
  if (sizeOf(launch.operands()) > mostOperands)
    return fail("", "at most 2^20 operands",
                std::to_string(sizeOf(launch.operands())));
  for (size_t i = 0; i < sizeOf(launch.operands()); ++i) {
    const format::Operand &operand = *launch.operands()->Get(i);
    std::string what = "operand " + std::to_string(i);
    switch (operand.kind()) {
    case format::OperandKind::slice:
      BESSEMER_RETURN_IF_ERROR(checkSlice(what, operand.slice(), false));
      break;
    case format::OperandKind::immediate:
      break;
    case format::OperandKind::tensor_map:
      return fail(what, "a slice or an immediate",
                  "a tensor_map, which this runtime does not run");
    default:
      return fail(what, "a kind of operand",
                  std::to_string(int(operand.kind())));
    }
  }
  return {};
}

Status CommandChecker::checkConvolutionOperands(
    const format::Library &library, const format::Convolution &conv) const {
  if (auto mismatch = checkConvolution(conv))
    return fail(mismatch->what, mismatch->expected, mismatch->got);
  std::vector<uint64_t> expected = convolutionOperandBytes(conv);
  if (sizeOf(library.operands()) != expected.size())
    return fail("convolution", std::to_string(expected.size()) + " operands",
                std::to_string(sizeOf(library.operands())));
  for (size_t i = 0; i < expected.size(); ++i) {
    std::string what = "operand " + std::to_string(i);
    const format::Slice &slice = *library.operands()->Get(i);
    BESSEMER_RETURN_IF_ERROR(checkSlice(what, slice, i + 1 == expected.size()));
    if (slice.bytes() != expected[i])
      return fail(what, std::to_string(expected[i]) + " bytes",
                  std::to_string(slice.bytes()));
  }
  return {};
}

Status CommandChecker::checkLibrary(const format::Library &library) const {
  if (library.library()->string_view() != "onednn")
    return fail("library", "onednn", library.library()->str());
  if (const auto *conv = library.descriptor_as_Convolution())
    return checkConvolutionOperands(library, *conv);
  return fail("library", "a convolution",
              "descriptor kind " +
                  std::to_string(int(library.descriptor_type())));
}

Status CommandChecker::checkRepeat(const format::Repeat &repeat) {
  if (counts.size() == mostNested)
    return fail("repeat", "at most 8 loops in each other", "more");
  if (repeat.count() < 1 || repeat.count() > mostIterations)
    return fail("repeat", "a count of 1 to 2^31",
                std::to_string(repeat.count()));
  counts.push_back(repeat.count());
  BESSEMER_RETURN_IF_ERROR(checkCommands(repeat.commands()));
  counts.pop_back();
  return {};
}

Status CommandChecker::checkCommands(const CommandList *commands) {
  const std::string base = where;
  for (size_t i = 0; i < sizeOf(commands); ++i) {
    const format::Command &command = *commands->Get(i);
    where = base + ", command " + std::to_string(i);
    if (command.label() && command.label()->size())
      where += " ('" + command.label()->str() + "')";
    BESSEMER_RETURN_IF_ERROR(checkCommand(command));
  }
  where = base;
  return {};
}

Status CommandChecker::checkCommand(const format::Command &command) {
  switch (command.body_type()) {
  case format::CommandBody::Launch:
    return checkLaunch(*command.body_as_Launch());
  case format::CommandBody::Library:
    return checkLibrary(*command.body_as_Library());
  case format::CommandBody::Copy: {
    const format::Copy &copy = *command.body_as_Copy();
    if (!copy.from() || !copy.to())
      return fail("copy", "two slices", "fewer");
    BESSEMER_RETURN_IF_ERROR(checkSlice("source", *copy.from(), false));
    BESSEMER_RETURN_IF_ERROR(checkSlice("target", *copy.to(), true));
    if (copy.from()->bytes() != copy.to()->bytes())
      return fail("copy",
                  "a target of " + std::to_string(copy.from()->bytes()) +
                      " bytes",
                  std::to_string(copy.to()->bytes()));
    return {};
  }
  case format::CommandBody::Fill: {
    const format::Fill &fill = *command.body_as_Fill();
    if (!fill.to())
      return fail("fill", "a slice", "none");
    BESSEMER_RETURN_IF_ERROR(checkSlice("target", *fill.to(), true));
    unsigned width = fill.width();
    if (width != 1 && width != 2 && width != 4 && width != 8)
      return fail("fill", "a width of 1, 2, 4 or 8 bytes",
                  std::to_string(width));
    if (fill.to()->bytes() % width)
      return fail("fill",
                  "a slice of whole patterns of " + std::to_string(width) +
                      " bytes",
                  std::to_string(fill.to()->bytes()) + " bytes");
    return {};
  }
  case format::CommandBody::Repeat:
    return checkRepeat(*command.body_as_Repeat());
  case format::CommandBody::Collective:
  case format::CommandBody::Record:
  case format::CommandBody::Wait:
  case format::CommandBody::Host:
  case format::CommandBody::If:
    return fail("", "launch, library, copy, fill or repeat",
                std::string("the reserved command ") +
                    format::EnumNameCommandBody(command.body_type()) +
                    ", which this runtime does not run");
  default:
    return fail("", "launch, library, copy, fill or repeat",
                "command kind " + std::to_string(int(command.body_type())));
  }
}

Status verifyCommands(const std::string &name, const format::Program &program,
                      const format::ExecProgram &exec,
                      const format::Function &function) {
  return CommandChecker(name, program, exec, function).run();
}

} // namespace bessemer::runtime
