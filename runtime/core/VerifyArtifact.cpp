// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/VerifyArtifact.h"
#include "core/WeightLayout.h"

#include <algorithm>
#include <set>

namespace bessemer::runtime {

namespace {
constexpr uint64_t mostScratch = uint64_t(1) << 32;
constexpr unsigned mostRank = 64;
/// The schema nests six tables deep, and two more in each of eight loops.
constexpr unsigned mostDepth = 32;

/// The checks of one table; each gives the first thing that is wrong.
class Checker {
public:
  Checker(const std::string &name, const format::Program &program,
          uint64_t fileBytes, uint64_t tableEnd)
      : name(name), program(program), fileBytes(fileBytes), tableEnd(tableEnd) {
  }

  Status run() {
    BESSEMER_RETURN_IF_ERROR(checkBlobs());
    BESSEMER_RETURN_IF_ERROR(checkStates());
    BESSEMER_RETURN_IF_ERROR(checkFunctions());
    BESSEMER_RETURN_IF_ERROR(checkCode());
    BESSEMER_RETURN_IF_ERROR(checkKernels());
    return checkPrograms();
  }

private:
  Status fail(const std::string &where, const std::string &expected,
              const std::string &got) const {
    return damaged(name, where, expected, got);
  }

  Status checkBlobs() const;
  Status checkBlobIndex(const std::string &where, int64_t index) const;
  Status checkStates() const;
  Status checkFunctions() const;
  Status
  checkValues(const std::string &where,
              const flatbuffers::Vector<flatbuffers::Offset<format::Value>>
                  *values) const;
  Status checkCode() const;
  Status checkKernels() const;
  Status checkPrograms() const;

