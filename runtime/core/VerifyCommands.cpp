// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checks of one exec program: its arenas and its commands.
#include "core/VerifyArtifact.h"

#include <array>
#include <vector>

namespace bessemer::runtime {

namespace {
constexpr uint64_t mostBytes = uint64_t(1) << 47;
constexpr size_t mostOperands = 1 << 20;

template <typename V> size_t sizeOf(const V *vector) {
  return vector ? vector->size() : 0;
}

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
    const std::string base = where;
    for (size_t i = 0; i < sizeOf(exec.commands()); ++i) {
      const format::Command &command = *exec.commands()->Get(i);
      where = base + ", command " + std::to_string(i);
      if (command.label() && command.label()->size())
        where += " ('" + command.label()->str() + "')";
      BESSEMER_RETURN_IF_ERROR(checkCommand(command));
    }
    return {};
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
  Status checkCommand(const format::Command &command) const;
  Status checkLaunch(const format::Launch &launch) const;
  Status checkLibrary(const format::Library &library) const;
  Status checkConvolution(const format::Library &library,
                          const format::Convolution &conv) const;

  const std::string &name;
  const format::Program &program;
  const format::ExecProgram &exec;
  const format::Function &function;
  std::string where;
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

Status CommandChecker::checkSlice(const std::string &what,
                                  const format::Slice &slice,
                                  bool written) const {
  if (slice.arena() >= sizeOf(exec.arenas()))
    return fail(what,
                "an arena below " + std::to_string(sizeOf(exec.arenas())),
                std::to_string(slice.arena()));
  const format::Arena &arena = *exec.arenas()->Get(slice.arena());
  if (slice.bytes() > arena.bytes() ||
      slice.offset() > arena.bytes() - slice.bytes())
    return fail(what,
                "a slice of arena " + std::to_string(slice.arena()) + " (" +
                    std::to_string(arena.bytes()) + " bytes)",
                std::to_string(slice.bytes()) + " bytes from offset " +
                    std::to_string(slice.offset()));
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

Status
CommandChecker::checkConvolution(const format::Library &library,
                                 const format::Convolution &conv) const {
  auto list = [](const flatbuffers::Vector<int64_t> *values) {
    std::string text = "[";
    for (size_t i = 0; i < sizeOf(values); ++i)
      text += (i ? ", " : "") + std::to_string(values->Get(i));
    return text + "]";
  };
  struct Field {
    const char *name;
    const flatbuffers::Vector<int64_t> *values;
    size_t count;
    int64_t least;
  };
  const std::array<Field, 6> fields = {
      {{"x", conv.x(), 4, 1},
       {"w", conv.w(), 4, 1},
       {"y", conv.y(), 4, 1},
       {"strides", conv.strides(), 2, 1},
       {"dilations", conv.dilations(), 2, 1},
       {"pads", conv.pads(), 4, 0}}};
  for (const Field &field : fields) {
    bool good = sizeOf(field.values) == field.count;
    for (size_t i = 0; good && i < field.count; ++i)
      good = field.values->Get(i) >= field.least &&
             field.values->Get(i) <= INT32_MAX;
    if (!good)
      return fail(std::string("convolution ") + field.name,
                  std::to_string(field.count) + " numbers of at least " +
                      std::to_string(field.least),
                  list(field.values));
  }
  for (const auto *layout : {conv.x_layout(), conv.w_layout(), conv.y_layout()})
    if (layout && layout->size() && layout->string_view() != "row")
      return fail("convolution layout", "row", layout->str());
  if (conv.kind() > format::ConvolutionKind::MAX)
    return fail("", "a kind of convolution", std::to_string(int(conv.kind())));

  auto x = [&](int i) { return conv.x()->Get(i); };
  auto w = [&](int i) { return conv.w()->Get(i); };
  auto y = [&](int i) { return conv.y()->Get(i); };
  int64_t groups = conv.groups();
  bool channels = groups >= 1 && groups <= INT32_MAX &&
                  w(1) * groups == x(1) && w(0) % groups == 0 &&
                  y(1) == w(0) && y(0) == x(0);
  for (int d = 0; channels && d < 2; ++d) {
    int64_t reach = (w(2 + d) - 1) * conv.dilations()->Get(d) + 1;
    int64_t room =
        x(2 + d) + conv.pads()->Get(d) + conv.pads()->Get(2 + d) - reach;
    channels = room >= 0 && y(2 + d) == room / conv.strides()->Get(d) + 1;
  }
  if (!channels)
    return fail("convolution", "shapes that fit each other",
                "x " + list(conv.x()) + ", w " + list(conv.w()) + ", y " +
                    list(conv.y()) + ", groups " + std::to_string(groups) +
                    ", strides " + list(conv.strides()) + ", dilations " +
                    list(conv.dilations()) + ", pads " + list(conv.pads()));

  // Operands in order, by the kind of convolution.
  auto bytes = [](const flatbuffers::Vector<int64_t> &shape) {
    uint64_t count = 4;
    for (int64_t extent : shape)
      if (__builtin_mul_overflow(count, uint64_t(extent), &count) ||
          count > mostBytes)
        return mostBytes + 1;
    return count;
  };
  uint64_t xBytes = bytes(*conv.x()), wBytes = bytes(*conv.w()),
           yBytes = bytes(*conv.y());
  std::vector<uint64_t> expected;
  if (conv.kind() == format::ConvolutionKind::forward) {
    expected = {xBytes, wBytes};
    if (conv.has_bias())
      expected.push_back(uint64_t(w(0)) * 4);
    expected.push_back(yBytes);
  } else if (conv.kind() == format::ConvolutionKind::input_gradient) {
    expected = {yBytes, wBytes, xBytes};
  } else {
    expected = {xBytes, yBytes, wBytes};
  }
  if (sizeOf(library.operands()) != expected.size())
    return fail("convolution", std::to_string(expected.size()) + " operands",
                std::to_string(sizeOf(library.operands())));
  for (size_t i = 0; i < expected.size(); ++i) {
    std::string what = "operand " + std::to_string(i);
    const format::Slice &slice = *library.operands()->Get(i);
    BESSEMER_RETURN_IF_ERROR(
        checkSlice(what, slice, i + 1 == expected.size()));
    if (slice.bytes() != expected[i])
      return fail(what, std::to_string(expected[i]) + " bytes",
                  std::to_string(slice.bytes()));
  }
  return {};
}

Status CommandChecker::checkLibrary(const format::Library &library) const {
  if (library.library()->string_view() != "onednn.convolution")
    return fail("library", "onednn.convolution", library.library()->str());
  if (const auto *conv = library.descriptor_as_Convolution())
    return checkConvolution(library, *conv);
  return fail("library", "a convolution",
              "descriptor kind " +
                  std::to_string(int(library.descriptor_type())));
}

Status CommandChecker::checkCommand(const format::Command &command) const {
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
  case format::CommandBody::Collective:
  case format::CommandBody::Record:
  case format::CommandBody::Wait:
  case format::CommandBody::Host:
  case format::CommandBody::Repeat:
  case format::CommandBody::If:
    return fail("", "launch, library, copy or fill",
                std::string("the reserved command ") +
                    format::EnumNameCommandBody(command.body_type()) +
                    ", which this runtime does not run");
  default:
    return fail("", "launch, library, copy or fill",
                "command kind " + std::to_string(int(command.body_type())));
  }
}

Status verifyCommands(const std::string &name, const format::Program &program,
                      const format::ExecProgram &exec,
                      const format::Function &function) {
  return CommandChecker(name, program, exec, function).run();
}

} // namespace bessemer::runtime
