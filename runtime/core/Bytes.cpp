// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/Bytes.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bessemer::runtime {

static constexpr uint64_t cacheLine = 64;
static constexpr uint64_t hugePage = 2 << 20;
/// Refuses sizes that no machine has before rounding could overflow.
static constexpr uint64_t mostBytes = uint64_t(1) << 47;

Expected<Buffer> Buffer::create(uint64_t bytes, const std::string &what) {
  Buffer buffer;
  if (bytes == 0)
    return buffer;
  uint64_t alignment = bytes >= 2 * hugePage ? hugePage : cacheLine;
  if (bytes <= mostBytes) {
    uint64_t rounded = (bytes + alignment - 1) / alignment * alignment;
    buffer.memory =
        static_cast<std::byte *>(std::aligned_alloc(alignment, rounded));
    if (buffer.memory && alignment == hugePage)
      ::madvise(buffer.memory, rounded, MADV_HUGEPAGE);
  }
  if (!buffer.memory)
    return Status::invalidInput("not enough memory: cannot allocate " +
                                std::to_string(bytes) + " bytes for " + what);
  std::memset(buffer.memory, 0, bytes);
  buffer.length = bytes;
  return buffer;
}

Buffer::~Buffer() { std::free(memory); }

Expected<std::unique_ptr<MappedFile>>
MappedFile::open(const std::string &path) {
  auto failure = [&](const char *verb) {
    return Status::invalidInput(path + ": cannot " + verb + ": " +
                                std::strerror(errno));
  };
  // To open a pipe that nobody writes to would wait for good.
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    return failure("open");
  struct stat info;
  if (::fstat(file, &info) != 0) {
    Status status = failure("read");
    ::close(file);
    return status;
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(file);
    return Status::invalidInput(path + ": expected a regular file, got " +
                                (S_ISDIR(info.st_mode) ? "a directory"
                                 : S_ISFIFO(info.st_mode)
                                     ? "a pipe"
                                     : "a device or a socket"));
  }
  auto size = static_cast<size_t>(info.st_size);
  void *data = nullptr;
  if (size)
    data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  Status status = data == MAP_FAILED ? failure("map") : Status();
  ::close(file);
  if (!status.ok())
    return status;
  return std::unique_ptr<MappedFile>(
      new MappedFile(static_cast<const std::byte *>(data), size));
}

MappedFile::~MappedFile() {
  if (size)
    ::munmap(const_cast<std::byte *>(data), size);
}

} // namespace bessemer::runtime
