// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A session: the state of a program on a device, and the calls of its
// functions.
#pragma once

#include "bessemer/runtime/Program.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace bessemer::runtime {

/// What a call tells the device besides its inputs; 64 bytes, little endian.
struct alignas(64) StepBlock {
  /// Counts calls on the host from 0; drives schedules and random numbers.
  uint64_t step = 0;
  uint64_t seed = 0;
  uint32_t flags = 0;
  float learningRate = 0;
  /// Rows of the batch that count; the others are padding. 0 in a padded
  /// batch means none, so set it to the batch size when all rows count.
  int64_t validRows = 0;
  uint64_t reserved[4] = {};
};
static_assert(sizeof(StepBlock) == 64);

/// Steps of a run, so that a count of batches fits above.
inline constexpr uint64_t mostSteps = (uint64_t(1) << 32) - 1;

/// `StepBlock::step` for one of the batches that a call with any number of rows
/// is split into: each draws random numbers of its own, the first one those of
/// `step` itself. Both are at most mostSteps, which the callers check.
constexpr uint64_t stepOfBatch(uint64_t step, uint64_t batch) {
  return step + (batch << 32);
}

/// Threads of a session.
inline constexpr int mostThreads = 4096;

struct SessionOptions {
  /// "cpu" chooses the best code for this machine; "cpu:x86-64-v3" names it.
  std::string device = "cpu";
  /// At most mostThreads; 0: as many as OpenMP would use (OMP_NUM_THREADS, or
  /// the cores allowed).
  int threads = 0;
};

/// Bytes that a session holds.
struct MemoryReport {
  /// Logical state: parameters, moments, statistics, counters.
  uint64_t state = 0;
  /// The packed temporaries: the largest function's, as they share the memory.
  uint64_t work = 0;
  /// Lower bound that liveness puts on `work`.
  uint64_t workBound = 0;
  /// Buffers of outputs, and of inputs that had to be copied.
  uint64_t values = 0;
  /// Scratch of the vendor library, shared by all its calls.
  uint64_t libraryScratch = 0;
  /// Scratch of generated kernels, all threads together.
  uint64_t kernelScratch = 0;

  uint64_t total() const {
    return state + work + values + libraryScratch + kernelScratch;
  }
};

/// What the calls of one command took.
struct CommandTime {
  /// A command in a loop counts once per iteration.
  uint64_t calls = 0;
  double seconds = 0;
};

/// One thread at a time may use a session; several sessions of one program
/// may run at once in several threads. Nothing is allocated by run().
class Session {
public:
  static Expected<std::unique_ptr<Session>>
  create(std::shared_ptr<const Program> program,
         const SessionOptions &options = {});

  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  /// Runs a function. Every input must be given once, with the type and shape
  /// of the signature and within its ranges, padding too; data must stay alive
  /// during the call and is used where it lies, unless it is not even aligned
  /// to its elements or is a view of a state or of this function's last
  /// results, which are copied first.
  Status run(std::string_view function, std::span<const NamedTensor> inputs,
             const StepBlock &step);

  /// The check of ranges alone, for a value of the input's type but with any
  /// number of rows; errors have the place in it.
  Status checkRanges(std::string_view function, const NamedTensor &value) const;

  /// A result of the last run of the function: a view into the session's
  /// buffers, valid until the next run of that function.
  Expected<TensorView> output(std::string_view function,
                              std::string_view name) const;

  /// The elements of a state, valid until the next run or write.
  Expected<TensorView> readState(std::string_view name) const;
  /// Copies the elements in; type and shape must be the state's.
  Status writeState(std::string_view name, const TensorView &value);
  /// Sets every state to its initial value.
  Status resetState();

  const Program &program() const;
  std::shared_ptr<const Program> sharedProgram() const;
  std::span<const FunctionInfo> functions() const;
  std::span<const StateInfo> states() const;
  /// In the artifact's order.
  std::span<const std::string> stateNames() const;
  /// The target whose code runs, e.g. "x86-64-v4".
  std::string_view target() const;
  /// "oneDNN 2.6.3" when a function calls it, else empty; resume is bit-exact
  /// with the same one only.
  std::string_view library() const;
  int threads() const;
  const MemoryReport &memory() const;

  /// Measures every command from now on, from zero.
  void startProfile();
  /// In the order of the function's commands on target(), a loop (which
  /// has no time of its own) before the commands in it; empty before
  /// startProfile().
  Expected<std::span<const CommandTime>>
  commandTimes(std::string_view function) const;

  struct Impl;

private:
  explicit Session(std::unique_ptr<Impl> implementation);
  std::unique_ptr<Impl> implementation;
};

/// The library that convolutions call on the CPU, opened as a session opens
/// it: "oneDNN 2.6.3 (libdnnl.so.2)". The environment variable BESSEMER_ONEDNN
/// names another file. The error says why there is none.
Expected<std::string> convolutionLibrary();

} // namespace bessemer::runtime
