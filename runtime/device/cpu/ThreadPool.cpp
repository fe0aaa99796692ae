// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cpu/ThreadPool.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <system_error>
#include <unistd.h>

namespace bessemer::runtime {

namespace {
using Clock = std::chrono::steady_clock;

/// Bits of a share's word below the launch's number.
constexpr unsigned chunkBits = 16;
constexpr uint64_t chunkMask = (uint64_t(1) << chunkBits) - 1;

/// Enough for balance when another process takes a core, few enough that
/// claiming costs nothing.
constexpr int64_t leastChunks = 32;
constexpr int64_t chunksPerThread = 4;

/// How long a worker looks out for the next launch before it sleeps: longer
/// than what usually lies between two launches, as waking takes some 50 us.
constexpr auto workerPatience = std::chrono::microseconds(100);
/// How long the caller looks out for a worker's chunk before it gives its core
/// away, perhaps to that worker.
constexpr auto callerPatience = std::chrono::microseconds(50);
/// Waking costs the caller some 10 us, so that it is at most a tenth of what it
/// does, and a hundredth once that has not helped several times.
constexpr Clock::duration firstWakePause = std::chrono::microseconds(100);
constexpr Clock::duration longestWakePause = std::chrono::microseconds(1600);

/// The first chunk of a thread's share.
int64_t firstChunk(int share, int threads, int64_t chunks) {
  return chunks * share / threads;
}

/// The first tile of a chunk: chunks are of one size, the first ones a tile
/// larger where it does not divide. The products stay in range.
int64_t firstTile(int64_t chunk, int64_t chunks, int64_t tiles) {
  return tiles / chunks * chunk + std::min(chunk, tiles % chunks);
}

/// Spins until `done`; false when patience ends first.
template <typename F> bool spin(Clock::duration patience, F done) {
  Clock::time_point end{};
  for (;;) {
    for (int i = 0; i < 64; ++i) {
      if (done())
        return true;
      __builtin_ia32_pause();
    }
    auto now = Clock::now();
    if (end == Clock::time_point{})
      end = now + patience;
    else if (now >= end)
      return false;
  }
}

/// Threads made in this scope get no signals: those are the program's.
class NoSignals {
public:
  NoSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
  }
  ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); }

private:
  sigset_t before;
};
} // namespace

Expected<std::unique_ptr<ThreadPool>>
ThreadPool::create(int threads, const std::function<void()> &prepareThread) {
  std::unique_ptr<ThreadPool> pool(new ThreadPool);
  pool->owner = ::getpid();
  pool->threads = threads;
  pool->shares = std::make_unique<Share[]>(threads);
  pool->workers.reserve(threads - 1);
  NoSignals scope;
  try {
    for (int thread = 1; thread < threads; ++thread)
      pool->workers.emplace_back([pool = pool.get(), thread, prepareThread] {
        prepareThread();
        pool->workerLoop(thread);
      });
  } catch (const std::system_error &error) {
    return Status::internal("threads: cannot start thread " +
                            std::to_string(pool->workers.size() + 2) + " of " +
                            std::to_string(threads) + ": " +
                            error.code().message());
  }
  return pool;
}

