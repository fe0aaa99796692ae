// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sessions to directories and back.
#include "bessemer/runtime/Checkpoint.h"

#include "bessemer/Format/Layout.h"
#include "bessemer/runtime/Files.h"
#include "checkpoint/Publish.h"
#include "checkpoint/Safetensors.h"
#include "checkpoint/TrainerFile.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <sys/stat.h>
#include <type_traits>
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

/// What a model needs to compute, apart from what trains it.
bool isWeight(const StateInfo &state) {
  return state.role == StateRole::Parameter ||
         state.role == StateRole::Statistic;
}

const StateInfo *findState(const Session &session, std::string_view name) {
  std::span<const StateInfo> states = session.states();
  auto found =
      std::find_if(states.begin(), states.end(),
                   [&](const StateInfo &state) { return state.name == name; });
  return found == states.end() ? nullptr : &*found;
}

/// Whether a state that the program does not have is another optimizer's: a
/// counter, or "KIND.MOMENT/STATE" of a state that it has.
bool trainsOtherwise(const Session &session, const std::string &name) {
  if (name == "updates" || name == "nonfinite_step")
    return true;
  size_t slash = name.find('/');
  return slash != std::string::npos && name.find('.') < slash &&
         findState(session, name.substr(slash + 1));
}

constexpr const char *weightsAlone =
    "; training goes on only from a checkpoint with the same optimizer and the "
    "same trained parameters: eval, run and export (in Python load(..., "
    "weights_only=True)) take parameters and statistics alone";

/// Compares the file with what the session needs; names the first difference.
Status checkStates(const SafetensorsFile &file, const Session &session,
                   Restore what) {
  bool weights = what == Restore::Weights;
  for (const StateInfo &state : session.states()) {
    if (weights && !isWeight(state))
      continue;
    const StoredTensor *stored = file.find(state.name);
    if (!stored)
      return Status::invalidInput(file.path + ": state '" + state.name +
                                  "' is missing" +
                                  (isWeight(state) ? "" : weightsAlone));
    if (stored->type != state.type)
      return Status::invalidInput(file.path + ": state '" + state.name +
                                  "': expected " + state.type.str() + ", got " +
                                  stored->type.str());
  }
  for (const StoredTensor &stored : file.tensors) {
    if (findState(session, stored.name))
      continue;
    bool isOptimizers = trainsOtherwise(session, stored.name);
    if (!weights || !isOptimizers)
      return Status::invalidInput(file.path + ": state '" + stored.name +
                                  "' is not in the program" +
                                  (isOptimizers ? weightsAlone : ""));
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

std::string computationHash(const Program &program) {
  const format::Program &table = program.table();
  std::string text = program.producer();
  auto add = [&](const auto &part) {
    text += '\n';
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(part)>>)
      text += std::to_string(part);
    else
      text += part;
  };
  // Values are computed again with the same bits, whatever the limit.
  for (const Setting &setting : program.settings())
    if (setting.key != "memory_limit") {
      add(setting.key);
      add(setting.value);
    }
  for (size_t i = 0; i < program.states().size(); ++i) {
    const StateInfo &state = program.states()[i];
    const format::State &stored = *table.states()->Get(i);
    add(state.name);
    add(roleName(state.role));
    add(state.type.str());
    add(int(state.trainable));
    if (stored.init_blob() < 0)
      add(std::bit_cast<uint64_t>(stored.splat()));
    else
      add(table.blobs()->Get(stored.init_blob())->hash());
  }
  for (const FunctionInfo &function : program.functions())
    for (const auto *values : {&function.inputs, &function.outputs}) {
      add(function.name);
      for (const ValueInfo &value : *values) {
        add(value.name);
        add(value.type.str());
      }
    }
  if (table.model_blob() >= 0)
    add(table.blobs()->Get(table.model_blob())->hash());
  return checkpoint::hashText(text.data(), text.size());
}

static std::string formatOf(const Program &program) {
  return std::to_string(program.table().major()) + "." +
         std::to_string(program.table().minor());
}

static std::string variantOf(const Program &program) {
  std::string text;
  for (const std::string &target : program.targets())
    text += target + " ";
  return text + "limit " +
         std::string(program.setting("memory_limit").value_or("none"));
}

bool mayComputeOtherBits(const TrainerState &state, const Program &program) {
  if (state.artifact == artifactHash(program) ||
      state.computation != computationHash(program))
    return false;
  return state.format != formatOf(program) ||
         state.variant == variantOf(program);
}

Status saveCheckpoint(const std::string &directory, const Session &session,
                      const TrainerState *trainer) {
  if (directory.empty())
    return Status::invalidInput("expected a directory for the checkpoint, got "
                                "an empty name");
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
    TrainerState state = *trainer;
    state.artifact = artifactHash(session.program());
    state.computation = computationHash(session.program());
    state.format = formatOf(session.program());
    state.variant = variantOf(session.program());
    std::string text = checkpoint::writeTrainer(state, hashOfHead(*head));
    std::span<const std::byte> piece = std::as_bytes(std::span(text));
    written = writeFileSynced(*beside + trainerFile, {&piece, 1});
  }
  if (written.ok())
    return checkpoint::publish(*beside, directory);
  checkpoint::discard(*beside);
  return written;
}

