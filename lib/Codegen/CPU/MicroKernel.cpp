// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The register-tiled product that gemm and attention share.

#include "MicroKernel.h"

using namespace bessemer::cpu;
using llvm::ArrayRef;

Vals MicroKernel::emit(KernelBuilder &k, Val depth, Vals accumulators) const {
  llvm::Type *f32 = k.ir.getFloatTy();
  auto step = [&](Val index, int64_t count, Vals sums) {
    Val aHere = k.address(a, f32, k.mul(index, aDepth));
    Val bHere = k.address(b, f32, k.mul(index, bDepth));
    for (int64_t u = 0; u < count; ++u) {
      Vals columns;
      for (int64_t j = 0; j < vectors; ++j)
        columns.push_back(
            k.loadVector(f32, k.address(bHere, f32, u * bDepth + j * k.lanes()),
                         j + 1 == vectors ? lastMask : nullptr));
      for (int64_t i = 0; i < rows; ++i) {
        Val factor = k.broadcast(
            k.load(f32, k.address(aHere, f32, i * aRow + u * aDepth)));
        for (int64_t j = 0; j < vectors; ++j) {
          Val &sum = sums[i * vectors + j];
          sum = k.fma(factor, columns[j], sum);
        }
      }
    }
    return sums;
  };
  // Around 48 multiplications per iteration: more would not run faster.
  int64_t unroll = rows * vectors >= 16 ? 2 : 4;
  Val main = k.mul(k.div(depth, unroll), unroll);
  accumulators = k.loop(k.i64(0), main, unroll, accumulators,
                        [&](Val index, ArrayRef<Val> carried) {
                          return step(index, unroll, Vals(carried));
                        });
  return k.loop(main, depth, 1, accumulators,
                [&](Val index, ArrayRef<Val> carried) {
                  return step(index, 1, Vals(carried));
                });
}
