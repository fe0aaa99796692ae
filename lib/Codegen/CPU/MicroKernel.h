// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The register-tiled product that gemm and attention share.

#ifndef BESSEMER_LIB_CODEGEN_CPU_MICROKERNEL_H
#define BESSEMER_LIB_CODEGEN_CPU_MICROKERNEL_H

#include "KernelBuilder.h"

namespace bessemer::cpu {

/// `rows` x `vectors` accumulators over `depth`. Element (i, index) of A is at
/// a + i aRow + index aDepth, one broadcast per multiplication; row `index` of
/// B is at b + index bDepth, `vectors` vectors next to each other.
struct MicroKernel {
  Val a;
  int64_t aRow, aDepth;
  Val b;
  int64_t bDepth;
  int64_t rows, vectors;
  /// Mask of the last vector of B (null: all lanes).
  Val lastMask = nullptr;

  /// Adds the product over [0, depth) to the accumulators, row by row.
  Vals emit(KernelBuilder &k, Val depth, Vals accumulators) const;
};

} // namespace bessemer::cpu

#endif // BESSEMER_LIB_CODEGEN_CPU_MICROKERNEL_H
