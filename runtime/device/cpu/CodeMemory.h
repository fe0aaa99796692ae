// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Machine code of an artifact, mapped so that it can run.
#pragma once

#include "bessemer/runtime/Status.h"

#include <cstddef>
#include <memory>
#include <span>

namespace bessemer::runtime {

/// Position-independent code, readable and executable, never writable while it
/// can run.
class CodeMemory {
public:
  static Expected<std::unique_ptr<CodeMemory>>
  create(std::span<const std::byte> code);
  ~CodeMemory();
  CodeMemory(const CodeMemory &) = delete;
  CodeMemory &operator=(const CodeMemory &) = delete;

  const std::byte *data() const { return memory; }

private:
  CodeMemory(std::byte *memory, size_t bytes) : memory(memory), bytes(bytes) {}
  std::byte *memory;
  size_t bytes;
};

} // namespace bessemer::runtime
