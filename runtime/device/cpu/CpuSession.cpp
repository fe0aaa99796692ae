// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cpu/CpuSession.h"
#include "core/InitialState.h"
#include "device/cpu/CpuTarget.h"
#include "device/cpu/FlushDenormals.h"

#include <algorithm>
#include <cstring>
#include <omp.h>
#include <optional>

namespace bessemer::runtime {

namespace {
/// Enough for balance when another process takes a core, few enough that
/// claiming costs nothing.
constexpr int64_t mostChunks = 32;
constexpr int mostThreads = 4096;

bool isWork(const format::Arena &arena) {
  return arena.kind() == format::ArenaKind::work;
}
} // namespace

Expected<std::unique_ptr<CpuSession>>
CpuSession::create(const Program &program, const SessionOptions &options) {
  std::unique_ptr<CpuSession> session(new CpuSession(program.impl()));
  BESSEMER_RETURN_IF_ERROR(session->prepare(options));
  return session;
}

Status CpuSession::prepare(const SessionOptions &options) {
  auto chosen = chooseCpuTarget(options.device, program.targets, program.name);
  if (!chosen)
    return chosen.status();
  targetIndex = *chosen;
  if (options.threads < 0 || options.threads > mostThreads)
    return Status::usage("threads: expected 0 to " +
                         std::to_string(mostThreads) + ", got " +
                         std::to_string(options.threads));
  threadCount = options.threads ? options.threads : omp_get_max_threads();
  savedModes.resize(threadCount);
  for (const Setting &setting : program.settings)
    if (setting.key == "strict" && setting.value == "true")
      flushDenormals = false;

  BESSEMER_RETURN_IF_ERROR(prepareMemory());
  BESSEMER_RETURN_IF_ERROR(resetState());
  auto code = program.code(targetIndex);
  if (!code)
    return code.status();
  plans.resize(program.functions.size());
  for (size_t f = 0; f < plans.size(); ++f)
    BESSEMER_RETURN_IF_ERROR(prepareFunction(
        f,
        *program.execProgram(program.functions[f].name,
                             program.targets[targetIndex]),
        *code));
  return prepareScratch();
}

/// State, and one block of temporaries for all functions: a session runs one
/// at a time.
Status CpuSession::prepareMemory() {
  for (const FunctionInfo &function : program.functions) {
    const auto *arenas =
        program.execProgram(function.name, program.targets[targetIndex])
            ->arenas();
    uint64_t work = 0, bound = 0;
    for (size_t i = 0; arenas && i < arenas->size(); ++i)
      if (const format::Arena &arena = *arenas->Get(i); isWork(arena)) {
        work += format::alignArtifact(arena.bytes());
        bound += arena.bound();
      }
    report.work = std::max(report.work, work);
    report.workBound = std::max(report.workBound, bound);
  }
  report.state = program.table->state_bytes();
  auto allocate = [](Buffer &buffer, uint64_t bytes, const char *what) {
    auto memory = Buffer::create(bytes, what);
    if (memory)
      buffer = std::move(*memory);
    return memory.status();
  };
  BESSEMER_RETURN_IF_ERROR(allocate(stateMemory, report.state, "state"));
  BESSEMER_RETURN_IF_ERROR(
      allocate(workMemory, report.work, "temporaries"));
  return allocate(stepBlock, sizeof(StepBlock), "the step block");
}

Status CpuSession::resetState() {
  for (size_t i = 0; i < program.states.size(); ++i)
    BESSEMER_RETURN_IF_ERROR(writeInitialState(program, i, state(i)));
  return {};
}

Status CpuSession::prepareFunction(size_t function,
                                   const format::ExecProgram &exec,
                                   const std::byte *code) {
  Plan &plan = plans[function];
  const FunctionInfo &info = program.functions[function];
  plan.inputCopies.resize(info.inputs.size());
  for (const ValueInfo &output : info.outputs) {
    auto buffer = Buffer::create(output.type.byteSize(),
                                 "output '" + output.name + "'");
    if (!buffer)
      return buffer.status();
    report.values += buffer->size();
    plan.outputs.push_back(std::move(*buffer));
  }

  // Where each arena lies; an input's address comes with each call.
  size_t arenaCount = exec.arenas() ? exec.arenas()->size() : 0;
  std::vector<const std::byte *> bases(arenaCount, nullptr);
  uint64_t workOffset = 0;
  for (size_t i = 0; i < arenaCount; ++i) {
    const format::Arena &arena = *exec.arenas()->Get(i);
    switch (arena.kind()) {
    case format::ArenaKind::state:
      bases[i] = stateMemory.data();
      break;
    case format::ArenaKind::work:
      bases[i] = workMemory.data() + workOffset;
      workOffset += format::alignArtifact(arena.bytes());
      break;
    case format::ArenaKind::input:
      break;
    case format::ArenaKind::output:
      bases[i] = plan.outputs[arena.value()].data();
      break;
    case format::ArenaKind::step:
      bases[i] = stepBlock.data();
      break;
    case format::ArenaKind::constant: {
      auto content = program.blob(arena.blob());
      if (!content)
        return content.status();
      bases[i] = content->data();
      break;
    }
    }
  }

  auto addSlice = [&](const format::Slice &slice) {
    const format::Arena &arena = *exec.arenas()->Get(slice.arena());
    if (arena.kind() == format::ArenaKind::input) {
      plan.inputSlots.push_back(
          {plan.slots.size(), arena.value(), slice.offset()});
      plan.slots.push_back(nullptr);
    } else {
      plan.slots.push_back(const_cast<std::byte *>(bases[slice.arena()]) +
                           slice.offset());
    }
  };
  for (size_t i = 0; exec.commands() && i < exec.commands()->size(); ++i) {
    const format::Command &command = *exec.commands()->Get(i);
    size_t slot = plan.slots.size();
    if (const auto *launch = command.body_as_Launch()) {
      const format::Kernel &kernel =
          *program.table->kernels()->Get(launch->kernel());
      for (size_t o = 0; launch->operands() && o < launch->operands()->size();
           ++o) {
        const format::Operand &operand = *launch->operands()->Get(o);
        if (operand.kind() == format::OperandKind::slice)
          addSlice(operand.slice());
        else
          plan.slots.push_back(
              reinterpret_cast<void *>(uintptr_t(operand.immediate())));
      }
      scratchPerThread =
          std::max(scratchPerThread, kernel.scratch()->Get(targetIndex));
      plan.steps.push_back(LaunchStep{
          reinterpret_cast<Kernel>(
              uintptr_t(code + kernel.entries()->Get(targetIndex))),
          slot, int64_t(launch->tiles())});
    } else if (const auto *copy = command.body_as_Copy()) {
      addSlice(*copy->from());
      addSlice(*copy->to());
      plan.steps.push_back(CopyStep{slot, copy->to()->bytes()});
    } else if (const auto *fill = command.body_as_Fill()) {
      addSlice(*fill->to());
      plan.steps.push_back(FillStep{slot, fill->to()->bytes(), fill->pattern(),
                                    fill->width()});
    } else if (const auto *library = command.body_as_Library()) {
      for (const format::Slice *slice : *library->operands())
        addSlice(*slice);
      auto prepared =
          convolution(*library->descriptor_as_Convolution());
      if (!prepared)
        return Status(prepared.status().code(),
                      program.name + ": " +
                          (command.label() ? "'" + command.label()->str() +
                                                 "': "
                                           : std::string()) +
                          prepared.status().message());
      plan.steps.push_back(ConvolutionStep{*prepared, slot});
    }
  }
  return {};
}

Expected<Convolution *>
CpuSession::convolution(const format::Convolution &description) {
  if (!stream) {
    auto opened = OneDnnStream::create();
    if (!opened)
      return opened.status();
    stream = std::move(*opened);
    libraryName = stream->libraryName();
  }
  ConvolutionShape shape(description);
  for (const auto &known : convolutions)
    if (known->shape() == shape)
      return known.get();
  OmpThreads scope(threadCount);
  auto created = Convolution::create(*stream, shape, threadCount);
  if (!created)
    return created.status();
  report.libraryScratch =
      std::max(report.libraryScratch, (*created)->scratchBytes());
  return convolutions.emplace_back(std::move(*created)).get();
}

/// What kernels and the library need besides their operands; commands run one
/// after the other, so the largest need serves all.
Status CpuSession::prepareScratch() {
  for (int thread = 0; scratchPerThread && thread < threadCount; ++thread) {
    auto buffer = Buffer::create(scratchPerThread, "kernel scratch");
    if (!buffer)
      return buffer.status();
    report.kernelScratch += buffer->size();
    kernelScratch.push_back(std::move(*buffer));
  }
  auto buffer = Buffer::create(report.libraryScratch, "library scratch");
  if (!buffer)
    return buffer.status();
  libraryScratch = std::move(*buffer);
  for (const auto &convolution : convolutions)
    BESSEMER_RETURN_IF_ERROR(convolution->bindScratch(libraryScratch.data()));
  return {};
}

Status CpuSession::bindInputs(size_t function, Plan &plan,
                              std::span<const void *const> inputs) {
  const FunctionInfo &info = program.functions[function];
  for (const InputSlot &input : plan.inputSlots) {
    const ValueInfo &value = info.inputs[input.input];
    const auto *base = static_cast<const std::byte *>(inputs[input.input]);
    if (uintptr_t(base) % elementSize(value.type.element)) {
      Buffer &copy = plan.inputCopies[input.input];
      if (!copy.data()) {
        auto buffer = Buffer::create(value.type.byteSize(),
                                     "input '" + value.name + "'");
        if (!buffer)
          return buffer.status();
        copy = std::move(*buffer);
        report.values += copy.size();
      }
      std::memcpy(copy.data(), base, copy.size());
      base = copy.data();
    }
    plan.slots[input.slot] = const_cast<std::byte *>(base) + input.offset;
  }
  return {};
}

void CpuSession::launch(const LaunchStep &step, void **buffers) {
  auto scratch = [&](int thread) {
    return kernelScratch.empty() ? nullptr : kernelScratch[thread].data();
  };
  if (step.tiles == 0)
    return;
  // Waking the pool costs more than one tile's share of it could win.
  if (step.tiles == 1 || threadCount == 1) {
    step.kernel(buffers, 0, step.tiles, scratch(0));
    return;
  }
  const int64_t chunk = (step.tiles + mostChunks - 1) / mostChunks;
  nextTile.store(0, std::memory_order_relaxed);
#pragma omp parallel num_threads(threadCount)
  {
    void *own = scratch(omp_get_thread_num());
    for (;;) {
      int64_t begin = nextTile.fetch_add(chunk, std::memory_order_relaxed);
      if (begin >= step.tiles)
        break;
      step.kernel(buffers, begin, std::min(begin + chunk, step.tiles), own);
    }
  }
}

void CpuSession::fill(const FillStep &step, void *target) {
  auto *bytes = static_cast<std::byte *>(target);
  if (step.pattern == 0 || step.width == 1) {
    std::memset(bytes, int(step.pattern & 0xff), step.bytes);
    return;
  }
  for (uint64_t i = 0; i < step.bytes; i += step.width)
    std::memcpy(bytes + i, &step.pattern, step.width);
}

Status CpuSession::run(size_t function, std::span<const void *const> inputs,
                       const StepBlock &step) {
  Plan &plan = plans[function];
  BESSEMER_RETURN_IF_ERROR(bindInputs(function, plan, inputs));
  std::memcpy(stepBlock.data(), &step, sizeof(step));

  std::optional<FlushDenormals> scope;
  if (flushDenormals)
    scope.emplace(savedModes);
  std::optional<OmpThreads> libraryThreads;
  if (stream)
    libraryThreads.emplace(threadCount);
  for (const Step &command : plan.steps) {
    if (const auto *launchStep = std::get_if<LaunchStep>(&command)) {
      launch(*launchStep, plan.slots.data() + launchStep->slot);
    } else if (const auto *conv = std::get_if<ConvolutionStep>(&command)) {
      BESSEMER_RETURN_IF_ERROR(conv->convolution->run(
          *stream, plan.slots.data() + conv->slot));
    } else if (const auto *copy = std::get_if<CopyStep>(&command)) {
      void **slots = plan.slots.data() + copy->slot;
      // Source and target may be slices of one arena.
      std::memmove(slots[1], slots[0], copy->bytes);
    } else {
      const auto &fillStep = std::get<FillStep>(command);
      fill(fillStep, plan.slots[fillStep.slot]);
    }
  }
  return {};
}

} // namespace bessemer::runtime
