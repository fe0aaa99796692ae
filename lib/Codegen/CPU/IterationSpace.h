// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The iteration space of map, rows and columns: dimensions of size 1 dropped,
// neighbours merged where every access allows it, indexing maps as strides.

#ifndef BESSEMER_LIB_CODEGEN_CPU_ITERATIONSPACE_H
#define BESSEMER_LIB_CODEGEN_CPU_ITERATIONSPACE_H

#include "RegionEmitter.h"

namespace bessemer::cpu {

/// The indices along one dimension of the space for which an access lies
/// inside its buffer: those in [low, high), after multiplication by `strides`.
struct Guard {
  llvm::SmallVector<int64_t> strides;
  int64_t low, high;
};

/// How a buffer is read or written: element stride of each dimension.
struct Access {
  /// Number of the buffer in the kernel's arguments.
  unsigned buffer;
  /// Element type; null for the step block.
  mlir::Type type;
  llvm::SmallVector<int64_t> strides;
  /// The element at index 0 of all dimensions; may lie outside.
  int64_t offset = 0;
  /// Where one of these fails, zero is read and nothing touched. Only for
  /// dimensions whose indices do leave the buffer.
  llvm::SmallVector<Guard, 1> guards = {};
};

/// A value of the region that is linear in the iteration indices (the
/// kern.index ops and sums and multiples of them).
struct LinearValue {
  mlir::Value value;
  llvm::SmallVector<int64_t> strides;
  int64_t constant = 0;
};

struct IterationSpace {
  llvm::SmallVector<int64_t> bounds;
  llvm::SmallVector<bool> reduced;
  std::vector<Access> inputs, results;
  std::vector<LinearValue> linear;
  /// Values kept in scratch (`buffer` is the first element there); see Folds.h.
  std::vector<Access> caches;
  /// Number of the region argument that holds the first input.
  unsigned firstArgument = 0;

  /// The space of a map, rows or columns op.
  static IterationSpace get(mlir::Operation *op);
  /// The space [batch, m, n] of a gemm's epilogue, its dimensions as they are;
  /// the inputs are the extras.
  static IterationSpace get(kern::GemmOp op);

  /// Dimensions that are (not) reduced, in order, without `except`.
  llvm::SmallVector<int64_t> dims(bool areReduced, int64_t except = -1) const;
  int64_t size(llvm::ArrayRef<int64_t> dims) const;
  /// The best dimension for vector lanes among those (not) reduced: where most
  /// accesses are contiguous, the innermost among equals; -1 without any.
  int64_t pickVectorDim(bool amongReduced) const;
  /// Appends a reduced dimension of size 1.
  void addUnitDim();

private:
  template <typename Function> void forEachStrides(Function function);
  void dropUnitDims();
  void mergeDims();
};

/// A position of the kernel: pointers of all accesses and values of all linear
/// forms at some indices.
struct Position {
  Vals inputs, results, linear, caches;
  /// What each input's guards compare, input after input.
  Vals guarded;

  /// The buffers' begins, loaded from the kernel's arguments.
  static Position begin(KernelBuilder &k, const IterationSpace &space);
  /// The position `indices[i]` further along `dims[i]`.
  Position at(KernelBuilder &k, const IterationSpace &space,
              llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<Val> indices) const;
};

/// Binds as scalars what is uniform along all of `varying` at `position`: the
/// step block, linear values, and elements of inputs whose strides are 0 there.
void bindScalars(KernelBuilder &k, RegionEmitter &scope,
                 const IterationSpace &space, const Position &position,
                 llvm::ArrayRef<int64_t> varying);
/// Binds as vectors what varies along `vectorDim` but not along `varying`, for
/// the vector that begins at `position`. Unused loads are left to LLVM.
void bindVectors(KernelBuilder &k, RegionEmitter &scope,
                 const IterationSpace &space, const Position &position,
                 int64_t vectorDim, Val mask,
                 llvm::ArrayRef<int64_t> varying = {});

} // namespace bessemer::cpu

#endif // BESSEMER_LIB_CODEGEN_CPU_ITERATIONSPACE_H
