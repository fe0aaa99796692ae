// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prepares a session: its memory, the operands of every command, the library's
// plans. All that a step needs is made here.
#include "core/AvailableMemory.h"
#include "core/InitialState.h"
#include "core/WeightLayout.h"
#include "device/cpu/CpuSession.h"
#include "device/cpu/CpuTarget.h"
#include "device/cpu/FlushDenormals.h"
#include "device/cpu/OpenMp.h"

#include <algorithm>

namespace bessemer::runtime {

namespace {
/// A launch that touches less is done sooner than a second thread could help.
constexpr uint64_t leastSharedBytes = 16 << 10;

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
    BESSEMER_RETURN_IF_ERROR(
        prepareFunction(f,
                        *program.execProgram(program.functions[f].name,
                                             program.targets[targetIndex]),
                        *code));
  BESSEMER_RETURN_IF_ERROR(prepareScratch());
  return prepareThreads();
}

Status CpuSession::prepareThreads() {
  // The workers of our own pool are in that mode for good; OpenMP's threads
  // are the whole program's.
  savedModes.resize(stream ? threadCount : 1);
  if (stream || threadCount == 1)
    return {};
  auto made = ThreadPool::create(threadCount, [flush = flushDenormals] {
    if (flush)
      FlushDenormals::setForThread();
  });
  if (!made)
    return made.status();
  pool = std::move(*made);
  return {};
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
  BESSEMER_RETURN_IF_ERROR(checkMemory());
  auto allocate = [](Buffer &buffer, uint64_t bytes, const char *what) {
    auto memory = Buffer::create(bytes, what);
    if (memory)
      buffer = std::move(*memory);
    return memory.status();
  };
  BESSEMER_RETURN_IF_ERROR(allocate(stateMemory, report.state, "state"));
  size_t layoutElements = 0;
  for (size_t i = 0; i < program.states.size(); ++i) {
    const format::State &state = *program.table->states()->Get(i);
    if (isNamedLayout(state.layout()))
      layoutElements =
          std::max(layoutElements,
                   WeightLayout(*state.type()->shape()).scratchElements());
  }
  BESSEMER_RETURN_IF_ERROR(allocate(
      layoutScratch, layoutElements * sizeof(float), "layouts of states"));
  report.kernelScratch += layoutScratch.size();
  inRows.resize(program.states.size());
  BESSEMER_RETURN_IF_ERROR(allocate(workMemory, report.work, "temporaries"));
  return allocate(stepBlock, sizeof(StepBlock), "the step block");
}

/// Memory is touched when it is allocated, and a process that takes more than
/// there is would be killed.
Status CpuSession::checkMemory() const {
  uint64_t results = 0;
  for (const FunctionInfo &function : program.functions)
    for (const ValueInfo &output : function.outputs)
      if (__builtin_add_overflow(results, output.type.byteSize(), &results))
        results = UINT64_MAX;
  uint64_t needed = 0;
  for (uint64_t part : {report.state, report.work, results})
    if (__builtin_add_overflow(needed, part, &needed))
      needed = UINT64_MAX;
  std::optional<uint64_t> available = availableMemory();
  if (!available || needed <= *available)
    return {};
  return Status::invalidInput(
      program.name + ": not enough memory: a session takes " +
      std::to_string(needed) + " bytes (state " + std::to_string(report.state) +
      ", temporaries " + std::to_string(report.work) + ", results " +
      std::to_string(results) + "), there are " + std::to_string(*available) +
      "; compile it with a smaller batch");
}

Status CpuSession::resetState() {
  for (size_t i = 0; i < program.states.size(); ++i)
    BESSEMER_RETURN_IF_ERROR(writeInitialState(program, i, stateToWrite(i)));
  return {};
}

Status CpuSession::prepareFunction(size_t function,
                                   const format::ExecProgram &exec,
                                   const std::byte *code) {
  Plan &plan = plans[function];
  const FunctionInfo &info = program.functions[function];
  plan.inputCopies.resize(info.inputs.size());
  for (const ValueInfo &output : info.outputs) {
    auto buffer =
        Buffer::create(output.type.byteSize(), "output '" + output.name + "'");
    if (!buffer)
      return buffer.status();
    report.values += buffer->size();
    plan.outputs.push_back(std::move(*buffer));
  }
  auto bases = arenaBases(plan, exec);
  if (!bases)
    return bases.status();
  Preparation preparation{exec, *bases, code, {}};
  return addCommands(plan, preparation, exec.commands());
}

Status CpuSession::addCommands(Plan &plan, Preparation &preparation,
                               const CommandList *commands) {
  for (size_t i = 0; commands && i < commands->size(); ++i)
    BESSEMER_RETURN_IF_ERROR(addCommand(plan, preparation, *commands->Get(i)));
  return {};
}

/// Where each arena lies; null for inputs, whose addresses come with each call.
Expected<std::vector<const std::byte *>>
CpuSession::arenaBases(const Plan &plan, const format::ExecProgram &exec) {
  size_t count = exec.arenas() ? exec.arenas()->size() : 0;
  std::vector<const std::byte *> bases(count, nullptr);
  uint64_t workOffset = 0;
  for (size_t i = 0; i < count; ++i) {
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
  return bases;
}

/// Gives a slice the next slot. What moves starts where the first iteration
/// has it.
void CpuSession::addSlice(Plan &plan, Preparation &preparation,
                          const format::Slice &slice) {
  const format::ExecProgram &exec = preparation.exec;
  const format::Arena &arena = *exec.arenas()->Get(slice.arena());
  const std::byte *address = nullptr;
  if (arena.kind() == format::ArenaKind::input)
    plan.inputSlots.push_back(
        {plan.slots.size(), arena.value(), slice.offset()});
  else
    address = preparation.bases[slice.arena()] + slice.offset();
  if (slice.strides()) {
    const auto *strides = exec.strides()->Get(slice.strides() - 1)->bytes();
    for (size_t level = 0; strides && level < strides->size(); ++level)
      if (int64_t bytes = strides->Get(level))
        preparation.moves[level].push_back({plan.slots.size(), bytes});
  }
  plan.slots.push_back(const_cast<std::byte *>(address));
}

Status CpuSession::addCommand(Plan &plan, Preparation &preparation,
                              const format::Command &command) {
  const size_t slot = plan.slots.size();
  auto addSlice = [&](const format::Slice &slice) {
    this->addSlice(plan, preparation, slice);
  };

  if (const auto *launch = command.body_as_Launch()) {
    const format::Kernel &kernel =
        *program.table->kernels()->Get(launch->kernel());
    uint64_t touched = 0;
    for (size_t i = 0; launch->operands() && i < launch->operands()->size();
         ++i) {
      const format::Operand &operand = *launch->operands()->Get(i);
      if (operand.kind() == format::OperandKind::slice) {
        addSlice(operand.slice());
        touched += operand.slice().bytes();
      } else {
        plan.slots.push_back(
            reinterpret_cast<void *>(uintptr_t(operand.immediate())));
      }
    }
    scratchPerThread =
        std::max(scratchPerThread, kernel.scratch()->Get(targetIndex));
    auto entry =
        uintptr_t(preparation.code + kernel.entries()->Get(targetIndex));
    bool alone =
        launch->tiles() == 1 || launch->small() || touched < leastSharedBytes;
    plan.steps.push_back(LaunchStep{reinterpret_cast<Kernel>(entry), slot,
                                    int64_t(launch->tiles()), alone});
  } else if (const auto *copy = command.body_as_Copy()) {
    addSlice(*copy->from());
    addSlice(*copy->to());
    plan.steps.push_back(CopyStep{slot, copy->to()->bytes()});
  } else if (const auto *fill = command.body_as_Fill()) {
    addSlice(*fill->to());
    plan.steps.push_back(
        FillStep{slot, fill->to()->bytes(), fill->pattern(), fill->width()});
  } else if (const auto *library = command.body_as_Library()) {
    for (const format::Slice *slice : *library->operands())
      addSlice(*slice);
    auto prepared = convolution(*library->descriptor_as_Convolution());
    if (!prepared) {
      std::string label =
          command.label() ? "'" + command.label()->str() + "': " : "";
      return Status(prepared.status().code(),
                    program.name + ": " + label + prepared.status().message());
    }
    plan.steps.push_back(ConvolutionStep{*prepared, slot});
  } else if (const auto *repeat = command.body_as_Repeat()) {
    size_t index = plan.steps.size();
    plan.steps.push_back(RepeatStep{repeat->count(), 0, {}});
    preparation.moves.emplace_back();
    BESSEMER_RETURN_IF_ERROR(
        addCommands(plan, preparation, repeat->commands()));
    auto &step = std::get<RepeatStep>(plan.steps[index]);
    step.end = plan.steps.size();
    step.moves = std::move(preparation.moves.back());
    preparation.moves.pop_back();
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
    scratchOfThread.push_back(buffer->data());
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

} // namespace bessemer::runtime
