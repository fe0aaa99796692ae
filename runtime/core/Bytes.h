// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that owns itself: mapped files, and aligned, touched buffers.
#pragma once

#include "bessemer/runtime/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace bessemer::runtime {

/// A buffer aligned to 64 bytes, zero and resident from the start, so that a
/// step meets no page fault. Large ones ask for huge pages.
class Buffer {
public:
  Buffer() = default;
  /// `what` names the buffer in the error when memory runs out.
  static Expected<Buffer> create(uint64_t bytes, const std::string &what);
  Buffer(Buffer &&other) noexcept { *this = std::move(other); }
  Buffer &operator=(Buffer &&other) noexcept {
    std::swap(memory, other.memory);
    std::swap(length, other.length);
    return *this;
  }
  ~Buffer();

  std::byte *data() const { return memory; }
  uint64_t size() const { return length; }

private:
  std::byte *memory = nullptr;
  uint64_t length = 0;
};

/// A file mapped read-only.
class MappedFile {
public:
  static Expected<std::unique_ptr<MappedFile>> open(const std::string &path);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  std::span<const std::byte> bytes() const { return {data, size}; }

private:
  MappedFile(const std::byte *data, size_t size) : data(data), size(size) {}
  const std::byte *data;
  size_t size;
};

} // namespace bessemer::runtime
