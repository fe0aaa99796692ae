// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/AvailableMemory.h"

#include <algorithm>
#include <fstream>
#include <limits>

namespace bessemer::runtime {
namespace {

constexpr uint64_t unlimited = std::numeric_limits<uint64_t>::max();

/// The files of one version of control groups.
struct Version {
  const char *mount, *limit, *usage;
  /// In memory.stat: pages of files, which the kernel takes back.
  const char *activeFile, *inactiveFile;
};
constexpr Version first = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                           "memory.usage_in_bytes", "total_active_file",
                           "total_inactive_file"};
constexpr Version second = {"/sys/fs/cgroup", "memory.max", "memory.current",
                            "active_file", "inactive_file"};

/// What the processes of the group at `directory` can still take.
uint64_t roomOf(const std::string &directory, const Version &version) {
  uint64_t limit = 0, usage = 0;
  // "max" without a limit; no file where there is no such group.
  if (!(std::ifstream(directory + "/" + version.limit) >> limit) ||
      !(std::ifstream(directory + "/" + version.usage) >> usage))
    return unlimited;
  std::ifstream stat(directory + "/memory.stat");
  std::string key;
  for (uint64_t bytes = 0; stat >> key >> bytes;)
    if (key == version.activeFile || key == version.inactiveFile)
      usage -= std::min(usage, bytes);
  return limit - std::min(limit, usage);
}

/// The least room of the group and the groups that it is in. In a container the
/// path may be the host's, of which only the root is there.
uint64_t roomOnPath(const std::string &root, std::string path,
                    const Version &version) {
  uint64_t room = unlimited;
  for (;;) {
    while (path.ends_with('/'))
      path.pop_back();
    room = std::min(room, roomOf(root + version.mount + path, version));
    if (path.empty())
      return room;
    size_t parent = path.rfind('/');
    path.resize(parent == std::string::npos ? 0 : parent);
  }
}

/// The room that control groups leave this process.
uint64_t roomOfGroups(const std::string &root) {
  std::ifstream groups(root + "/proc/self/cgroup");
  uint64_t room = unlimited;
  // "0::/path" of version 2, "4:memory:/path" of version 1.
  for (std::string line; std::getline(groups, line);) {
    size_t colon = line.find(':'), next = line.find(':', colon + 1);
    if (next == std::string::npos)
      continue;
    std::string controllers = line.substr(colon + 1, next - colon - 1);
    std::string path = line.substr(next + 1);
    if (controllers.empty())
      room = std::min(room, roomOnPath(root, path, second));
    else if (("," + controllers + ",").find(",memory,") != std::string::npos)
      room = std::min(room, roomOnPath(root, path, first));
  }
  return room;
}

} // namespace

std::optional<uint64_t> availableMemory(const std::string &root) {
  std::ifstream info(root + "/proc/meminfo");
  std::string key, unit;
  uint64_t kilobytes = 0, memory = 0, swap = 0;
  bool known = false;
  while (info >> key >> kilobytes && std::getline(info, unit)) {
    known |= key == "MemAvailable:";
    if (key == "MemAvailable:")
      memory = kilobytes * 1024;
    else if (key == "SwapFree:")
      swap = kilobytes * 1024;
  }
  if (!known)
    return std::nullopt;
  return std::min(memory, roomOfGroups(root)) + swap;
}

} // namespace bessemer::runtime
