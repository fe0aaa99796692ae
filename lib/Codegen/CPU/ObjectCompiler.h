// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM IR of one kernel -> relocatable object.

#ifndef BESSEMER_LIB_CODEGEN_CPU_OBJECTCOMPILER_H
#define BESSEMER_LIB_CODEGEN_CPU_OBJECTCOMPILER_H

#include "bessemer/Codegen/CPU/CPUTarget.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

namespace bessemer::cpu {

/// Optimises and compiles modules for one target. Not to be shared by threads.
class ObjectCompiler {
public:
  static llvm::Expected<std::unique_ptr<ObjectCompiler>>
  create(const CPUTarget &target);

  /// Sets triple and data layout; before IR is built.
  void prepare(llvm::Module &module);
  /// Runs the short pipeline that generated kernels need.
  void optimize(llvm::Module &module);
  /// An ELF object, or assembly.
  llvm::Expected<llvm::SmallVector<char, 0>>
  emit(llvm::Module &module, llvm::CodeGenFileType fileType);

private:
  std::unique_ptr<llvm::TargetMachine> machine;
};

} // namespace bessemer::cpu

#endif // BESSEMER_LIB_CODEGEN_CPU_OBJECTCOMPILER_H
