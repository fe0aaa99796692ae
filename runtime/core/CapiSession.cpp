// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C API: sessions, their calls, state and checkpoints.
#include "bessemer/runtime/Checkpoint.h"
#include "core/CapiHandles.h"
#include "core/Dlpack.h"

#include <array>

using namespace bessemer::runtime;
using namespace bessemer::runtime::capi;

namespace {
/// The checked inputs of a call; most functions have few, which then need no
/// allocation.
class Inputs {
public:
  explicit Inputs(size_t count) {
    if (count > few.size())
      many.resize(count);
    tensors =
        count > few.size() ? std::span(many) : std::span(few).first(count);
  }
  NamedTensor &operator[](size_t i) { return tensors[i]; }
  std::span<const NamedTensor> get() const { return tensors; }

private:
  std::array<NamedTensor, 8> few;
  std::vector<NamedTensor> many;
  std::span<NamedTensor> tensors;
};

/// Runs `body` on the session, where nobody else is.
template <typename F>
bsm_status withSession(const bsm_session *handle, F body) noexcept {
  return guarded([&]() -> Status {
    SessionUse session(handle);
    BESSEMER_RETURN_IF_ERROR(session.status());
    return body(*session);
  });
}

/// Hands a view, or what `convert` makes of it, to the caller.
template <typename T, typename F>
Status give(const Expected<TensorView> &view, T *result, F convert) {
  if (!view)
    return view.status();
  *result = convert(*view);
  return {};
}
} // namespace

namespace bessemer::runtime::capi {
SessionUse::SessionUse(const bsm_session *handle)
    : held(Handles<bsm_session>::get().find(handle)) {
  if (!held) {
    problem = Handles<bsm_session>::unknown(handle, "session");
  } else if (held->inUse.exchange(true, std::memory_order_acquire)) {
    problem = Status::usage("session: another thread is using it");
    held = nullptr;
  }
}

SessionUse::~SessionUse() {
  if (held)
    held->inUse.store(false, std::memory_order_release);
}
} // namespace bessemer::runtime::capi

