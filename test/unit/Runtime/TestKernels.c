// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of the runtime's tests, in the ABI of generated ones. Only .text is
// kept: no data, no calls, no constants in memory. Entry i is a jump at byte
// 16 i, so the tests need no symbol table.
#include <stdint.h>

__asm__(".text\n"
        ".balign 64\n"
        "jmp scaleAdd\n.balign 16\n"
        "jmp applyGradient\n.balign 16\n"
        "jmp reportScratch\n.balign 16\n"
        "jmp multiplyOne\n.balign 16\n"
        "jmp addStep\n.balign 16\n");

#define KERNEL __attribute__((used)) static void

// out = a * factor + b over tiles of 16 elements; the factor is an immediate.
KERNEL scaleAdd(void **buffers, int64_t begin, int64_t end, void *scratch) {
  const float *a = buffers[0], *b = buffers[1];
  float *out = buffers[3];
  union {
    uint32_t bits;
    float value;
  } factor = {(uint32_t)(uintptr_t)buffers[2]};
  for (int64_t i = begin * 16; i < end * 16; ++i)
    out[i] = a[i] * factor.value + b[i];
}

// parameter -= learning rate * gradient; the rate is in the step block.
KERNEL applyGradient(void **buffers, int64_t begin, int64_t end,
                     void *scratch) {
  float *parameter = buffers[0];
  const float *gradient = buffers[1];
  float rate = *(const float *)((const char *)buffers[2] + 20);
  for (int64_t i = begin * 16; i < end * 16; ++i)
    parameter[i] -= rate * gradient[i];
}

// Each tile notes its scratch address, after writing all over the scratch.
KERNEL reportScratch(void **buffers, int64_t begin, int64_t end,
                     void *scratch) {
  uint64_t *out = buffers[0];
  uint64_t bytes = (uint64_t)(uintptr_t)buffers[1];
  for (int64_t tile = begin; tile < end; ++tile) {
    for (uint64_t i = 0; i < bytes; ++i)
      ((volatile char *)scratch)[i] = (char)tile;
    out[tile] = (uint64_t)(uintptr_t)scratch;
  }
}

// out[tile] = a * b in whatever floating-point mode the thread is in.
KERNEL multiplyOne(void **buffers, int64_t begin, int64_t end, void *scratch) {
  const volatile float *a = buffers[0], *b = buffers[1];
  float *out = buffers[2];
  for (int64_t tile = begin; tile < end; ++tile)
    out[tile] = *a * *b;
}

// counter += valid rows, and out = {step, seed}.
KERNEL addStep(void **buffers, int64_t begin, int64_t end, void *scratch) {
  int64_t *counter = buffers[0];
  const int64_t *step = buffers[1];
  int64_t *out = buffers[2];
  *counter += step[3];
  out[0] = step[0];
  out[1] = step[1];
}
