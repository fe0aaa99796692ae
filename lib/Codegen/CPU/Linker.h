// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Joins the objects of kernels into one position-independent blob.

#ifndef BESSEMER_LIB_CODEGEN_CPU_LINKER_H
#define BESSEMER_LIB_CODEGEN_CPU_LINKER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

namespace bessemer::cpu {

/// Alignment of kernels in the blob, and of the blob itself.
inline constexpr uint64_t kKernelAlign = 64;

/// Appends code and constants of `object` (ELF, x86-64) to `blob`, resolves its
/// references, and returns the offset of `symbol`. An import, a relocation that
/// depends on the load address, and writable data are errors that name it.
llvm::Expected<uint64_t> linkObject(llvm::ArrayRef<char> object,
                                    llvm::StringRef symbol,
                                    llvm::SmallVectorImpl<char> &blob);

} // namespace bessemer::cpu

#endif // BESSEMER_LIB_CODEGEN_CPU_LINKER_H
