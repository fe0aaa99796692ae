// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kern op -> x86-64 machine code.
//
// A kernel is `void kernel(void **buffers, int64_t tileBegin, int64_t tileEnd,
// void *scratch)`. `buffers` points to the operands of the kern op, then its
// results, in order (the step block operand is a pointer to its 64 bytes). A
// call computes tiles [tileBegin, tileEnd) of getTileCount(); any split of the
// tiles over calls, in any order, gives the same bits. Tensors are row-major
// with the alignment of their element; an i1 takes one byte. A result may lie
// in the buffer of an operand where KernelOpInterface::canReuseOperand allows
// it.

#ifndef BESSEMER_CODEGEN_CPU_CODEGEN_H
#define BESSEMER_CODEGEN_CPU_CODEGEN_H

#include "bessemer/Codegen/CPU/CPUTarget.h"
#include "mlir/IR/Operation.h"
#include <string>
#include <vector>

namespace bessemer::cpu {

struct CodegenOptions {
  /// Functions (tanh, erf, ...) within 1 ulp instead of 6.
  bool strict = false;
  /// Threads that compile.
  unsigned threads = 2;
};

/// A kernel to compile: its symbol name and the kern op.
struct NamedKernel {
  std::string name;
  mlir::Operation *op;
};

/// Where a kernel lies in its blob.
struct KernelBinary {
  std::string name;
  /// Offset of the entry point in the blob, a multiple of 64.
  uint64_t offset;
  /// Bytes of scratch memory, aligned to 64, that each thread needs.
  uint64_t scratchBytes;
};

/// Position-independent machine code without imports; `kernels` is in the order
/// of compileKernels' argument. The bytes depend on nothing but the kernels,
/// target and options.
struct CodeBlob {
  llvm::SmallVector<char, 0> bytes;
  std::vector<KernelBinary> kernels;
};

/// Number of tiles of a kernel on `target`. 0 for a library call.
int64_t getTileCount(mlir::Operation *op, const CPUTarget &target);

/// Whether the kernel takes so little time (about a microsecond) that waking a
/// second thread costs more than it saves.
bool isSmallKernel(mlir::Operation *op);

/// Fails where a kern op of `module` has tensors of a type that its kernel
/// cannot compute with. Errors are emitted at the op, whose location is lost
/// once the op is a kernel.
mlir::LogicalResult verifyElementTypes(mlir::Operation *module);

/// Compiles and links `kernels`. Errors are emitted at the op.
mlir::FailureOr<CodeBlob> compileKernels(llvm::ArrayRef<NamedKernel> kernels,
                                         const CPUTarget &target,
                                         const CodegenOptions &options);

/// The optimised LLVM IR of one kernel, as text.
mlir::FailureOr<std::string> kernelToLLVM(const NamedKernel &kernel,
                                          const CPUTarget &target,
                                          const CodegenOptions &options);

/// The kern op as text, without locations: the `source` of a kernel in the
/// artifact.
std::string kernelToString(mlir::Operation *op);

} // namespace bessemer::cpu

#endif // BESSEMER_CODEGEN_CPU_CODEGEN_H
