// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sessions to directories and back.
#include "bessemer/runtime/Checkpoint.h"

#include "bessemer/Format/Layout.h"
#include "bessemer/runtime/Files.h"
#include "checkpoint/Publish.h"
#include "checkpoint/Safetensors.h"
#include "checkpoint/TrainerFile.h"

#include <algorithm>
#include <cstring>
#include <unistd.h>

namespace bessemer::runtime {
namespace {

using checkpoint::SafetensorsFile;
using checkpoint::StoredTensor;

constexpr const char *stateFile = "/state.safetensors";
constexpr const char *trainerFile = "/trainer.json";

/// Identifies a state file: its header holds the hash of every tensor.
std::string hashOfHead(std::string_view head) {
  return checkpoint::hashText(head.data(), head.size());
}

std::string hashOfHead(const SafetensorsFile &file) {
  std::span<const std::byte> bytes = file.file->bytes();
  uint64_t length;
  std::memcpy(&length, bytes.data(), sizeof(length));
  return checkpoint::hashText(bytes.data(), sizeof(length) + length);
}

/// Compares the file with what the session needs; names the first difference.
Status checkStates(const SafetensorsFile &file, const Session &session) {
  for (const StateInfo &state : session.states()) {
    const StoredTensor *stored = file.find(state.name);
    if (!stored)
      return Status::invalidInput(file.path + ": state '" + state.name +
                                  "' is missing");
    if (stored->type != state.type)
      return Status::invalidInput(file.path + ": state '" + state.name +
                                  "': expected " + state.type.str() + ", got " +
                                  stored->type.str());
  }
  for (const StoredTensor &stored : file.tensors) {
    std::span<const StateInfo> states = session.states();
    if (std::none_of(states.begin(), states.end(), [&](const StateInfo &state) {
          return state.name == stored.name;
        }))
      return Status::invalidInput(file.path + ": state '" + stored.name +
                                  "' is not in the program");
  }
  for (const StoredTensor &stored : file.tensors)
    if (!file.intact(stored))
      return Status::invalidInput(file.path + ": state '" + stored.name +
                                  "': checksum differs; the file is damaged");
  return {};
}

} // namespace

std::string artifactHash(const Program &program) {
  // The table's hash covers the hash of every blob.
  uint64_t hash = 0;
  std::memcpy(&hash,
              program.bytes().data() +
                  offsetof(format::ArtifactPrefix, tableHash),
              sizeof(hash));
  char text[17];
  std::snprintf(text, sizeof text, "%016llx",
                static_cast<unsigned long long>(hash));
  return text;
}

Status saveCheckpoint(const std::string &directory, const Session &session,
                      const TrainerState *trainer) {
  std::vector<StoredTensor> tensors;
  for (const StateInfo &state : session.states()) {
    Expected<TensorView> view = session.readState(state.name);
    if (!view)
      return view.status();
    tensors.push_back(
        {state.name, state.type, static_cast<const std::byte *>(view->data)});
  }
  // Large elements first keep every tensor aligned without gaps, which the
  // format does not allow.
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const StoredTensor &a, const StoredTensor &b) {
                     return elementSize(a.type.element) >
                            elementSize(b.type.element);
                   });
  Expected<std::string> head = checkpoint::safetensorsHead(tensors);
  if (!head)
    return head.status();
  std::vector<std::span<const std::byte>> pieces = {
      std::as_bytes(std::span(*head))};
  for (const StoredTensor &tensor : tensors)
    pieces.push_back({tensor.data, tensor.type.byteSize()});

  Expected<std::string> beside = checkpoint::prepareBeside(directory);
  if (!beside)
    return beside.status();
  Status written = writeFileSynced(*beside + stateFile, pieces);
  if (written.ok() && trainer) {
    std::string text = checkpoint::writeTrainer(
        *trainer, artifactHash(session.program()), hashOfHead(*head));
    std::span<const std::byte> piece = std::as_bytes(std::span(text));
    written = writeFileSynced(*beside + trainerFile, {&piece, 1});
  }
  if (written.ok())
    return checkpoint::publish(*beside, directory);
  checkpoint::discard(*beside);
  return written;
}

static Expected<std::optional<TrainerState>> load(const std::string &directory,
                                                  Session &session) {
  std::optional<std::string> found = findCheckpoint(directory);
  if (!found)
    return Status::invalidInput(directory + ": there is no checkpoint (no "
                                            "state.safetensors)");
  std::string from = checkpoint::directoryToRead(*found);
  Expected<SafetensorsFile> file = SafetensorsFile::open(from + stateFile);
  if (!file)
    return file.status();
  BESSEMER_RETURN_IF_ERROR(checkStates(*file, session));
  std::optional<TrainerState> trainer;
  std::string path = from + trainerFile;
  if (::access(path.c_str(), F_OK) == 0) {
    Expected<std::unique_ptr<MappedFile>> text = MappedFile::open(path);
    if (!text)
      return text.status();
    std::span<const std::byte> bytes = (*text)->bytes();
    Expected<TrainerState> state = checkpoint::readTrainer(
        path, {reinterpret_cast<const char *>(bytes.data()), bytes.size()},
        hashOfHead(*file));
    if (!state)
      return state.status();
    trainer = *std::move(state);
  }
  // Everything is known to fit; only now the session changes.
  for (const StoredTensor &stored : file->tensors)
    BESSEMER_RETURN_IF_ERROR(
        session.writeState(stored.name, {stored.type, stored.data}));
  return trainer;
}

Expected<std::optional<TrainerState>>
loadCheckpoint(const std::string &directory, Session &session) {
  Expected<std::optional<TrainerState>> state = load(directory, session);
  if (!state) // Names in a damaged file may hold line breaks.
    return state.status().onOneLine();
  return state;
}

std::optional<std::string> findCheckpoint(const std::string &directory) {
  for (const std::string &path : {directory, directory + "/last"})
    if (::access(checkpointStateFile(path).c_str(), F_OK) == 0)
      return path;
  return std::nullopt;
}

std::string checkpointStateFile(const std::string &directory) {
  return checkpoint::directoryToRead(directory) + stateFile;
}

} // namespace bessemer::runtime
