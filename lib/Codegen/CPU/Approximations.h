// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementary functions on scalars or vectors of f32 or f64, inline: a kernel
// imports nothing. NaN in, NaN out; overflow gives infinity, underflow zero.
//
// Largest error in ulp of the result (test/unit/Codegen measures it against
// libm in double): f32 exp, log, sin, cos and atan 1, tanh 5, erf 6, the others
// 5; in a strict kernel 1 for those named and expm1 and log1p. f64: a few ulp.

#ifndef BESSEMER_LIB_CODEGEN_CPU_APPROXIMATIONS_H
#define BESSEMER_LIB_CODEGEN_CPU_APPROXIMATIONS_H

#include "KernelBuilder.h"

namespace bessemer::cpu {

Val buildExp(KernelBuilder &k, Val x);
Val buildExpm1(KernelBuilder &k, Val x);
Val buildLog(KernelBuilder &k, Val x);
Val buildLog1p(KernelBuilder &k, Val x);
Val buildTanh(KernelBuilder &k, Val x);
Val buildErf(KernelBuilder &k, Val x);
Val buildSin(KernelBuilder &k, Val x);
Val buildCos(KernelBuilder &k, Val x);
Val buildAtan(KernelBuilder &k, Val x);
/// x to the power y, with IEEE 754's special cases.
Val buildPow(KernelBuilder &k, Val x, Val y);

} // namespace bessemer::cpu

#endif // BESSEMER_LIB_CODEGEN_CPU_APPROXIMATIONS_H
