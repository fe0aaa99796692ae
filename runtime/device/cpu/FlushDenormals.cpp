// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cpu/FlushDenormals.h"
#include "device/cpu/OpenMp.h"

#include <immintrin.h>

namespace bessemer::runtime {

/// Flush-to-zero is bit 15 of MXCSR, denormals-are-zero bit 6.
static constexpr unsigned flushBits = 0x8040;

FlushDenormals::FlushDenormals(std::span<unsigned> saved) : saved(saved) {
  unsigned callers = _mm_getcsr();
  // A nested region may get fewer threads than asked for.
  for (unsigned &mode : saved)
    mode = callers;
  if (saved.size() == 1) {
    setForThread();
    return;
  }
#pragma omp parallel num_threads(int(saved.size()))
  {
    saved[omp_get_thread_num()] = _mm_getcsr();
    setForThread();
  }
}

FlushDenormals::~FlushDenormals() {
  if (saved.size() == 1) {
    _mm_setcsr(saved[0]);
    return;
  }
#pragma omp parallel num_threads(int(saved.size()))
  _mm_setcsr(saved[omp_get_thread_num()]);
}

void FlushDenormals::setForThread() { _mm_setcsr(_mm_getcsr() | flushBits); }

} // namespace bessemer::runtime
