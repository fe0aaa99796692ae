// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DirectoryLock.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

namespace bessemer::tool {

using namespace runtime;

Expected<DirectoryLock> DirectoryLock::acquire(const std::string &directory,
                                               const char *flag) {
  DirectoryLock lock(
      ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock.descriptor < 0)
    return Status::invalidInput(directory +
                                ": cannot open: " + std::strerror(errno));
  if (::flock(lock.descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return Status::invalidInput(directory +
                                ": another run is writing here; choose another "
                                "--" +
                                flag);
  return lock;
}

DirectoryLock::DirectoryLock(DirectoryLock &&other) noexcept
    : descriptor(std::exchange(other.descriptor, -1)) {}

DirectoryLock &DirectoryLock::operator=(DirectoryLock &&other) noexcept {
  std::swap(descriptor, other.descriptor);
  return *this;
}

DirectoryLock::~DirectoryLock() {
  if (descriptor >= 0)
    ::close(descriptor);
}

} // namespace bessemer::tool