  const std::string &name;
  const format::Program &program;
  uint64_t fileBytes, tableEnd;
};
} // namespace

Status damaged(const std::string &name, const std::string &where,
               const std::string &expected, const std::string &got) {
  return Status::invalidInput(name + ": " + where + ": expected " + expected +
                              ", got " + got);
}

bool tensorBytes(const format::TensorType *type, uint64_t &bytes) {
  static constexpr uint8_t sizes[] = {4, 8, 2, 2, 1, 2, 4, 8, 1, 2, 4, 8, 1};
  if (type->element() > format::ElementType::MAX ||
      sizeOf(type->shape()) > mostRank)
    return false;
  bytes = sizes[static_cast<uint8_t>(type->element())];
  if (const auto *shape = type->shape())
    for (int64_t extent : *shape) {
      if (extent < 0 || uint64_t(extent) > mostBytes)
        return false;
      if (__builtin_mul_overflow(bytes, uint64_t(extent), &bytes) ||
          bytes > mostBytes)
        return false;
    }
  return true;
}

Status Checker::checkBlobs() const {
  for (size_t i = 0; i < sizeOf(program.blobs()); ++i) {
    const format::Blob &blob = *program.blobs()->Get(i);
    std::string where = "blob " + std::to_string(i);
    if (blob.offset() % format::artifactAlignment)
      return fail(where, "an offset that is a multiple of 64",
                  std::to_string(blob.offset()));
    if (blob.offset() < tableEnd)
      return fail(where,
                  "an offset behind the table's end at " +
                      std::to_string(tableEnd),
                  std::to_string(blob.offset()));
    if (blob.offset() > fileBytes || blob.bytes() > fileBytes - blob.offset())
      return fail(where,
                  std::to_string(blob.bytes()) + " bytes from offset " +
                      std::to_string(blob.offset()),
                  "a file of " + std::to_string(fileBytes) +
                      " bytes; it is damaged or incomplete");
  }
  if (program.model_blob() != -1)
    return checkBlobIndex("source model", program.model_blob());
  return {};
}

Status Checker::checkBlobIndex(const std::string &where, int64_t index) const {
  if (index >= 0 && uint64_t(index) < sizeOf(program.blobs()))
    return {};
  return fail(where, "a blob below " + std::to_string(sizeOf(program.blobs())),
              std::to_string(index));
}

/// Whether an element can hold the number; floats hold any, if only as an
/// infinity. To convert another one is undefined.
static bool holds(format::ElementType type, double value) {
  auto within = [&](double least, double end) {
    return value >= least && value < end;
  };
  switch (type) {
  case format::ElementType::i8:
    return within(-0x1p7, 0x1p7);
  case format::ElementType::i16:
    return within(-0x1p15, 0x1p15);
  case format::ElementType::i32:
    return within(-0x1p31, 0x1p31);
  case format::ElementType::i64:
    return within(-0x1p63, 0x1p63);
  case format::ElementType::u8:
    return within(0, 0x1p8);
  case format::ElementType::u16:
    return within(0, 0x1p16);
  case format::ElementType::u32:
    return within(0, 0x1p32);
  case format::ElementType::u64:
    return within(0, 0x1p64);
  default:
    return true;
  }
}

Status Checker::checkStates() const {
  if (program.state_bytes() > mostBytes)
    return fail("state arena", "at most 2^47 bytes",
                std::to_string(program.state_bytes()));
  std::set<std::string_view> names;
  for (size_t i = 0; i < sizeOf(program.states()); ++i) {
    const format::State &state = *program.states()->Get(i);
    std::string where = "state '" + state.name()->str() + "'";
    if (!names.insert(state.name()->string_view()).second)
      return fail(where, "a name of its own", "two states with it");
    if (state.role() > format::StateRole::MAX)
      return fail(where, "a role", std::to_string(int(state.role())));
    uint64_t bytes = 0;
    if (!tensorBytes(state.type(), bytes))
      return fail(where, "a valid tensor type",
                  "an unknown element type or an impossible shape");
    if (isNamedLayout(state.layout()) &&
        !(isBlockedWeights(state.layout()) &&
          state.type()->element() == format::ElementType::f32 &&
          haveWholeBlocks(state.type()->shape())))
      return fail(where,
                  "a row-major one, or layout OIhw16i16o of f32 weights of "
                  "whole blocks of 16 channels",
                  "layout " + state.layout()->str());
    if (state.init_blob() < 0 && !holds(state.type()->element(), state.splat()))
      return fail(where, "an initial value that its type holds",
                  std::to_string(state.splat()));
    if (state.offset() % format::artifactAlignment)
      return fail(where, "an offset that is a multiple of 64",
                  std::to_string(state.offset()));
    if (bytes > program.state_bytes() ||
        state.offset() > program.state_bytes() - bytes)
      return fail(where,
                  "a place in the state arena of " +
                      std::to_string(program.state_bytes()) + " bytes",
                  std::to_string(bytes) + " bytes from offset " +
                      std::to_string(state.offset()));
    if (state.init_blob() == -1)
      continue;
    BESSEMER_RETURN_IF_ERROR(checkBlobIndex(where, state.init_blob()));
    uint64_t given = program.blobs()->Get(state.init_blob())->bytes();
    if (given != bytes)
      return fail(where,
                  "an initial value of " + std::to_string(bytes) + " bytes",
                  std::to_string(given));
  }
  return {};
}

/// Whether the range is about elements that a tensor of the type has.
static bool isRangeOf(const format::ValueRange &range,
                      const format::TensorType &type) {
  if (type.element() != format::ElementType::i32 &&
      type.element() != format::ElementType::i64)
    return false;
  if (range.dim() == -1)
    return true;
  return range.dim() >= 0 && uint64_t(range.dim()) < sizeOf(type.shape()) &&
         range.begin() >= 0 && range.begin() <= range.end() &&
         range.end() <= type.shape()->Get(unsigned(range.dim()));
}

Status Checker::checkValues(
    const std::string &where,
    const flatbuffers::Vector<flatbuffers::Offset<format::Value>> *values)
    const {
  std::set<std::string_view> names;
  for (size_t i = 0; i < sizeOf(values); ++i) {
    const format::Value &value = *values->Get(i);
    std::string what = where + " '" + value.name()->str() + "'";
    uint64_t bytes = 0;
    if (!names.insert(value.name()->string_view()).second)
      return fail(what, "a name of its own", "two with it");
    if (!tensorBytes(value.type(), bytes))
      return fail(what, "a valid tensor type",
                  "an unknown element type or an impossible shape");
    for (size_t r = 0; r < sizeOf(value.ranges()); ++r) {
      const format::ValueRange &range = *value.ranges()->Get(r);
      const std::string got = "range " + std::to_string(r) + " of ";
      if (!isRangeOf(range, *value.type()))
        return fail(what, "ranges of parts of an i32 or i64 tensor",
                    got + "something else");
      if (range.least() > range.most() || range.meaning()->size() == 0)
        return fail(what, "ranges with a meaning that hold an integer",
                    got + "'" + range.meaning()->str() + "' from " +
                        std::to_string(range.least()) + " to " +
                        std::to_string(range.most()));
    }
  }
  return {};
}

Status Checker::checkFunctions() const {
  std::set<std::string_view> names;
  for (size_t i = 0; i < sizeOf(program.functions()); ++i) {
    const format::Function &function = *program.functions()->Get(i);
    std::string where = "function '" + function.name()->str() + "'";
    if (!names.insert(function.name()->string_view()).second)
      return fail(where, "a name of its own", "two functions with it");
    BESSEMER_RETURN_IF_ERROR(checkValues(where + " input", function.inputs()));
    BESSEMER_RETURN_IF_ERROR(
        checkValues(where + " output", function.outputs()));
  }
  return {};
}

Status Checker::checkCode() const {
  std::set<std::string_view> targets;
  for (size_t i = 0; i < sizeOf(program.code()); ++i) {
    const format::CodeObject &code = *program.code()->Get(i);
    std::string where = "code for '" + code.target()->str() + "'";
    if (!targets.insert(code.target()->string_view()).second)
      return fail(where, "one per target", "two");
    if (code.blob() > INT64_MAX)
      return fail(where, "a blob index", std::to_string(code.blob()));
    BESSEMER_RETURN_IF_ERROR(checkBlobIndex(where, int64_t(code.blob())));
  }
  return {};
}

Status Checker::checkKernels() const {
  size_t targets = sizeOf(program.code());
  for (size_t i = 0; i < sizeOf(program.kernels()); ++i) {
    const format::Kernel &kernel = *program.kernels()->Get(i);
    std::string where =
        "kernel " + std::to_string(i) + " ('" + kernel.name()->str() + "')";
    for (size_t count : {sizeOf(kernel.entries()), sizeOf(kernel.scratch())})
      if (count != targets)
        return fail(where,
                    "one entry and one scratch size for each of " +
                        std::to_string(targets) + " targets",
                    std::to_string(count));
    for (size_t target = 0; target < targets; ++target) {
      const format::CodeObject &code = *program.code()->Get(target);
      uint64_t codeBytes = program.blobs()->Get(code.blob())->bytes();
      if (kernel.entries()->Get(target) >= codeBytes)
        return fail(where + " on '" + code.target()->str() + "'",
                    "an entry below " + std::to_string(codeBytes),
                    std::to_string(kernel.entries()->Get(target)));
      if (kernel.scratch()->Get(target) > mostScratch)
        return fail(where + " on '" + code.target()->str() + "'",
                    "at most 2^32 bytes of scratch",
                    std::to_string(kernel.scratch()->Get(target)));
    }
  }
  return {};
}

Status Checker::checkPrograms() const {
  auto findFunction = [&](std::string_view wanted) -> const format::Function * {
    for (size_t i = 0; i < sizeOf(program.functions()); ++i)
      if (program.functions()->Get(i)->name()->string_view() == wanted)
        return program.functions()->Get(i);
    return nullptr;
  };
  std::set<std::pair<std::string_view, std::string_view>> present;
  for (size_t i = 0; i < sizeOf(program.programs()); ++i) {
    const format::ExecProgram &exec = *program.programs()->Get(i);
    std::string where = "program of '" + exec.function()->str() + "' for '" +
                        exec.target()->str() + "'";
    const format::Function *function =
        findFunction(exec.function()->string_view());
    if (!function)
      return fail(where, "a function of that name", "none");
    if (!present
             .emplace(exec.function()->string_view(),
                      exec.target()->string_view())
             .second)
      return fail(where, "one per function and target", "two");
    BESSEMER_RETURN_IF_ERROR(verifyCommands(name, program, exec, *function));
  }
  if (sizeOf(program.code()) == 0)
    return fail("code", "at least one target", "none");
  size_t known = 0;
  for (size_t f = 0; f < sizeOf(program.functions()); ++f)
    for (size_t t = 0; t < sizeOf(program.code()); ++t) {
      auto function = program.functions()->Get(f)->name()->string_view();
      auto target = program.code()->Get(t)->target()->string_view();
      if (!present.count({function, target}))
        return fail("function '" + std::string(function) + "'",
                    "a program for target '" + std::string(target) + "'",
                    "none");
      ++known;
    }
  if (known != present.size())
    return fail("programs", "code for each target they name",
                std::to_string(present.size() - known) + " without it");
  return {};
}

Expected<const format::Program *>
verifyArtifact(const std::string &name, std::span<const std::byte> bytes) {
  using format::ArtifactPrefix;
  const std::string file = "file";
  if (bytes.size() < sizeof(ArtifactPrefix))
    return damaged(name, file, "a bessemer artifact of at least 32 bytes",
                   std::to_string(bytes.size()));
  ArtifactPrefix prefix;
  std::memcpy(&prefix, bytes.data(), sizeof(prefix));
  if (std::memcmp(prefix.magic, format::artifactMagic, sizeof(prefix.magic)))
    return damaged(name, file, "a bessemer artifact (.bsm)",
                   "a file that does not start with \"BESSEMER\"");
  if (prefix.tableBytes > bytes.size() - sizeof(prefix))
    return damaged(name, "program table",
                   std::to_string(prefix.tableBytes) + " bytes",
                   std::to_string(bytes.size() - sizeof(prefix)) +
                       "; the file is damaged or incomplete");
  if (prefix.reserved != 0)
    return damaged(name, "prefix", "zero in its last 8 bytes",
                   std::to_string(prefix.reserved));
  const auto *table =
      reinterpret_cast<const uint8_t *>(bytes.data() + sizeof(prefix));
  uint64_t hash = format::hash64(table, prefix.tableBytes);
  if (hash != prefix.tableHash)
    return damaged(name, "program table",
                   "hash " + std::to_string(prefix.tableHash),
                   std::to_string(hash) + "; the file is damaged");
  // FlatBuffers asserts what these sizes ensure. A table is referred to by
  // four bytes at least, so the count bounds the work on a forged file without
  // limiting an honest one.
  auto wellFormed = [&] {
    if (prefix.tableBytes < 16 ||
        prefix.tableBytes >= FLATBUFFERS_MAX_BUFFER_SIZE)
      return false;
    flatbuffers::Verifier verifier(
        table, prefix.tableBytes, mostDepth,
        flatbuffers::uoffset_t(prefix.tableBytes / 4 + 16));
    return format::VerifyProgramBuffer(verifier) &&
           vectorsAligned(*format::GetProgram(table));
  };
  if (!wellFormed())
    return damaged(name, "program table", "a valid FlatBuffers table (BSM1)",
                   "a damaged one");
  const format::Program *program = format::GetProgram(table);
  if (program->major() != format::versionMajor ||
      program->minor() > format::versionMinor)
    return damaged(name, "format version",
                   std::to_string(format::versionMajor) + ".0 to " +
                       std::to_string(format::versionMajor) + "." +
                       std::to_string(format::versionMinor) +
                       " (what this runtime reads)",
                   std::to_string(program->major()) + "." +
                       std::to_string(program->minor()) +
                       (program->producer() && program->producer()->size()
                            ? " written by " + program->producer()->str()
                            : ""));
  BESSEMER_RETURN_IF_ERROR(
      Checker(name, *program, bytes.size(), sizeof(prefix) + prefix.tableBytes)
          .run());
  return program;
}

} // namespace bessemer::runtime