ThreadPool::~ThreadPool() {
  // A forked child has the session but not its threads: nothing to wait for.
  if (::getpid() != owner) {
    // Their handles mean nothing here, not even to be detached: never destroy
    // them.
    new std::vector<std::thread>(std::move(workers));
    return;
  }
  stopping.store(true);
  launches.fetch_add(1);
  launches.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void ThreadPool::run(Kernel kernel, void **buffers, int64_t tiles,
                     std::byte *const *scratch) {
  const int64_t most =
      std::max(leastChunks, chunksPerThread * int64_t(threads));
  const auto chunks = uint32_t(std::min(tiles, most));
  publish(kernel, buffers, tiles, scratch, chunks);
  awaitWorkers(chunks - claimChunks(0));
}

void ThreadPool::publish(Kernel newKernel, void **newBuffers, int64_t newTiles,
                         std::byte *const *newScratch, uint32_t chunks) {
  kernel.store(newKernel, std::memory_order_relaxed);
  buffers.store(newBuffers, std::memory_order_relaxed);
  tiles.store(newTiles, std::memory_order_relaxed);
  scratch.store(newScratch, std::memory_order_relaxed);
  chunkCount.store(chunks, std::memory_order_relaxed);
  finished.store(0, std::memory_order_relaxed);
  ++launch;
  for (int share = 0; share < threads; ++share)
    shares[share].unclaimed.store(
        launch << chunkBits | uint64_t(firstChunk(share + 1, threads, chunks) -
                                       firstChunk(share, threads, chunks)),
        std::memory_order_release);
  // Sequentially consistent: a worker goes to sleep before we look for
  // sleepers, or sees this launch.
  launches.store(uint32_t(launch));
  woke = false;
  wakeWorkers();
}

/// Wakes those that sleep, once in a launch, unless it is too early for that.
void ThreadPool::wakeWorkers() {
  if (woke || sleepers.load() == 0)
    return;
  if (wakePause > Clock::duration::zero() && Clock::now() < nextWake)
    return;
  launches.notify_all();
  woke = true;
}

/// Runs chunks of the current launch until all are claimed; gives how many.
unsigned ThreadPool::claimChunks(int thread) {
  unsigned done = 0;
  for (int i = 0; i < threads; ++i)
    done += claimFrom((thread + i) % threads, thread);
  return done;
}

unsigned ThreadPool::claimFrom(int share, int thread) {
  unsigned done = 0;
  std::atomic<uint64_t> &unclaimed = shares[share].unclaimed;
  uint64_t seen = unclaimed.load(std::memory_order_acquire);
  while (uint64_t left = seen & chunkMask) {
    // A launch that turns out to be long outlasts the pause.
    if (thread == 0 && done > 0)
      wakeWorkers();
    Kernel body = kernel.load(std::memory_order_relaxed);
    void **operands = buffers.load(std::memory_order_relaxed);
    int64_t end = tiles.load(std::memory_order_relaxed);
    std::byte *const *memory = scratch.load(std::memory_order_relaxed);
    int64_t count = chunkCount.load(std::memory_order_relaxed);
    // The caller writes the next launch's values only after this one's last
    // claim, so when the claim succeeds they are this launch's.
    if (!unclaimed.compare_exchange_weak(seen, seen - 1,
                                         std::memory_order_acq_rel,
                                         std::memory_order_acquire))
      continue;
    const int64_t index = firstChunk(share + 1, threads, count) - int64_t(left);
    body(operands, firstTile(index, count, end),
         firstTile(index + 1, count, end), memory ? memory[thread] : nullptr);
    ++done;
    if (thread > 0) {
      finished.fetch_add(1);
      finished.notify_one();
    }
    seen = unclaimed.load(std::memory_order_acquire);
  }
  return done;
}

void ThreadPool::awaitWorkers(uint32_t claimed) {
  if (claimed > 0) {
    wakePause = Clock::duration::zero();
  } else if (woke) {
    wakePause = std::clamp(2 * wakePause, firstWakePause, longestWakePause);
    nextWake = Clock::now() + wakePause;
  }
  auto allDone = [&] {
    return finished.load(std::memory_order_acquire) == claimed;
  };
  if (spin(callerPatience, allDone))
    return;
  for (uint32_t now;
       (now = finished.load(std::memory_order_acquire)) != claimed;)
    finished.wait(now);
}

void ThreadPool::workerLoop(int thread) {
  for (;;) {
    uint32_t seen = launches.load();
    if (stopping.load())
      return;
    claimChunks(thread);
    if (spin(workerPatience,
             [&] { return launches.load(std::memory_order_relaxed) != seen; }))
      continue;
    sleepers.fetch_add(1);
    launches.wait(seen);
    sleepers.fetch_sub(1);
  }
}

} // namespace bessemer::runtime
