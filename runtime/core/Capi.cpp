// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C API: every entry turns statuses and exceptions into a code and a
// message of this thread.
#include "bessemer/bessemer.h"
#include "bessemer/runtime/Checkpoint.h"
#include "bessemer/runtime/Session.h"
#include "core/Dlpack.h"

#include <array>
#include <exception>

using namespace bessemer::runtime;

struct bsm_program {
  std::shared_ptr<const Program> program;
};
struct bsm_session {
  std::unique_ptr<Session> session;
};

namespace {
thread_local std::string lastError;

bsm_status report(const Status &status) {
  if (!status.ok())
    lastError = status.message();
  return static_cast<bsm_status>(status.code());
}

/// Runs `body`, which gives a Status.
template <typename F> bsm_status guarded(F body) noexcept {
  try {
    return report(body());
  } catch (const std::exception &error) {
    try {
      lastError = error.what();
    } catch (...) {
      lastError.clear();
    }
  } catch (...) {
    lastError.clear();
  }
  return BSM_INTERNAL;
}

Status missing(const char *what) {
  return Status::usage(std::string("expected ") + what + ", got NULL");
}

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

using Values = std::vector<ValueInfo> FunctionInfo::*;

size_t valueCount(const bsm_program *program, const char *function,
                  Values values) {
  if (!program || !function)
    return 0;
  const FunctionInfo *info = program->program->function(function);
  return info ? (info->*values).size() : 0;
}

bsm_status value(const bsm_program *program, const char *function,
                 Values values, size_t index, const char **name,
                 DLTensor *type) {
  return guarded([&]() -> Status {
    if (!program || !function || !name || !type)
      return missing("a program, a function, a name and a type");
    const FunctionInfo *info = program->program->function(function);
    if (!info)
      return Status::invalidInput(program->program->name() +
                                  ": there is no function '" + function + "'");
    if (index >= (info->*values).size())
      return Status::usage(std::string(function) +
                           ": expected an index below " +
                           std::to_string((info->*values).size()) + ", got " +
                           std::to_string(index));
    const ValueInfo &found = (info->*values)[index];
    *name = found.name.c_str();
    *type = toDlpack(TensorView(found.type, nullptr));
    return {};
  });
}
} // namespace

extern "C" {

const char *bsm_error_message(void) { return lastError.c_str(); }

bsm_status bsm_program_load(const char *path, bsm_program **program) {
  return guarded([&]() -> Status {
    if (!path || !program)
      return missing("a path and a place for the program");
    auto loaded = Program::load(path);
    if (!loaded)
      return loaded.status();
    *program = new bsm_program{std::move(*loaded)};
    return {};
  });
}

bsm_status bsm_program_from_bytes(const void *bytes, size_t size,
                                  const char *name, bsm_program **program) {
  return guarded([&]() -> Status {
    if (!program || (!bytes && size))
      return missing("bytes and a place for the program");
    auto loaded =
        Program::fromBytes({static_cast<const std::byte *>(bytes), size},
                           name ? name : "<memory>");
    if (!loaded)
      return loaded.status();
    *program = new bsm_program{std::move(*loaded)};
    return {};
  });
}

void bsm_program_free(bsm_program *program) { delete program; }

size_t bsm_program_function_count(const bsm_program *program) {
  return program ? program->program->functions().size() : 0;
}

const char *bsm_program_function_name(const bsm_program *program,
                                      size_t index) {
  if (index >= bsm_program_function_count(program))
    return nullptr;
  return program->program->functions()[index].name.c_str();
}

const char *bsm_program_setting(const bsm_program *program, const char *key) {
  if (!program || !key)
    return nullptr;
  // The strings end with a zero as the program holds them in std::string.
  auto setting = program->program->setting(key);
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

bsm_status bsm_session_create(const bsm_program *program, const char *device,
                              int threads, bsm_session **session) {
  return guarded([&]() -> Status {
    if (!program || !session)
      return missing("a program and a place for the session");
    auto created =
        Session::create(program->program, {device ? device : "cpu", threads});
    if (!created)
      return created.status();
    *session = new bsm_session{std::move(*created)};
    return {};
  });
}

void bsm_session_free(bsm_session *session) { delete session; }

bsm_status bsm_session_run(bsm_session *session, const char *function,
                           size_t inputCount, const char *const *inputNames,
                           const DLTensor *inputs, const bsm_step *step) {
  return guarded([&]() -> Status {
    if (!session || !function || (inputCount && (!inputNames || !inputs)))
      return missing("a session, a function and its inputs");
    Inputs given(inputCount);
    for (size_t i = 0; i < inputCount; ++i) {
      if (!inputNames[i])
        return missing("a name for each input");
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
    return session->session->run(function, given.get(), block);
  });
}

bsm_status bsm_session_output(const bsm_session *session, const char *function,
                              const char *name, DLTensor *output) {
  return guarded([&]() -> Status {
    if (!session || !function || !name || !output)
      return missing("a session, a function, a name and an output");
    auto view = session->session->output(function, name);
    if (!view)
      return view.status();
    *output = toDlpack(*view);
    return {};
  });
}

size_t bsm_state_count(const bsm_session *session) {
  return session ? session->session->stateNames().size() : 0;
}

const char *bsm_state_name(const bsm_session *session, size_t index) {
  if (index >= bsm_state_count(session))
    return nullptr;
  return session->session->stateNames()[index].c_str();
}

bsm_status bsm_state_get(const bsm_session *session, const char *name,
                         DLTensor *value) {
  return guarded([&]() -> Status {
    if (!session || !name || !value)
      return missing("a session, a name and a value");
    auto view = session->session->readState(name);
    if (!view)
      return view.status();
    *value = toDlpack(*view);
    return {};
  });
}

bsm_status bsm_state_set(bsm_session *session, const char *name,
                         const DLTensor *value) {
  return guarded([&]() -> Status {
    if (!session || !name || !value)
      return missing("a session, a name and a value");
    auto view = fromDlpack(*value, name);
    if (!view)
      return view.status();
    return session->session->writeState(name, *view);
  });
}

bsm_status bsm_session_save(const bsm_session *session, const char *directory) {
  return guarded([&]() -> Status {
    if (!session || !directory)
      return missing("a session and a directory");
    return saveCheckpoint(directory, *session->session);
  });
}

bsm_status bsm_session_load(bsm_session *session, const char *directory) {
  return guarded([&]() -> Status {
    if (!session || !directory)
      return missing("a session and a directory");
    return loadCheckpoint(directory, *session->session).status();
  });
}

} // extern "C"
