// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Export from an artifact and a checkpoint: finds the source model and the
// weights in them.

#include "bessemer/Emit/ExportOnnx.h"
#include "bessemer/Format/Layout.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace bessemer;
using llvm::StringRef;

static std::unique_ptr<llvm::MemoryBuffer> mapFile(const std::string &path,
                                                   std::string &error) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (buffer)
    return std::move(*buffer);
  error = path + ": cannot be read: " + buffer.getError().message();
  return nullptr;
}

/// Parses a safetensors file: the length of a JSON header, the header, data.
static bool readSafetensors(const std::string &path, StringRef bytes,
                            std::map<std::string, WeightView> &weights,
                            std::string &error) {
  auto damaged = [&](const llvm::Twine &what) {
    error = (path + ": " + what).str();
    return false;
  };
  uint64_t length = 0;
  if (bytes.size() < sizeof(length))
    return damaged("is truncated");
  std::memcpy(&length, bytes.data(), sizeof(length));
  bytes = bytes.drop_front(sizeof(length));
  if (length > bytes.size())
    return damaged("is truncated");
  auto header = llvm::json::parse(bytes.take_front(length));
  bytes = bytes.drop_front(length);
  if (!header || !header->getAsObject()) {
    llvm::consumeError(header.takeError());
    return damaged("is no safetensors file");
  }
  for (const auto &[key, value] : *header->getAsObject()) {
    if (key == "__metadata__")
      continue;
    const llvm::json::Object *entry = value.getAsObject();
    const llvm::json::Array *shape = entry ? entry->getArray("shape") : nullptr;
    const llvm::json::Array *offsets =
        entry ? entry->getArray("data_offsets") : nullptr;
    auto type = entry ? entry->getString("dtype") : std::nullopt;
    if (!shape || !type || !offsets || offsets->size() != 2)
      return damaged("tensor '" + StringRef(key) + "' is damaged");
    auto begin = (*offsets)[0].getAsUINT64(), end = (*offsets)[1].getAsUINT64();
    if (!begin || !end || *begin > *end || *end > bytes.size())
      return damaged("tensor '" + StringRef(key) +
                     "' lies outside the file; it is truncated");
    WeightView view;
    view.elementType = type->str();
    uint64_t needed = llvm::StringSwitch<uint64_t>(*type)
                          .Cases({"F64", "I64", "U64"}, 8)
                          .Cases({"F32", "I32", "U32"}, 4)
                          .Cases({"F16", "BF16", "I16", "U16"}, 2)
                          .Cases({"I8", "U8", "BOOL"}, 1)
                          .Default(0);
    for (const llvm::json::Value &size : *shape) {
      auto extent = size.getAsUINT64();
      if (!extent || __builtin_mul_overflow(needed, *extent, &needed))
        return damaged("tensor '" + StringRef(key) + "' is damaged");
      view.shape.push_back(static_cast<int64_t>(*extent));
    }
    if (needed != *end - *begin)
      return damaged("tensor '" + StringRef(key) + "' has " +
                     llvm::Twine(*end - *begin) + " bytes, its shape needs " +
                     llvm::Twine(needed));
    view.data = bytes.slice(*begin, *end);
    weights[key.str()] = std::move(view);
  }
  return true;
}

namespace {

/// An artifact whose table has been verified.
class Artifact {
public:
  Artifact(StringRef bytes, std::string path)
      : bytes(bytes), path(std::move(path)) {}

  /// Checks prefix and table; says why the artifact cannot be read.
  bool open(std::string &error) {
    format::ArtifactPrefix prefix;
    if (bytes.size() < sizeof(prefix))
      return fail("is truncated", error);
    std::memcpy(&prefix, bytes.data(), sizeof(prefix));
    if (std::memcmp(prefix.magic, format::artifactMagic,
                    sizeof(prefix.magic)) != 0)
      return fail("is not a Bessemer artifact", error);
    if (prefix.tableBytes > bytes.size() - sizeof(prefix))
      return fail("is truncated", error);
    StringRef table = bytes.substr(sizeof(prefix), prefix.tableBytes);
    // FlatBuffers wants alignment, which the caller's memory may not have.
    buffer.assign((table.size() + 7) / 8, 0);
    std::memcpy(buffer.data(), table.data(), table.size());
    const auto *data = reinterpret_cast<const uint8_t *>(buffer.data());
    flatbuffers::Verifier verifier(data, table.size());
    if (format::hash64(data, table.size()) != prefix.tableHash ||
        !format::VerifyProgramBuffer(verifier))
      return fail("its table is damaged", error);
    program = format::GetProgram(data);
    if (program->major() != format::versionMajor ||
        program->minor() > format::versionMinor)
      return fail("is of version " + std::to_string(program->major()) + "." +
                      std::to_string(program->minor()) +
                      ", which this compiler cannot read",
                  error);
    return true;
  }

