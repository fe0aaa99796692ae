// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The last stage: exec programs, machine code and weights become an artifact
// (.bsm, see Format/bessemer.fbs).

#ifndef BESSEMER_EMIT_EMIT_H
#define BESSEMER_EMIT_EMIT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <utility>
#include <vector>

namespace bessemer {

/// One kernel in the code of one target.
struct KernelCode {
  /// The symbol of its exec.kernel.
  std::string name;
  /// Offset of the entry point in the target's bytes.
  uint64_t offset = 0;
  /// Scratch bytes per thread.
  uint64_t scratch = 0;
  uint64_t tiles = 0;
  /// Not worth a second thread.
  bool isSmall = false;
};

/// Machine code of one target, with an entry for every exec.kernel of the
/// module, in any order.
struct CodeForTarget {
  /// "x86-64-v3"
  std::string target;
  /// Must stay valid while the artifact is written.
  llvm::ArrayRef<char> bytes;
  std::vector<KernelCode> kernels;
};

/// An initializer that is no state, for `inspect`.
struct ConstantNote {
  std::string name, type, why;
};

struct EmitOptions {
  /// Name and version of the compiler.
  std::string producer = "bessemer 0.1.0";
  /// How the program was compiled, in the order to show.
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<ConstantNote> constants;
  /// The serialized source model without weights (for export); empty: none.
  llvm::StringRef sourceModel;
};

/// Writes the artifact. The module must have passed `exec-verify`. Weights are
/// written from where they lie (dense resources are not copied). The bytes
/// depend on the arguments only. Reports errors at the op.
llvm::LogicalResult emitProgram(mlir::ModuleOp module,
                                llvm::ArrayRef<CodeForTarget> code,
                                const EmitOptions &options,
                                llvm::raw_ostream &stream);

} // namespace bessemer

#endif // BESSEMER_EMIT_EMIT_H
