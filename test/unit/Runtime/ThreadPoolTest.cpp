// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The thread pool: every tile once, whom a launch waits for, sleep, fork.
#include "device/cpu/ThreadPool.h"

#include <chrono>
#include <csignal>
#include <gtest/gtest.h>
#include <latch>
#include <mutex>
#include <sys/wait.h>
#include <unistd.h>

using namespace bessemer::runtime;
using namespace std::chrono_literals;

namespace {
std::unique_ptr<ThreadPool>
makePool(int threads, std::function<void()> prepare = [] {}) {
  auto pool = ThreadPool::create(threads, std::move(prepare));
  EXPECT_TRUE(pool.ok());
  return std::move(*pool);
}

/// Adds the launch's number (an immediate) to the count of each tile.
void countTiles(void **buffers, int64_t begin, int64_t end, void *) {
  auto *counts = static_cast<uint64_t *>(buffers[0]);
  for (int64_t tile = begin; tile < end; ++tile)
    counts[tile] += uint64_t(buffers[1]);
}

/// What the kernels below share with their test.
struct Shared {
  std::atomic<int> started{0}, ended{0};
  std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> byWorkers{0};
  sigset_t workersMask;
  std::once_flag once;
};

/// Chunks last long enough for a worker to wake and take some.
void slowChunk(void **buffers, int64_t, int64_t, void *) {
  auto &shared = *static_cast<Shared *>(buffers[0]);
  ++shared.started;
  std::this_thread::sleep_for(1ms);
  if (std::this_thread::get_id() != shared.caller) {
    std::call_once(shared.once, [&] {
      ::pthread_sigmask(SIG_BLOCK, nullptr, &shared.workersMask);
    });
    ++shared.byWorkers;
  }
  ++shared.ended;
}
} // namespace

class ThreadPoolThreads : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolThreads,
                         testing::Values(1, 2, 3, 8, 40));

TEST_P(ThreadPoolThreads, RunsEveryTileOnce) {
  auto pool = makePool(GetParam());
  // Tile counts around the numbers of chunks, one after the other without a
  // pause: late workers meet the next launch.
  std::vector<uint64_t> counts(1000), expected(1000);
  for (uint64_t launch = 1; launch <= 3000; ++launch) {
    const int64_t tiles = int64_t(launch * 37 % 1000) + 1;
    void *buffers[] = {counts.data(), reinterpret_cast<void *>(launch)};
    pool->run(countTiles, buffers, tiles, nullptr);
    for (int64_t tile = 0; tile < tiles; ++tile)
      expected[tile] += launch;
  }
  EXPECT_EQ(counts, expected);
}

TEST(ThreadPool, DoesNotWaitForAWorkerThatClaimedNothing) {
  std::latch release(1);
  std::vector<uint64_t> counts(100);
  {
    auto pool = makePool(3, [&] { release.wait(); });
    // Both workers hang before their first look at the launch.
    void *buffers[] = {counts.data(), reinterpret_cast<void *>(uint64_t(1))};
    for (int launch = 0; launch < 10; ++launch)
      pool->run(countTiles, buffers, 100, nullptr);
    EXPECT_EQ(counts, std::vector<uint64_t>(100, 10));
    release.count_down();
  }
}

TEST(ThreadPool, WaitsForClaimedChunksAndWakesSleepers) {
  auto pool = makePool(2);
  Shared shared;
  void *buffers[] = {&shared};
  for (int round = 0; round < 3; ++round) {
    // Long enough for the worker to fall asleep.
    std::this_thread::sleep_for(20ms);
    const int before = shared.byWorkers;
    // A launch lasts 32 ms on one thread; a worker may need several to be
    // scheduled.
    for (int launch = 0; launch < 200 && shared.byWorkers == before; ++launch) {
      pool->run(slowChunk, buffers, 32, nullptr);
      ASSERT_EQ(shared.ended, shared.started);
    }
    EXPECT_GT(shared.byWorkers, before) << "no worker woke";
  }
  // Signals are for the program's threads.
  EXPECT_TRUE(::sigismember(&shared.workersMask, SIGINT));
}

TEST(ThreadPool, WakesSleepersForLongLaunchesAfterShortOnes) {
  auto pool = makePool(2);
  std::vector<uint64_t> counts(1);
  // One tile each, which the caller has done before a worker is awake: waking
  // for those does not help.
  for (uint64_t launch = 1; launch <= 100; ++launch) {
    std::this_thread::sleep_for(300us);
    void *buffers[] = {counts.data(), reinterpret_cast<void *>(launch)};
    pool->run(countTiles, buffers, 1, nullptr);
  }
  Shared shared;
  void *buffers[] = {&shared};
  int launches = 0;
  for (; launches < 200 && shared.byWorkers == 0; ++launches)
    pool->run(slowChunk, buffers, 32, nullptr);
  // Each lasts 32 ms alone, which is longer than the longest pause: every
  // launch wakes the worker, unless the machine has no core for it.
  EXPECT_LE(launches, 10);
}

/// The caller's sixteenth chunk, several pauses after the launch's first, waits
/// for a worker to have one.
static void chunkThatNeedsAWorker(void **buffers, int64_t, int64_t, void *) {
  auto &shared = *static_cast<Shared *>(buffers[0]);
  if (std::this_thread::get_id() != shared.caller) {
    ++shared.byWorkers;
    return;
  }
  std::this_thread::sleep_for(500us);
  if (++shared.started != 16)
    return;
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (shared.byWorkers == 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(1ms);
}

TEST(ThreadPool, WakesSleepersDuringALaunchThatBeganInThePause) {
  auto pool = makePool(2);
  std::vector<uint64_t> counts(1);
  // In some of the rounds the worker sleeps and the pause lasts when the long
  // launch begins, whatever the machine's load.
  for (int round = 0; round < 30; ++round) {
    for (uint64_t launch = 1; launch <= 20; ++launch) {
      std::this_thread::sleep_for(200us);
      void *buffers[] = {counts.data(), reinterpret_cast<void *>(launch)};
      pool->run(countTiles, buffers, 1, nullptr);
    }
    Shared shared;
    void *buffers[] = {&shared};
    pool->run(chunkThatNeedsAWorker, buffers, 32, nullptr);
    ASSERT_GT(shared.byWorkers, 0) << "round " << round;
  }
}

TEST(ThreadPool, ForkedChildRunsAlone) {
  auto pool = makePool(2);
  pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    std::vector<uint64_t> counts(64);
    void *buffers[] = {counts.data(), reinterpret_cast<void *>(uint64_t(1))};
    pool->run(countTiles, buffers, 64, nullptr);
    bool ran = counts == std::vector<uint64_t>(64, 1);
    pool.reset();
    ::_exit(ran ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}
