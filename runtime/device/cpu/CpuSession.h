// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A session on the CPU: memory, prepared commands, and the loop that runs
// them.
#pragma once

#include "bessemer/runtime/Session.h"
#include "core/Bytes.h"
#include "core/ProgramImpl.h"
#include "device/cpu/Convolution.h"
#include "device/cpu/ThreadPool.h"

#include <atomic>
#include <variant>

namespace bessemer::runtime {

class CpuSession {
public:
  static Expected<std::unique_ptr<CpuSession>>
  create(const Program &program, const SessionOptions &options);

  /// `inputs` are in the order of the function's signature and checked.
  Status run(size_t function, std::span<const void *const> inputs,
             const StepBlock &step);

  const void *output(size_t function, size_t index) const {
    return plans[function].outputs[index].data();
  }
  /// The elements of a state, row-major until the next run.
  const std::byte *state(size_t index);
  /// Where to write them all, row-major.
  std::byte *stateToWrite(size_t index);
  Status resetState();

  size_t target() const { return targetIndex; }
  int threads() const { return threadCount; }
  const MemoryReport &memory() const { return report; }
  const std::string &library() const { return libraryName; }

  void startProfile();
  std::span<const CommandTime> commandTimes(size_t function) const {
    return plans[function].times;
  }

private:
  using CommandList = flatbuffers::Vector<flatbuffers::Offset<format::Command>>;

  // Each command finds its operands in a row of 8-byte slots of the plan's
  // `slots`, from `slot` on.
  struct LaunchStep {
    Kernel kernel;
    size_t slot;
    int64_t tiles;
    /// Too little work to share.
    bool alone;
  };
  struct CopyStep {
    size_t slot;
    uint64_t bytes;
  };
  struct FillStep {
    size_t slot;
    uint64_t bytes;
    uint64_t pattern;
    unsigned width;
  };
  struct ConvolutionStep {
    Convolution *convolution;
    size_t slot;
  };
  /// A slot that moves with the iteration of a repeat.
  struct Move {
    size_t slot;
    int64_t bytes;
  };
  /// The steps behind it, up to `end`, `count` times.
  struct RepeatStep {
    uint64_t count;
    size_t end;
    std::vector<Move> moves;
  };
  using Step =
      std::variant<LaunchStep, CopyStep, FillStep, ConvolutionStep, RepeatStep>;

  /// A slot that holds the address of an input, set at each call.
  struct InputSlot {
    size_t slot;
    size_t input;
    uint64_t offset;
  };

  struct Plan {
    std::vector<Step> steps;
    std::vector<void *> slots;
    std::vector<InputSlot> inputSlots;
    std::vector<Buffer> outputs;
    /// Where an input goes that lies across its elements' alignment, or in what
    /// the function writes; made when first needed.
    std::vector<Buffer> inputCopies;
    /// One per step while a profile is taken, else empty.
    std::vector<CommandTime> times;
  };

  CpuSession(const Program::Impl &program) : program(program) {}
  Status prepare(const SessionOptions &options);
  Status prepareMemory();
  Status checkMemory() const;
  Status prepareFunction(size_t function, const format::ExecProgram &exec,
                         const std::byte *code);
  Expected<std::vector<const std::byte *>>
  arenaBases(const Plan &plan, const format::ExecProgram &exec);
  /// What adding commands needs to know.
  struct Preparation {
    const format::ExecProgram &exec;
    const std::vector<const std::byte *> &bases;
    const std::byte *code;
    /// The moving slots of each repeat around the command at hand.
    std::vector<std::vector<Move>> moves;
  };
  Status addCommands(Plan &plan, Preparation &preparation,
                     const CommandList *commands);
  Status addCommand(Plan &plan, Preparation &preparation,
                    const format::Command &command);
  void addSlice(Plan &plan, Preparation &preparation,
                const format::Slice &slice);
  Expected<Convolution *> convolution(const format::Convolution &description);
  Status prepareScratch();
  Status prepareThreads();
  std::byte *stateAddress(size_t index) const {
    return stateMemory.data() + program.table->states()->Get(index)->offset();
  }
  /// Lays out the states that were made row-major since the last run.
  void layOutStates();
  Status bindInputs(size_t function, Plan &plan,
                    std::span<const void *const> inputs);
  /// Steps [begin, end), measured where a profile is taken.
  Status runSteps(Plan &plan, size_t begin, size_t end);
  Status repeat(Plan &plan, size_t index);
  Status execute(const Step &command, Plan &plan);
  void launch(const LaunchStep &step, void **buffers);
  void launchOnOpenMP(const LaunchStep &step, void **buffers);
  static void fill(const FillStep &step, void *target);

  const Program::Impl &program;
  size_t targetIndex = 0;
  int threadCount = 1;
  bool flushDenormals = true;
  Buffer stateMemory, workMemory, libraryScratch;
  Buffer stepBlock;
  /// Sixteen filters of any state that does not lie row-major.
  Buffer layoutScratch;
  /// By state: whether its elements are row-major until the next run though
  /// the commands have them in another layout.
  std::vector<bool> inRows;
  bool anyInRows = false;
  std::vector<Plan> plans;
  std::vector<std::unique_ptr<Convolution>> convolutions;
  std::unique_ptr<OneDnnStream> stream;
  std::string libraryName;

  /// One per thread, each from its own cache line on.
  std::vector<Buffer> kernelScratch;
  std::vector<std::byte *> scratchOfThread;
  uint64_t scratchPerThread = 0;
  std::vector<unsigned> savedModes;
  /// Null when there is one thread, and where oneDNN computes too: its threads
  /// are OpenMP's, which spin after their work, so they run everything.
  std::unique_ptr<ThreadPool> pool;
  /// The next tile that a thread of OpenMP may claim; alone on its cache line.
  alignas(64) std::atomic<int64_t> nextTile{0};
  alignas(64) MemoryReport report;
};

} // namespace bessemer::runtime
