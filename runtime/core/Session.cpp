// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks calls against the program's signatures and hands them to the device.
#include "bessemer/runtime/Session.h"
#include "device/cpu/CpuSession.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace bessemer::runtime {

struct Session::Impl {
  std::shared_ptr<const Program> program;
  std::unique_ptr<CpuSession> device;
  /// Addresses of a call's inputs; as long as the longest signature.
  std::vector<const void *> inputs;

  /// Errors of calls: "model.bsm: train_step: input 'x': ...".
  Status callError(std::string_view function, const std::string &message) {
    return Status::invalidInput(program->name() + ": " + std::string(function) +
                                ": " + message);
  }
  Expected<size_t> findFunction(std::string_view name) const;
  Expected<size_t> findState(std::string_view name) const;
  /// Whether there is a value of `type` for the input.
  Status matchInput(std::string_view function, const ValueInfo &input,
                    const TensorType &type, const TensorView &value);
  Status checkRanges(std::string_view function, const ValueInfo &input,
                     const TensorView &value);
  Status unknownInput(const FunctionInfo &function, std::string_view name);
  Status match(const FunctionInfo &function,
               std::span<const NamedTensor> given);
};

namespace {
template <typename Range> std::string listNames(const Range &range) {
  std::string text;
  for (const auto &item : range)
    text += (text.empty() ? "" : ", ") + item.name;
  return text.empty() ? "none" : text;
}

bool sameType(const TensorType &type, const TensorView &view) {
  return type.element == view.type &&
         std::equal(type.shape.begin(), type.shape.end(), view.shape.begin(),
                    view.shape.end());
}
} // namespace

Expected<size_t> Session::Impl::findFunction(std::string_view name) const {
  auto functions = program->functions();
  for (size_t i = 0; i < functions.size(); ++i)
    if (functions[i].name == name)
      return i;
  return Status::invalidInput(program->name() + ": expected a function of " +
                              listNames(functions) + ", got '" +
                              std::string(name) + "'");
}

Expected<size_t> Session::Impl::findState(std::string_view name) const {
  auto states = program->states();
  for (size_t i = 0; i < states.size(); ++i)
    if (states[i].name == name)
      return i;
  return Status::invalidInput(program->name() + ": there is no state '" +
                              std::string(name) + "'");
}

Status Session::Impl::checkRanges(std::string_view function,
                                  const ValueInfo &input,
                                  const TensorView &value) {
  auto wrong = findOutOfRange(input, value);
  if (!wrong)
    return {};
  return callError(function, "input '" + input.name + "'" +
                                 positionText(wrong->element, value.shape) +
                                 ": " + wrong->range->mismatch(wrong->value));
}

Status Session::Impl::matchInput(std::string_view function,
                                 const ValueInfo &input, const TensorType &type,
                                 const TensorView &value) {
  if (!sameType(type, value))
    return callError(function, "input '" + input.name + "': expected " +
                                   type.str() + ", got " + value.str());
  if (!value.data && type.byteSize())
    return callError(function, "input '" + input.name + "': its data is null");
  return {};
}

Status Session::Impl::unknownInput(const FunctionInfo &function,
                                   std::string_view name) {
  return callError(function.name, "there is no input '" + std::string(name) +
                                      "'; expected " +
                                      listNames(function.inputs));
}

Status Session::Impl::match(const FunctionInfo &function,
                            std::span<const NamedTensor> given) {
  size_t matched = 0;
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    const ValueInfo &input = function.inputs[i];
    const NamedTensor *found = nullptr;
    for (const NamedTensor &tensor : given) {
      if (tensor.name != input.name)
        continue;
      if (found)
        return callError(function.name,
                         "input '" + input.name + "' is given twice");
      found = &tensor;
      ++matched;
    }
    if (!found)
      return callError(function.name, "input '" + input.name + "' (" +
                                          input.type.str() + ") is missing");
    BESSEMER_RETURN_IF_ERROR(
        matchInput(function.name, input, input.type, found->tensor));
    BESSEMER_RETURN_IF_ERROR(checkRanges(function.name, input, found->tensor));
    inputs[i] = found->tensor.data;
  }
  if (matched == given.size())
    return {};
  for (const NamedTensor &tensor : given)
    if (std::none_of(
            function.inputs.begin(), function.inputs.end(),
            [&](const ValueInfo &input) { return input.name == tensor.name; }))
      return unknownInput(function, tensor.name);
  return {};
}

