// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The f64 functions behind Approximations.h: f64 kernels, and f32 functions
// that need or (strict) want more bits inside.

#ifndef BESSEMER_LIB_CODEGEN_CPU_DOUBLEFUNCTIONS_H
#define BESSEMER_LIB_CODEGEN_CPU_DOUBLEFUNCTIONS_H

#include "KernelBuilder.h"

namespace bessemer::cpu {

Val buildExp64(KernelBuilder &k, Val x);
Val buildLog64(KernelBuilder &k, Val x);
Val buildTanh64(KernelBuilder &k, Val x);
/// `forSingle`: to 1e-10 only.
Val buildErf64(KernelBuilder &k, Val x, bool forSingle);
/// sin(x), or cos(x) with `quarter`; |x| up to 2^30.
Val buildSin64(KernelBuilder &k, Val x, bool quarter);
Val buildAtan64(KernelBuilder &k, Val x);
Val buildPow64(KernelBuilder &k, Val x, Val y);

/// `y` where log(x) is an ordinary number; -inf for 0, NaN below, inf for inf.
Val selectLogSpecialCases(KernelBuilder &k, Val x, Val y);

} // namespace bessemer::cpu

#endif // BESSEMER_LIB_CODEGEN_CPU_DOUBLEFUNCTIONS_H
