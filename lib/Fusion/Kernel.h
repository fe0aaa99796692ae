// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels with a scalar region, as fusion sees them, and how two become one.

#ifndef BESSEMER_LIB_FUSION_KERNEL_H
#define BESSEMER_LIB_FUSION_KERNEL_H

#include "bessemer/Dialect/Kern/IR/Kern.h"

namespace bessemer::fusion {

using Dims = llvm::SmallVector<int64_t, 6>;

/// A view of a kern.map, kern.rows, kern.columns or kern.gemm.
class Kernel {
public:
  /// The view of `op`, or none when it is another op.
  static std::optional<Kernel> get(mlir::Operation *op);

  mlir::Operation *getOperation() const { return op; }
  bool isMap() const { return mlir::isa<kern::MapOp>(op); }
  bool isGemm() const { return mlir::isa<kern::GemmOp>(op); }
  bool isFolding() const { return !reduced.empty(); }

  mlir::Block &getBody() const { return op->getRegion(0).front(); }
  llvm::ArrayRef<int64_t> getBounds() const { return bounds; }
  llvm::ArrayRef<int64_t> getReduced() const { return reduced; }
  int64_t getIterations() const;

  /// The operands with an indexing map: all, or the extras of a gemm.
  unsigned getNumInputs() const { return op->getNumOperands() - firstInput; }
  mlir::Value getInput(unsigned i) const {
    return op->getOperand(firstInput + i);
  }
  mlir::AffineMap getInputMap(unsigned i) const;
  /// The region argument of input `i`.
  mlir::BlockArgument getArgument(unsigned i) const;
  mlir::AffineMap getResultMap(unsigned i) const;

private:
  explicit Kernel(mlir::Operation *op) : op(op) {}
  mlir::Operation *op;
  Dims bounds, reduced;
  unsigned firstInput = 0;
};

/// How the iteration dimensions of two kernels lie in one iteration space, that
/// of the larger of them.
struct Embedding {
  /// Dimension i of the kernel is dimension first[i] (second[i]) of the space.
  Dims first, second;
  /// At index j along that, the first kernel is at index j + shift[i]: the
  /// second may read a part of its results.
  Dims shift;
  Dims bounds, reduced;
  /// The space is a part of the first kernel's: it cannot yield its results.
  bool isPartial = false;
  /// Inputs of the second that are results of the first, by (input, result).
  llvm::SmallVector<std::pair<unsigned, unsigned>> links;

  bool isWhole(const Dims &dims) const { return dims.size() == bounds.size(); }
  /// Whether `dims` are exactly the dimensions that are not reduced.
  bool isPerRow(const Dims &dims) const;
};

/// The embedding of `first` and `second`, where `second` may use results of
/// `first`. None when they cannot share an iteration space.
std::optional<Embedding> embed(const Kernel &first, const Kernel &second);

/// Builds, before `second`, the kernel that computes what `second` does and the
/// results `kept` of `first` (none when the embedding is partial); its results
/// are those, then `second`'s.
mlir::Operation *buildMerged(const Kernel &first, const Kernel &second,
                             const Embedding &embedding,
                             llvm::ArrayRef<unsigned> kept);

/// Erases results without uses and inputs that the region does not use.
/// Returns the kernel, or its replacement; null when nothing of it was used
/// and it is gone.
mlir::Operation *dropUnused(mlir::Operation *op);

} // namespace bessemer::fusion

#endif // BESSEMER_LIB_FUSION_KERNEL_H
