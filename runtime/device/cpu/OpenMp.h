// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// OpenMP, or what stands for it in a build without (BESSEMER_OPENMP=OFF):
// generated kernels have threads of their own, convolutions are refused.
#pragma once

#ifdef _OPENMP
#include <omp.h>
#else
#include <sched.h>

inline int omp_get_max_threads() {
  cpu_set_t allowed;
  return ::sched_getaffinity(0, sizeof(allowed), &allowed) == 0
             ? CPU_COUNT(&allowed)
             : 1;
}
inline int omp_get_thread_num() { return 0; }
inline void omp_set_num_threads(int) {}
#endif
