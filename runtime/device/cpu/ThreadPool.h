// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The threads of a session that run the tiles of generated kernels.
#pragma once

#include "bessemer/runtime/Status.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <sys/types.h>
#include <thread>
#include <vector>

namespace bessemer::runtime {

/// A generated kernel; a buffer is an address or an immediate.
using Kernel = void (*)(void **buffers, int64_t tileBegin, int64_t tileEnd,
                        void *scratch);

/// A launch's tiles are cut into chunks, which the caller and the workers
/// claim one by one: each its own share first, which is the same tiles in every
/// launch and so in its core's cache, then the others'. The caller waits for
/// chunks that a worker is at, never for a worker that claimed none: on a
/// machine whose cores are busy with other work a launch costs no more than on
/// one thread. (OpenMP's barrier waits for every thread.) Workers spin for a
/// moment between launches, then sleep. One thread at a time may call run().
class ThreadPool {
public:
  /// Starts threads - 1 workers; each first calls `prepareThread`.
  static Expected<std::unique_ptr<ThreadPool>>
  create(int threads, const std::function<void()> &prepareThread);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  /// Runs the kernel on all tiles. `scratch` holds an address per thread, the
  /// caller's first, or is null.
  void run(Kernel kernel, void **buffers, int64_t tiles,
           std::byte *const *scratch);

private:
  ThreadPool() = default;
  void workerLoop(int thread);
  unsigned claimChunks(int thread);
  unsigned claimFrom(int share, int thread);
  void publish(Kernel kernel, void **buffers, int64_t tiles,
               std::byte *const *scratch, uint32_t chunks);
  void wakeWorkers();
  void awaitWorkers(uint32_t claimed);

  // The current launch. A worker that comes late reads these while the caller
  // writes the next ones; its claim then fails.
  std::atomic<Kernel> kernel{nullptr};
  std::atomic<void **> buffers{nullptr};
  std::atomic<std::byte *const *> scratch{nullptr};
  std::atomic<int64_t> tiles{0};
  std::atomic<uint32_t> chunkCount{0};

  /// Number of the launch, and below it how many chunks of a thread's share
  /// nobody has claimed: a claim is a decrement that succeeds in its own launch
  /// only.
  struct alignas(64) Share {
    std::atomic<uint64_t> unclaimed{0};
  };
  std::unique_ptr<Share[]> shares;
  /// Counts launches, for workers that look out for one or sleep.
  alignas(64) std::atomic<uint32_t> launches{0};
  std::atomic<int> sleepers{0};
  std::atomic<bool> stopping{false};
  /// Chunks that workers have done in this launch.
  alignas(64) std::atomic<uint32_t> finished{0};

  // The caller's own.
  alignas(64) uint64_t launch = 0;
  /// Launches that did not need the workers they woke lengthen the pause
  /// until sleepers are woken again. It is a time, so that a launch that lasts
  /// longer than it always wakes them, at its begin or between two chunks.
  std::chrono::steady_clock::duration wakePause{};
  std::chrono::steady_clock::time_point nextWake{};
  bool woke = false;

  int threads = 1;
  std::vector<std::thread> workers;
  pid_t owner = 0;
};

} // namespace bessemer::runtime
