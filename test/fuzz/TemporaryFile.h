// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bytes under a path, for readers that take files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace bessemer::fuzz {

/// A file in memory; a harness that cannot make one ends.
class TemporaryFile {
public:
  TemporaryFile(const uint8_t *data, size_t size)
      : descriptor(::memfd_create("fuzz", MFD_CLOEXEC)) {
    while (size > 0) {
      ssize_t written = ::write(descriptor, data, size);
      if (written < 0)
        std::abort();
      data += written;
      size -= size_t(written);
    }
  }
  ~TemporaryFile() { ::close(descriptor); }
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  std::string path() const {
    return "/proc/self/fd/" + std::to_string(descriptor);
  }

private:
  int descriptor;
};

/// Reads every byte, so that a sanitizer sees one that is not there.
inline void touch(const void *data, size_t size) {
  const auto *bytes = static_cast<const volatile uint8_t *>(data);
  for (size_t i = 0; i < size; ++i)
    (void)bytes[i];
}

} // namespace bessemer::fuzz
