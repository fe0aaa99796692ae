// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cpu/CodeMemory.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <sys/mman.h>

namespace bessemer::runtime {

Expected<std::unique_ptr<CodeMemory>>
CodeMemory::create(std::span<const std::byte> code) {
  auto failure = [&](const char *verb) {
    return Status::internal(std::string("cannot ") + verb + " " +
                            std::to_string(code.size()) +
                            " bytes of machine code: " + std::strerror(errno));
  };
  if (code.empty())
    return std::unique_ptr<CodeMemory>(new CodeMemory(nullptr, 0));
  // Copied rather than mapped from the file: blobs are aligned to 64 bytes, and
  // a file that changes on disk must not change code that runs.
  void *memory = ::mmap(nullptr, code.size(), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return failure("map");
  std::unique_ptr<CodeMemory> result(
      new CodeMemory(static_cast<std::byte *>(memory), code.size()));
  std::memcpy(memory, code.data(), code.size());
  if (::mprotect(memory, code.size(), PROT_READ | PROT_EXEC) != 0)
    return failure("make executable");
  return result;
}

CodeMemory::~CodeMemory() {
  if (memory)
    ::munmap(memory, bytes);
}

} // namespace bessemer::runtime