  /// A blob, checked against its hash.
  bool readBlob(int64_t index, StringRef &content, std::string &error) {
    if (!program->blobs() || index < 0 ||
        index >= static_cast<int64_t>(program->blobs()->size()))
      return fail("has no such blob", error);
    const format::Blob &blob = *program->blobs()->Get(index);
    if (blob.offset() > bytes.size() ||
        blob.bytes() > bytes.size() - blob.offset())
      return fail("is truncated", error);
    content = bytes.substr(blob.offset(), blob.bytes());
    if (format::hash64(content.data(), content.size()) != blob.hash())
      return fail("blob " + std::to_string(index) + " is damaged", error);
    return true;
  }

  bool readModel(StringRef &model, std::string &error) {
    if (program->model_blob() < 0)
      return fail("holds no source model", error);
    return readBlob(program->model_blob(), model, error);
  }

  /// The states' values before the first step. `memory` holds those that the
  /// artifact gives as one number.
  bool readInitialStates(std::map<std::string, WeightView> &weights,
                         std::vector<std::string> &memory, std::string &error) {
    if (!program->states())
      return true;
    memory.reserve(program->states()->size());
    for (const format::State *state : *program->states()) {
      if (state->role() != format::StateRole::parameter &&
          state->role() != format::StateRole::statistic)
        continue;
      bool isDouble = state->type()->element() == format::ElementType::f64;
      if (!isDouble && state->type()->element() != format::ElementType::f32)
        return fail("state '" + state->name()->str() +
                        "' has a type that cannot be exported",
                    error);
      WeightView view;
      view.elementType = isDouble ? "F64" : "F32";
      size_t count = 1;
      if (state->type()->shape())
        for (int64_t size : *state->type()->shape()) {
          view.shape.push_back(size);
          count *= static_cast<size_t>(size);
        }
      if (state->init_blob() >= 0) {
        if (!readBlob(state->init_blob(), view.data, error))
          return false;
      } else {
        std::string &filled = memory.emplace_back();
        double value = state->splat();
        float narrow = static_cast<float>(value);
        for (size_t i = 0; i < count; ++i)
          filled.append(isDouble ? reinterpret_cast<const char *>(&value)
                                 : reinterpret_cast<const char *>(&narrow),
                        isDouble ? sizeof(value) : sizeof(narrow));
        view.data = filled;
      }
      weights[state->name()->str()] = std::move(view);
    }
    return true;
  }

private:
  bool fail(const std::string &what, std::string &error) const {
    error = path + ": " + what;
    return false;
  }

  StringRef bytes;
  std::string path;
  std::vector<uint64_t> buffer;
  const format::Program *program = nullptr;
};

} // namespace

bool bessemer::exportTrainedModel(const ExportOptions &options,
                                  std::optional<StringRef> bytes,
                                  std::string &error) {
  std::unique_ptr<llvm::MemoryBuffer> artifactFile, checkpointFile;
  std::string path =
      options.artifactPath.empty() ? "artifact" : options.artifactPath;
  if (!bytes) {
    artifactFile = mapFile(path, error);
    if (!artifactFile)
      return false;
    bytes = artifactFile->getBuffer();
  }
  Artifact artifact(*bytes, path);
  StringRef model;
  if (!artifact.open(error) || !artifact.readModel(model, error))
    return false;

  std::map<std::string, WeightView> weights;
  std::vector<std::string> memory;
  if (options.checkpointPath.empty()) {
    if (!artifact.readInitialStates(weights, memory, error))
      return false;
  } else {
    checkpointFile = mapFile(options.checkpointPath, error);
    if (!checkpointFile ||
        !readSafetensors(options.checkpointPath, checkpointFile->getBuffer(),
                         weights, error))
      return false;
  }
  if (exportOnnx(model, weights, options, error))
    return true;
  // Problems with the output name it; the others are those of the sources.
  if (!StringRef(error).starts_with(options.outputPath))
    error = (options.checkpointPath.empty() ? path : options.checkpointPath) +
            ": " + error;
  return false;
}
