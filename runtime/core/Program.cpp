// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bessemer/runtime/Program.h"
#include "core/LabelRange.h"
#include "core/ProgramImpl.h"
#include "core/VerifyArtifact.h"

#include <cstring>
#include <new>

namespace bessemer::runtime {

std::string_view roleName(StateRole role) {
  static constexpr std::string_view names[] = {
      "parameter", "moment", "statistic", "scaler", "rng", "counter"};
  return names[static_cast<uint8_t>(role)];
}

namespace {
std::string text(const flatbuffers::String *string) {
  return string ? string->str() : std::string();
}

TensorType typeOf(const format::TensorType &type) {
  TensorType result{static_cast<ElementType>(type.element()), {}};
  if (type.shape())
    result.shape.assign(type.shape()->begin(), type.shape()->end());
  return result;
}

template <typename V, typename F> void forEach(const V *vector, F visit) {
  for (size_t i = 0; vector && i < vector->size(); ++i)
    visit(*vector->Get(i));
}

/// Copies what the API shows out of the verified table.
void describe(Program::Impl &impl) {
  const format::Program &table = *impl.table;
  impl.producer = text(table.producer());
  auto values = [](auto *from, std::vector<ValueInfo> &to) {
    forEach(from, [&](const format::Value &value) {
      to.push_back({text(value.name()), typeOf(*value.type())});
      forEach(value.ranges(), [&](const format::ValueRange &range) {
        ValueRange &info = to.back().ranges.emplace_back();
        info.meaning = text(range.meaning());
        info.least = range.least();
        info.most = range.most();
        if (range.exempt())
          info.exempt.assign(range.exempt()->begin(), range.exempt()->end());
        info.dim = range.dim();
        info.begin = range.begin();
        info.end = range.end();
      });
    });
  };
  forEach(table.functions(), [&](const format::Function &function) {
    FunctionInfo &info = impl.functions.emplace_back();
    info.name = text(function.name());
    values(function.inputs(), info.inputs);
    values(function.outputs(), info.outputs);
  });
  forEach(table.states(), [&](const format::State &state) {
    impl.states.push_back(
        {text(state.name()), static_cast<StateRole>(state.role()),
         typeOf(*state.type()), state.trainable(), text(state.why())});
    impl.stateNames.push_back(text(state.name()));
  });
  forEach(table.settings(), [&](const format::Setting &setting) {
    impl.settings.push_back({text(setting.key()), text(setting.value())});
  });
  forEach(table.code(), [&](const format::CodeObject &code) {
    impl.targets.push_back(text(code.target()));
  });
  size_t blobs = table.blobs() ? table.blobs()->size() : 0;
  impl.blobChecked = std::make_unique<std::atomic<bool>[]>(blobs);
  impl.codeMemory.resize(impl.targets.size());
}

Status prepare(Program::Impl &impl) {
  auto table = verifyArtifact(impl.name, impl.bytes);
  if (!table) // Names in a damaged file may hold line breaks.
    return table.status().onOneLine();
  impl.table = *table;
  describe(impl);
  if (impl.table->major() == 1 && impl.table->minor() < 3)
    addLabelRange(impl);
  return {};
}
} // namespace

Expected<std::span<const std::byte>> Program::Impl::blob(int64_t index) const {
  const format::Blob &blob = *table->blobs()->Get(index);
  auto content = bytes.subspan(blob.offset(), blob.bytes());
  // Two threads may both hash a blob; both find the same.
  if (!blobChecked[index].load(std::memory_order_acquire)) {
    uint64_t hash = format::hash64(content.data(), content.size());
    if (hash != blob.hash())
      return damaged(name,
                     "blob " + std::to_string(index) + " (" +
                         std::to_string(blob.bytes()) + " bytes from offset " +
                         std::to_string(blob.offset()) + ")",
                     "hash " + std::to_string(blob.hash()),
                     std::to_string(hash) + "; the file is damaged");
    blobChecked[index].store(true, std::memory_order_release);
  }
  return content;
}

Expected<const std::byte *> Program::Impl::code(size_t target) const {
  std::lock_guard lock(codeMutex);
  if (!codeMemory[target]) {
    auto content = blob(int64_t(table->code()->Get(target)->blob()));
    if (!content)
      return content.status();
    auto memory = CodeMemory::create(*content);
    if (!memory)
      return memory.status();
    codeMemory[target] = std::move(*memory);
  }
  return codeMemory[target]->data();
}

const format::ExecProgram *
Program::Impl::execProgram(std::string_view function,
                           std::string_view target) const {
  for (const format::ExecProgram *exec : *table->programs())
    if (exec->function()->string_view() == function &&
        exec->target()->string_view() == target)
      return exec;
  return nullptr;
}

Program::Program(std::unique_ptr<Impl> implementation)
    : implementation(std::move(implementation)) {}
Program::~Program() = default;

Expected<std::shared_ptr<const Program>>
Program::load(const std::string &path) try {
  auto impl = std::make_unique<Impl>();
  impl->name = path;
  auto file = MappedFile::open(path);
  if (!file)
    return file.status();
  impl->file = std::move(*file);
  impl->bytes = impl->file->bytes();
  BESSEMER_RETURN_IF_ERROR(prepare(*impl));
  return std::shared_ptr<const Program>(new Program(std::move(impl)));
} catch (const std::bad_alloc &) {
  return Status::internal(path + ": out of memory");
}

Expected<std::shared_ptr<const Program>>
Program::fromBytes(std::span<const std::byte> bytes, std::string name) try {
  auto impl = std::make_unique<Impl>();
  impl->name = std::move(name);
  auto memory = Buffer::create(bytes.size(), impl->name);
  if (!memory)
    return memory.status();
  impl->memory = std::move(*memory);
  if (!bytes.empty())
    std::memcpy(impl->memory.data(), bytes.data(), bytes.size());
  impl->bytes = {impl->memory.data(), bytes.size()};
  BESSEMER_RETURN_IF_ERROR(prepare(*impl));
  return std::shared_ptr<const Program>(new Program(std::move(impl)));
} catch (const std::bad_alloc &) {
  return Status::internal("out of memory");
}

const std::string &Program::name() const { return implementation->name; }
const std::string &Program::producer() const {
  return implementation->producer;
}
std::span<const FunctionInfo> Program::functions() const {
  return implementation->functions;
}
std::span<const StateInfo> Program::states() const {
  return implementation->states;
}
std::span<const Setting> Program::settings() const {
  return implementation->settings;
}
std::span<const std::string> Program::targets() const {
  return implementation->targets;
}
std::span<const std::byte> Program::bytes() const {
  return implementation->bytes;
}
const format::Program &Program::table() const { return *implementation->table; }

const FunctionInfo *Program::function(std::string_view name) const {
  for (const FunctionInfo &function : implementation->functions)
    if (function.name == name)
      return &function;
  return nullptr;
}

std::optional<std::string_view> Program::setting(std::string_view key) const {
  for (const Setting &setting : implementation->settings)
    if (setting.key == key)
      return setting.value;
  return std::nullopt;
}

Expected<std::span<const std::byte>> Program::sourceModel() const {
  int64_t index = implementation->table->model_blob();
  if (index < 0)
    return std::span<const std::byte>();
  return implementation->blob(index);
}

Status Program::verifyBlobs() const {
  const auto *blobs = implementation->table->blobs();
  for (size_t i = 0; blobs && i < blobs->size(); ++i)
    if (auto content = implementation->blob(int64_t(i)); !content)
      return content.status();
  return {};
}

} // namespace bessemer::runtime
