// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// In a file of its own, so that no caller sees how the operators are defined.
#include "CountAllocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

static std::atomic<size_t> count{0};

size_t bessemer::test::allocationCount() { return count; }

void *operator new(size_t bytes) {
  ++count;
  if (void *memory = std::malloc(bytes))
    return memory;
  throw std::bad_alloc();
}
void *operator new(size_t bytes, const std::nothrow_t &) noexcept {
  ++count;
  return std::malloc(bytes);
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
