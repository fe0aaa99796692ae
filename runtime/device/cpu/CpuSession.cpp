// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs prepared commands, one after the other.
#include "device/cpu/CpuSession.h"
#include "core/WeightLayout.h"
#include "device/cpu/FlushDenormals.h"
#include "device/cpu/OpenMp.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <optional>

namespace bessemer::runtime {

/// Enough for balance when another process takes a core, few enough that
/// claiming costs nothing.
static constexpr int64_t mostChunks = 32;

const std::byte *CpuSession::state(size_t index) {
  const format::State &entry = *program.table->states()->Get(index);
  if (isNamedLayout(entry.layout()) && !inRows[index]) {
    WeightLayout(*entry.type()->shape())
        .toRows(reinterpret_cast<float *>(stateAddress(index)),
                reinterpret_cast<float *>(layoutScratch.data()));
  }
  return stateToWrite(index);
}

std::byte *CpuSession::stateToWrite(size_t index) {
  if (isNamedLayout(program.table->states()->Get(index)->layout()))
    inRows[index] = anyInRows = true;
  return stateAddress(index);
}

void CpuSession::layOutStates() {
  for (size_t i = 0; i < inRows.size(); ++i)
    if (inRows[i]) {
      WeightLayout(*program.table->states()->Get(i)->type()->shape())
          .toBlocks(reinterpret_cast<float *>(stateAddress(i)),
                    reinterpret_cast<float *>(layoutScratch.data()));
      inRows[i] = false;
    }
  anyInRows = false;
}

/// Whether bytes from `base` on are among those of `buffer`.
static bool overlaps(const std::byte *base, uint64_t bytes,
                     const Buffer &buffer) {
  return std::less<>()(base, buffer.data() + buffer.size()) &&
         std::less<>()(buffer.data(), base + bytes);
}

Status CpuSession::bindInputs(size_t function, Plan &plan,
                              std::span<const void *const> inputs) {
  const FunctionInfo &info = program.functions[function];
  for (const InputSlot &input : plan.inputSlots) {
    const ValueInfo &value = info.inputs[input.input];
    const auto *base = static_cast<const std::byte *>(inputs[input.input]);
    const uint64_t bytes = value.type.byteSize();
    // What the session showed of itself changes while the function runs.
    const bool isOwn = overlaps(base, bytes, stateMemory) ||
                       std::any_of(plan.outputs.begin(), plan.outputs.end(),
                                   [&](const Buffer &output) {
                                     return overlaps(base, bytes, output);
                                   });
    if (isOwn || uintptr_t(base) % elementSize(value.type.element)) {
      Buffer &copy = plan.inputCopies[input.input];
      if (!copy.data()) {
        auto buffer = Buffer::create(bytes, "input '" + value.name + "'");
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
  std::byte *const *scratch =
      scratchOfThread.empty() ? nullptr : scratchOfThread.data();
  if (step.tiles == 0)
    return;
  if (step.alone || threadCount == 1)
    step.kernel(buffers, 0, step.tiles, scratch ? scratch[0] : nullptr);
  else if (pool)
    pool->run(step.kernel, buffers, step.tiles, scratch);
  else
    launchOnOpenMP(step, buffers);
}

void CpuSession::launchOnOpenMP(const LaunchStep &step, void **buffers) {
  const int64_t chunk = (step.tiles + mostChunks - 1) / mostChunks;
  nextTile.store(0, std::memory_order_relaxed);
#pragma omp parallel num_threads(threadCount)
  {
    std::byte *own = scratchOfThread.empty()
                         ? nullptr
                         : scratchOfThread[omp_get_thread_num()];
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
  if (anyInRows)
    layOutStates();

  std::optional<FlushDenormals> scope;
  if (flushDenormals)
    scope.emplace(savedModes);
  std::optional<OmpThreads> libraryThreads;
  if (stream)
    libraryThreads.emplace(threadCount);
  return runSteps(plan, 0, plan.steps.size());
}

Status CpuSession::runSteps(Plan &plan, size_t begin, size_t end) {
  const bool isProfile = !plan.times.empty();
  std::chrono::steady_clock::time_point before;
  if (isProfile)
    before = std::chrono::steady_clock::now();
  for (size_t i = begin; i < end;) {
    const auto *loop = std::get_if<RepeatStep>(&plan.steps[i]);
    BESSEMER_RETURN_IF_ERROR(loop ? repeat(plan, i)
                                  : execute(plan.steps[i], plan));
    if (isProfile) {
      auto after = std::chrono::steady_clock::now();
      ++plan.times[i].calls;
      // A loop's time is that of the steps in it.
      if (!loop)
        plan.times[i].seconds +=
            std::chrono::duration<double>(after - before).count();
      before = after;
    }
    i = loop ? loop->end : i + 1;
  }
  return {};
}

Status CpuSession::repeat(Plan &plan, size_t index) {
  const auto &loop = std::get<RepeatStep>(plan.steps[index]);
  auto move = [&](int64_t iterations) {
    for (const Move &moved : loop.moves)
      plan.slots[moved.slot] =
          static_cast<std::byte *>(plan.slots[moved.slot]) +
          moved.bytes * iterations;
  };
  Status status;
  // Between iterations only: no pointer leaves its arena.
  int64_t moved = 0;
  for (int64_t i = 0; i < int64_t(loop.count) && status.ok(); ++i) {
    if (i > 0) {
      move(1);
      ++moved;
    }
    status = runSteps(plan, index + 1, loop.end);
  }
  move(-moved);
  return status;
}

Status CpuSession::execute(const Step &command, Plan &plan) {
  if (const auto *launchStep = std::get_if<LaunchStep>(&command)) {
    launch(*launchStep, plan.slots.data() + launchStep->slot);
  } else if (const auto *conv = std::get_if<ConvolutionStep>(&command)) {
    return conv->convolution->run(*stream, plan.slots.data() + conv->slot);
  } else if (const auto *copy = std::get_if<CopyStep>(&command)) {
    void **slots = plan.slots.data() + copy->slot;
    // Source and target may be slices of one arena.
    std::memmove(slots[1], slots[0], copy->bytes);
  } else if (const auto *fillStep = std::get_if<FillStep>(&command)) {
    fill(*fillStep, plan.slots[fillStep->slot]);
  }
  return {};
}

void CpuSession::startProfile() {
  for (Plan &plan : plans)
    plan.times.assign(plan.steps.size(), {});
}

} // namespace bessemer::runtime
