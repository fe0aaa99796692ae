// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The instruction sets that the CPU code generator can target.

#ifndef BESSEMER_CODEGEN_CPU_CPUTARGET_H
#define BESSEMER_CODEGEN_CPU_CPUTARGET_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace bessemer::cpu {

/// One instruction set level, with the shapes that its register file allows.
struct CPUTarget {
  /// "x86-64-v3" (AVX2, FMA) or "x86-64-v4" (AVX-512); also LLVM's CPU name.
  llvm::StringLiteral name;
  /// f32 elements of one vector register: 8 or 16. Kernels use vectors of that
  /// many elements whatever the element type.
  int64_t lanes;
  /// Widest panel of B in a matrix product, in vectors.
  int64_t maxPanelVectors;

  /// Rows of the register tile of a matrix product whose panels have `vectors`
  /// vectors: what fits beside the vectors of B and a broadcast of A.
  int64_t getTileRows(int64_t vectors) const;
};

/// The target of that name. Fails, without a message, for an unknown name.
mlir::FailureOr<CPUTarget> getCPUTarget(llvm::StringRef name);

/// All targets that "cpu" stands for, lowest first.
llvm::ArrayRef<CPUTarget> getCPUTargets();

} // namespace bessemer::cpu

#endif // BESSEMER_CODEGEN_CPU_CPUTARGET_H