extern "C" {

bsm_status bsm_session_create(const bsm_program *program, const char *device,
                              int threads, bsm_session **session) {
  return guarded([&]() -> Status {
    BESSEMER_RETURN_IF_ERROR(require(session, "session"));
    *session = nullptr;
    auto held = find(program);
    if (!held)
      return unknown(program);
    auto created =
        Session::create(held->program, {device ? device : "cpu", threads});
    if (!created)
      return created.status();
    auto handle = std::make_shared<bsm_session>();
    handle->session = std::move(*created);
    *session = Handles<bsm_session>::get().add(std::move(handle));
    return {};
  });
}

bsm_status bsm_session_free(bsm_session *session) {
  return guarded(
      [&] { return Handles<bsm_session>::get().remove(session, "session"); });
}

int bsm_session_threads(const bsm_session *session) {
  auto held = Handles<bsm_session>::get().find(session);
  return held ? held->session->threads() : 0;
}

const char *bsm_session_target(const bsm_session *session) {
  auto held = Handles<bsm_session>::get().find(session);
  // The program holds it in a std::string.
  return held ? held->session->target().data() : nullptr;
}

bsm_status bsm_session_memory(const bsm_session *session, bsm_memory *memory) {
  return withSession(session, [&](Session &held) -> Status {
    BESSEMER_RETURN_IF_ERROR(require(memory, "memory"));
    const MemoryReport &report = held.memory();
    *memory = {report.state, report.work, report.values,
               report.total() - report.state - report.work - report.values};
    return {};
  });
}

bsm_status bsm_session_run(bsm_session *session, const char *function,
                           size_t inputCount, const char *const *inputNames,
                           const DLTensor *inputs, const bsm_step *step) {
  return withSession(session, [&](Session &held) -> Status {
    BESSEMER_RETURN_IF_ERROR(require(function, "function"));
    if (inputCount) {
      BESSEMER_RETURN_IF_ERROR(require(inputNames, "input_names"));
      BESSEMER_RETURN_IF_ERROR(require(inputs, "inputs"));
    }
    Inputs given(inputCount);
    for (size_t i = 0; i < inputCount; ++i) {
      if (!inputNames[i])
        return Status::usage("input_names: expected a name, got NULL at " +
                             std::to_string(i));
      auto view = fromDlpack(inputs[i], inputNames[i]);
      if (!view)
        return view.status();
      given[i] = {inputNames[i], *view};
    }
    StepBlock block;
    if (step) {
      block.step = step->step;
      block.seed = step->seed;
      block.flags = step->flags;
      block.learningRate = step->learning_rate;
      block.validRows = step->valid_rows;
    }
    return held.run(function, given.get(), block);
  });
}

bsm_status bsm_session_output(const bsm_session *session, const char *function,
                              const char *name, DLTensor *output) {
  return withSession(session, [&](Session &held) -> Status {
    BESSEMER_RETURN_IF_ERROR(require(function, "function"));
    BESSEMER_RETURN_IF_ERROR(require(name, "name"));
    BESSEMER_RETURN_IF_ERROR(require(output, "output"));
    return give(held.output(function, name), output, toDlpack);
  });
}

bsm_status bsm_session_output_copy(const bsm_session *session,
                                   const char *function, const char *name,
                                   DLManagedTensor **output) {
  return withSession(session, [&](Session &held) -> Status {
    BESSEMER_RETURN_IF_ERROR(require(function, "function"));
    BESSEMER_RETURN_IF_ERROR(require(name, "name"));
    BESSEMER_RETURN_IF_ERROR(require(output, "output"));
    return give(held.output(function, name), output, copyToDlpack);
  });
}

size_t bsm_state_count(const bsm_session *session) {
  auto held = Handles<bsm_session>::get().find(session);
  return held ? held->session->stateNames().size() : 0;
}

const char *bsm_state_name(const bsm_session *session, size_t index) {
  auto held = Handles<bsm_session>::get().find(session);
  if (!held || index >= held->session->stateNames().size())
    return nullptr;
  return held->session->stateNames()[index].c_str();
}

bsm_status bsm_state_get(const bsm_session *session, const char *name,
                         DLTensor *value) {
  return withSession(session, [&](Session &held) -> Status {
    BESSEMER_RETURN_IF_ERROR(require(name, "name"));
    BESSEMER_RETURN_IF_ERROR(require(value, "value"));
    return give(held.readState(name), value, toDlpack);
  });
}

bsm_status bsm_state_copy(const bsm_session *session, const char *name,
                          DLManagedTensor **value) {
  return withSession(session, [&](Session &held) -> Status {
    BESSEMER_RETURN_IF_ERROR(require(name, "name"));
    BESSEMER_RETURN_IF_ERROR(require(value, "value"));
    return give(held.readState(name), value, copyToDlpack);
  });
}

bsm_status bsm_state_set(bsm_session *session, const char *name,
                         const DLTensor *value) {
  return withSession(session, [&](Session &held) -> Status {
    BESSEMER_RETURN_IF_ERROR(require(name, "name"));
    BESSEMER_RETURN_IF_ERROR(require(value, "value"));
    auto view = fromDlpack(*value, name);
    return view ? held.writeState(name, *view) : view.status();
  });
}

bsm_status bsm_session_reset(bsm_session *session) {
  return withSession(session, [](Session &held) { return held.resetState(); });
}

bsm_status bsm_session_save(const bsm_session *session, const char *directory) {
  return withSession(session, [&](Session &held) -> Status {
    BESSEMER_RETURN_IF_ERROR(require(directory, "directory"));
    return saveCheckpoint(directory, held);
  });
}

bsm_status bsm_session_load(bsm_session *session, const char *directory) {
  return withSession(session, [&](Session &held) -> Status {
    BESSEMER_RETURN_IF_ERROR(require(directory, "directory"));
    return loadCheckpoint(directory, held).status();
  });
}

bsm_status bsm_session_load_weights(bsm_session *session,
                                    const char *directory) {
  return withSession(session, [&](Session &held) -> Status {
    BESSEMER_RETURN_IF_ERROR(require(directory, "directory"));
    return loadCheckpoint(directory, held, Restore::Weights).status();
  });
}

} // extern "C"
