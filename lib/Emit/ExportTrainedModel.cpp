// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Export from an artifact and a checkpoint: the runtime reads both.

#include "bessemer/Emit/ExportOnnx.h"
#include "bessemer/runtime/Program.h"
#include "checkpoint/Safetensors.h"
#include "core/InitialState.h"

using namespace bessemer;
using llvm::StringRef;
using runtime::Expected;
using runtime::Program;
using runtime::Status;
using runtime::checkpoint::SafetensorsFile;
using runtime::checkpoint::StoredTensor;

/// safetensors writes the names in capitals.
static WeightView viewOf(const runtime::TensorType &type, StringRef data) {
  return {StringRef(runtime::elementName(type.element)).upper(), type.shape,
          data};
}

static StringRef text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

/// The states' values before the first step. `memory` holds those that the
/// artifact gives as one number.
static Status readInitialStates(const Program &program,
                                std::map<std::string, WeightView> &weights,
                                std::vector<std::string> &memory) {
  memory.reserve(program.states().size());
  for (size_t i = 0; i < program.states().size(); ++i) {
    const runtime::StateInfo &state = program.states()[i];
    if (state.role != runtime::StateRole::Parameter &&
        state.role != runtime::StateRole::Statistic)
      continue;
    WeightView view = viewOf(state.type, {});
    const format::State &stored = *program.table().states()->Get(i);
    if (stored.init_blob() >= 0) {
      auto blob = program.impl().blob(stored.init_blob());
      if (!blob)
        return blob.status();
      view.data = text(*blob);
    } else {
      std::string &filled = memory.emplace_back(state.type.byteSize(), '\0');
      BESSEMER_RETURN_IF_ERROR(runtime::writeInitialState(
          program.impl(), i, reinterpret_cast<std::byte *>(filled.data())));
      view.data = filled;
    }
    weights[state.name] = std::move(view);
  }
  return {};
}

static Status readCheckpoint(const SafetensorsFile &file,
                             std::map<std::string, WeightView> &weights) {
  for (const StoredTensor &tensor : file.tensors) {
    if (!file.intact(tensor))
      return Status::invalidInput(file.path + ": tensor '" + tensor.name +
                                  "' is damaged");
    weights[tensor.name] =
        viewOf(tensor.type, text({tensor.data, tensor.type.byteSize()}));
  }
  return {};
}

static Status exportFrom(const ExportOptions &options, const Program &program) {
  auto model = program.sourceModel();
  if (!model)
    return model.status();
  if (model->empty())
    return Status::invalidInput(program.name() + ": holds no source model");
  std::map<std::string, WeightView> weights;
  std::vector<std::string> memory;
  std::optional<SafetensorsFile> checkpoint;
  if (options.checkpointPath.empty()) {
    BESSEMER_RETURN_IF_ERROR(readInitialStates(program, weights, memory));
  } else {
    auto file = SafetensorsFile::open(options.checkpointPath);
    if (!file)
      return file.status();
    checkpoint = std::move(*file);
    BESSEMER_RETURN_IF_ERROR(readCheckpoint(*checkpoint, weights));
  }
  std::string error;
  if (exportOnnx(text(*model), weights, options, error))
    return {};
  // Problems with the output name it; the others are those of the sources.
  if (!StringRef(error).starts_with(options.outputPath))
    error =
        (checkpoint ? options.checkpointPath : program.name()) + ": " + error;
  return Status::invalidInput(error);
}

bool bessemer::exportTrainedModel(const ExportOptions &options,
                                  std::optional<StringRef> bytes,
                                  std::string &error) {
  std::string path =
      options.artifactPath.empty() ? "artifact" : options.artifactPath;
  auto program = bytes
                     ? Program::fromBytes(
                           {reinterpret_cast<const std::byte *>(bytes->data()),
                            bytes->size()},
                           path)
                     : Program::load(path);
  Status status = program ? exportFrom(options, **program) : program.status();
  error = status.message();
  return status.ok();
}
