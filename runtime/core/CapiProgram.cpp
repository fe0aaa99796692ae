// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C API: messages, versions, programs and what they hold.
#include "bessemer/Format/Layout.h"
#include "core/CapiHandles.h"
#include "core/Dlpack.h"

using namespace bessemer::runtime;
using namespace bessemer::runtime::capi;

namespace {
thread_local std::string lastError;

using Values = std::vector<ValueInfo> FunctionInfo::*;

size_t valueCount(const bsm_program *program, const char *function,
                  Values values) {
  auto held = find(program);
  if (!held || !function)
    return 0;
  const FunctionInfo *info = held->program->function(function);
  return info ? (info->*values).size() : 0;
}

Status checkIndex(size_t index, size_t count) {
  if (index < count)
    return {};
  return Status::usage("expected an index below " + std::to_string(count) +
                       ", got " + std::to_string(index));
}

bsm_status value(const bsm_program *program, const char *function,
                 Values values, size_t index, const char **name,
                 DLTensor *type) {
  return guarded([&]() -> Status {
    auto held = find(program);
    if (!held)
      return unknown(program);
    BESSEMER_RETURN_IF_ERROR(require(function, "function"));
    BESSEMER_RETURN_IF_ERROR(require(name, "name"));
    BESSEMER_RETURN_IF_ERROR(require(type, "type"));
    const FunctionInfo *info = held->program->function(function);
    if (!info)
      return Status::invalidInput(held->program->name() +
                                  ": there is no function '" + function + "'");
    if (Status status = checkIndex(index, (info->*values).size()); !status.ok())
      return Status::usage(std::string(function) + ": " + status.message());
    const ValueInfo &found = (info->*values)[index];
    *name = found.name.c_str();
    *type = toDlpack(TensorView(found.type, nullptr));
    return {};
  });
}

Status publish(Expected<std::shared_ptr<const Program>> loaded,
               bsm_program **program) {
  if (!loaded)
    return loaded.status();
  auto handle = std::make_shared<bsm_program>();
  handle->program = std::move(*loaded);
  *program = Handles<bsm_program>::get().add(std::move(handle));
  return {};
}
} // namespace

namespace bessemer::runtime::capi {
bsm_status report(const Status &status) noexcept {
  if (!status.ok()) {
    try {
      lastError = status.message();
    } catch (...) {
      lastError.clear();
    }
  }
  return static_cast<bsm_status>(status.code());
}

bsm_status reportException() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc &) {
    // Short enough to need no memory.
    lastError = "out of memory";
  } catch (const std::exception &error) {
    return report(Status::internal(error.what()));
  } catch (...) {
    lastError.clear();
  }
  return BSM_INTERNAL;
}
} // namespace bessemer::runtime::capi

extern "C" {

const char *bsm_error_message(void) { return lastError.c_str(); }

const char *bsm_version(void) { return BESSEMER_VERSION; }

void bsm_artifact_version(unsigned *major, unsigned *minor) {
  if (major)
    *major = bessemer::format::versionMajor;
  if (minor)
    *minor = bessemer::format::versionMinor;
}

bsm_status bsm_program_load(const char *path, bsm_program **program) {
  return guarded([&]() -> Status {
    BESSEMER_RETURN_IF_ERROR(require(program, "program"));
    *program = nullptr;
    BESSEMER_RETURN_IF_ERROR(require(path, "path"));
    return publish(Program::load(path), program);
  });
}

bsm_status bsm_program_load_memory(const void *bytes, size_t size,
                                   const char *name, bsm_program **program) {
  return guarded([&]() -> Status {
    BESSEMER_RETURN_IF_ERROR(require(program, "program"));
    *program = nullptr;
    if (size)
      BESSEMER_RETURN_IF_ERROR(require(bytes, "bytes"));
    return publish(
        Program::fromBytes({static_cast<const std::byte *>(bytes), size},
                           name ? name : "<memory>"),
        program);
  });
}

bsm_status bsm_program_verify(const bsm_program *program) {
  return guarded([&]() -> Status {
    auto held = find(program);
    return held ? held->program->verifyBlobs() : unknown(program);
  });
}

bsm_status bsm_program_free(bsm_program *program) {
  return guarded(
      [&] { return Handles<bsm_program>::get().remove(program, "program"); });
}

size_t bsm_program_function_count(const bsm_program *program) {
  auto held = find(program);
  return held ? held->program->functions().size() : 0;
}

const char *bsm_program_function_name(const bsm_program *program,
                                      size_t index) {
  auto held = find(program);
  if (!held || index >= held->program->functions().size())
    return nullptr;
  return held->program->functions()[index].name.c_str();
}

const char *bsm_program_producer(const bsm_program *program) {
  auto held = find(program);
  return held ? held->program->producer().c_str() : nullptr;
}

size_t bsm_program_target_count(const bsm_program *program) {
  auto held = find(program);
  return held ? held->program->targets().size() : 0;
}

const char *bsm_program_target(const bsm_program *program, size_t index) {
  auto held = find(program);
  if (!held || index >= held->program->targets().size())
    return nullptr;
  return held->program->targets()[index].c_str();
}

size_t bsm_program_setting_count(const bsm_program *program) {
  auto held = find(program);
  return held ? held->program->settings().size() : 0;
}

const char *bsm_program_setting_key(const bsm_program *program, size_t index) {
  auto held = find(program);
  if (!held || index >= held->program->settings().size())
    return nullptr;
  return held->program->settings()[index].key.c_str();
}

const char *bsm_program_setting(const bsm_program *program, const char *key) {
  auto held = find(program);
  if (!held || !key)
    return nullptr;
  // The strings end with a zero as the program holds them in std::string.
  auto setting = held->program->setting(key);
  return setting ? setting->data() : nullptr;
}

size_t bsm_function_input_count(const bsm_program *program,
                                const char *function) {
  return valueCount(program, function, &FunctionInfo::inputs);
}

size_t bsm_function_output_count(const bsm_program *program,
                                 const char *function) {
  return valueCount(program, function, &FunctionInfo::outputs);
}

bsm_status bsm_function_input(const bsm_program *program, const char *function,
                              size_t index, const char **name, DLTensor *type) {
  return value(program, function, &FunctionInfo::inputs, index, name, type);
}

bsm_status bsm_function_output(const bsm_program *program, const char *function,
                               size_t index, const char **name,
                               DLTensor *type) {
  return value(program, function, &FunctionInfo::outputs, index, name, type);
}

size_t bsm_program_state_count(const bsm_program *program) {
  auto held = find(program);
  return held ? held->program->states().size() : 0;
}

bsm_status bsm_program_state(const bsm_program *program, size_t index,
                             bsm_state_info *info) {
  return guarded([&]() -> Status {
    auto held = find(program);
    if (!held)
      return unknown(program);
    BESSEMER_RETURN_IF_ERROR(require(info, "info"));
    auto states = held->program->states();
    BESSEMER_RETURN_IF_ERROR(checkIndex(index, states.size()));
    const StateInfo &state = states[index];
    // Role names are literals, so they end with a zero.
    *info = {state.name.c_str(), roleName(state.role).data(), state.why.c_str(),
             state.trainable, toDlpack(TensorView(state.type, nullptr))};
    return {};
  });
}

} // extern "C"