static Expected<std::optional<TrainerState>>
load(const std::string &directory, Session &session, Restore what) {
  if (directory.empty())
    return Status::invalidInput("expected the directory of a checkpoint, got "
                                "an empty name");
  Expected<std::optional<std::string>> found = findCheckpoint(directory);
  if (!found)
    return found.status();
  if (!*found) {
    struct stat info;
    if (::stat(directory.c_str(), &info) == 0 && !S_ISDIR(info.st_mode))
      return Status::invalidInput(
          directory + ": expected the directory of a checkpoint, got a file");
    return Status::invalidInput(directory + ": there is no checkpoint (no "
                                            "state.safetensors)");
  }
  std::string from = checkpoint::directoryToRead(**found);
  Expected<SafetensorsFile> file = SafetensorsFile::open(from + stateFile);
  if (!file)
    return file.status();
  BESSEMER_RETURN_IF_ERROR(checkStates(*file, session, what));
  std::optional<TrainerState> trainer;
  std::string path = from + trainerFile;
  Expected<bool> hasTrainer = fileExists(path);
  if (!hasTrainer)
    return hasTrainer.status();
  if (*hasTrainer) {
    Expected<std::string> text = readText(path);
    if (!text)
      return text.status();
    Expected<TrainerState> state =
        checkpoint::readTrainer(path, *text, hashOfHead(*file));
    if (!state)
      return state.status();
    trainer = *std::move(state);
  }
  // Everything is known to fit; only now the session changes.
  for (const StoredTensor &stored : file->tensors)
    if (const StateInfo *state = findState(session, stored.name);
        state && (what == Restore::All || isWeight(*state)))
      BESSEMER_RETURN_IF_ERROR(
          session.writeState(stored.name, {stored.type, stored.data}));
  return trainer;
}

Expected<std::optional<TrainerState>>
loadCheckpoint(const std::string &directory, Session &session, Restore what) {
  Expected<std::optional<TrainerState>> state = load(directory, session, what);
  if (!state) // Names in a damaged file may hold line breaks.
    return state.status().onOneLine();
  return state;
}

Expected<std::optional<std::string>>
findCheckpoint(const std::string &directory) {
  for (const std::string &path : {directory, directory + "/last"}) {
    Expected<bool> found = fileExists(checkpointStateFile(path));
    if (!found)
      return found.status();
    if (*found)
      return std::optional(path);
  }
  return std::optional<std::string>();
}

std::string checkpointStateFile(const std::string &directory) {
  return checkpoint::directoryToRead(directory) + stateFile;
}

} // namespace bessemer::runtime