Session::Session(std::unique_ptr<Impl> implementation)
    : implementation(std::move(implementation)) {}
Session::~Session() = default;

Expected<std::unique_ptr<Session>>
Session::create(std::shared_ptr<const Program> program,
                const SessionOptions &options) try {
  auto impl = std::make_unique<Impl>();
  auto device = CpuSession::create(*program, options);
  if (!device)
    return device.status().onOneLine();
  impl->device = std::move(*device);
  size_t most = 0;
  for (const FunctionInfo &function : program->functions())
    most = std::max(most, function.inputs.size());
  impl->inputs.resize(most);
  impl->program = std::move(program);
  return std::unique_ptr<Session>(new Session(std::move(impl)));
} catch (const std::bad_alloc &) {
  return Status::invalidInput("not enough memory for a session");
}

Status Session::run(std::string_view function,
                    std::span<const NamedTensor> inputs,
                    const StepBlock &step) try {
  auto index = implementation->findFunction(function);
  if (!index)
    return index.status();
  const FunctionInfo &info = functions()[*index];
  BESSEMER_RETURN_IF_ERROR(implementation->match(info, inputs));
  return implementation->device->run(
      *index, std::span(implementation->inputs).first(info.inputs.size()),
      step);
} catch (const std::bad_alloc &) {
  return Status::internal("out of memory");
}

Status Session::checkRanges(std::string_view function,
                            const NamedTensor &value) const {
  auto index = implementation->findFunction(function);
  if (!index)
    return index.status();
  const FunctionInfo &info = functions()[*index];
  for (const ValueInfo &input : info.inputs) {
    if (input.name != value.name)
      continue;
    TensorType type = input.type;
    if (!type.shape.empty() && !value.tensor.shape.empty())
      type.shape[0] = value.tensor.shape[0];
    BESSEMER_RETURN_IF_ERROR(
        implementation->matchInput(function, input, type, value.tensor));
    return implementation->checkRanges(function, input, value.tensor);
  }
  return implementation->unknownInput(info, value.name);
}

Expected<TensorView> Session::output(std::string_view function,
                                     std::string_view name) const {
  auto index = implementation->findFunction(function);
  if (!index)
    return index.status();
  const FunctionInfo &info = functions()[*index];
  for (size_t i = 0; i < info.outputs.size(); ++i)
    if (info.outputs[i].name == name)
      return TensorView(info.outputs[i].type,
                        implementation->device->output(*index, i));
  return implementation->callError(
      function, "there is no output '" + std::string(name) + "'; expected " +
                    listNames(info.outputs));
}

Expected<TensorView> Session::readState(std::string_view name) const {
  auto index = implementation->findState(name);
  if (!index)
    return index.status();
  return TensorView(states()[*index].type,
                    implementation->device->state(*index));
}

Status Session::writeState(std::string_view name, const TensorView &value) {
  auto index = implementation->findState(name);
  if (!index)
    return index.status();
  const TensorType &type = states()[*index].type;
  if (!sameType(type, value) || (!value.data && type.byteSize()))
    return Status::invalidInput(
        implementation->program->name() + ": state '" + std::string(name) +
        "': expected " + type.str() + ", got " +
        (sameType(type, value) ? "null data" : value.str()));
  if (type.byteSize())
    std::memcpy(implementation->device->stateToWrite(*index), value.data,
                type.byteSize());
  return {};
}

Status Session::resetState() { return implementation->device->resetState(); }

const Program &Session::program() const { return *implementation->program; }
std::shared_ptr<const Program> Session::sharedProgram() const {
  return implementation->program;
}
std::span<const FunctionInfo> Session::functions() const {
  return implementation->program->functions();
}
std::span<const StateInfo> Session::states() const {
  return implementation->program->states();
}
std::span<const std::string> Session::stateNames() const {
  return implementation->program->impl().stateNames;
}
std::string_view Session::target() const {
  return implementation->program->targets()[implementation->device->target()];
}
std::string_view Session::library() const {
  return implementation->device->library();
}
int Session::threads() const { return implementation->device->threads(); }
const MemoryReport &Session::memory() const {
  return implementation->device->memory();
}

void Session::startProfile() { implementation->device->startProfile(); }
Expected<std::span<const CommandTime>>
Session::commandTimes(std::string_view function) const {
  auto index = implementation->findFunction(function);
  if (!index)
    return index.status();
  return implementation->device->commandTimes(*index);
}

} // namespace bessemer::runtime
