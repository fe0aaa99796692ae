// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is left within the limits of control groups, from files as Linux writes
// them.
#include "core/AvailableMemory.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using bessemer::runtime::availableMemory;
namespace fs = std::filesystem;

namespace {
constexpr uint64_t MiB = 1 << 20;

/// A machine with 8192 MiB available and 512 MiB of swap.
struct AvailableMemory : testing::Test {
  AvailableMemory()
      : root(fs::temp_directory_path() /
             ("bessemer-memory-" + std::to_string(::getpid()))) {
    write("proc/meminfo", "MemTotal:       16777216 kB\n"
                          "MemFree:         1048576 kB\n"
                          "MemAvailable:    8388608 kB\n"
                          "HugePages_Total:       0\n"
                          "SwapFree:         524288 kB\n");
  }
  ~AvailableMemory() override { fs::remove_all(root); }
  void write(const std::string &path, const std::string &text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
  void group(const std::string &path, const std::string &limit,
             uint64_t current, uint64_t file) {
    write("sys/fs/cgroup" + path + "/memory.max", limit + "\n");
    write("sys/fs/cgroup" + path + "/memory.current", std::to_string(current));
    write("sys/fs/cgroup" + path + "/memory.stat",
          "anon 1\ninactive_file " + std::to_string(file) +
              "\nactive_file 0\nslab 77\n");
  }
  void firstVersion(const std::string &path, uint64_t limit, uint64_t usage) {
    std::string directory = "sys/fs/cgroup/memory" + path;
    write(directory + "/memory.limit_in_bytes", std::to_string(limit));
    write(directory + "/memory.usage_in_bytes", std::to_string(usage));
    write(directory + "/memory.stat",
          "inactive_file 5\ntotal_inactive_file 1048576\n"
          "total_active_file 2097152\n");
  }
  uint64_t available() { return *availableMemory(root.string()) / MiB; }

  fs::path root;
};
} // namespace

TEST_F(AvailableMemory, IsTheMachinesWithoutGroups) {
  EXPECT_EQ(available(), 8704u);
  fs::remove(root / "proc/meminfo");
  EXPECT_FALSE(availableMemory(root.string()));
}

TEST_F(AvailableMemory, IsWhatTheGroupAndItsAncestorsLeave) {
  write("proc/self/cgroup", "0::/a/b\n");
  group("/a/b", "max", 900 * MiB, 0);
  EXPECT_EQ(available(), 8704u);
  // 1000 - (900 - 100 of files), and swap.
  group("/a/b", std::to_string(1000 * MiB), 900 * MiB, 100 * MiB);
  EXPECT_EQ(available(), 200u + 512u);
  group("/a", std::to_string(1000 * MiB), 950 * MiB, 100 * MiB);
  EXPECT_EQ(available(), 150u + 512u);
  // Above its limit, and another group.
  group("/a", std::to_string(800 * MiB), 950 * MiB, 0);
  group("/c", std::to_string(1 * MiB), 0, 0);
  EXPECT_EQ(available(), 512u);
}

TEST_F(AvailableMemory, IsWhatTheRootOfAContainerLeaves) {
  write("proc/self/cgroup", "0::/system.slice/docker-1234.scope\n");
  group("", std::to_string(300 * MiB), 200 * MiB, 0);
  EXPECT_EQ(available(), 100u + 512u);
  write("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(available(), 100u + 512u);
}

TEST_F(AvailableMemory, KnowsTheFirstVersion) {
  write("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:hugetlb,memory:/jobs/1\n"
                            "1:name=systemd:/\n0::/\n");
  firstVersion("", 9223372036854771712u, 7000 * MiB);
  EXPECT_EQ(available(), 8704u);
  // 64 - (43 - 3 of files), and swap.
  firstVersion("/jobs/1", 64 * MiB, 43 * MiB);
  EXPECT_EQ(available(), 24u + 512u);
}
