// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What rows and columns share: the passes over the data that the folds of a
// region need.

#ifndef BESSEMER_LIB_CODEGEN_CPU_FOLDS_H
#define BESSEMER_LIB_CODEGEN_CPU_FOLDS_H

#include "IterationSpace.h"
#include "ScalarOps.h"

namespace bessemer::cpu {

/// Pass p computes `folds[p]`, which depend on folds of earlier passes only.
/// Results with the reduced dimensions are stored in the last pass, because
/// they may lie over inputs that earlier passes read.
struct FoldPasses {
  llvm::SmallVector<llvm::SmallVector<kern::FoldOp>> folds;
  /// Results with and without the reduced dimensions.
  llvm::SmallVector<unsigned> elementResults, rowResults;

  FoldPasses(mlir::Block &body, const IterationSpace &space);
  bool isLast(size_t pass) const { return pass + 1 == folds.size(); }
};

/// A value that a pass computes and later ones need again.
struct CachedValue {
  mlir::Value value;
  size_t firstPass;
};

/// Values that cost more to compute again than to reload: f32 results of
/// expensive ops that vary along `vectorDim`, in several passes.
llvm::SmallVector<CachedValue> findCachedValues(mlir::Block &body,
                                                const IterationSpace &space,
                                                const FoldPasses &passes,
                                                int64_t vectorDim);

/// One identity vector per fold.
Vals foldIdentities(KernelBuilder &k, llvm::ArrayRef<kern::FoldOp> folds);
/// Combines accumulators fold by fold.
Vals combineFolds(KernelBuilder &k, llvm::ArrayRef<kern::FoldOp> folds,
                  llvm::ArrayRef<Val> a, llvm::ArrayRef<Val> b);
/// Adds the folds' operands in `scope` to the accumulators; lanes off in `mask`
/// keep theirs.
Vals accumulateFolds(KernelBuilder &k, llvm::ArrayRef<kern::FoldOp> folds,
                     RegionEmitter &scope, Val mask,
                     llvm::ArrayRef<Val> accumulators);
/// Stores the given results along `vectorDim` (-1: scalars).
void storeResults(KernelBuilder &k, RegionEmitter &scope,
                  const IterationSpace &space, const Position &position,
                  llvm::ArrayRef<unsigned> results, int64_t vectorDim,
                  Val mask);

} // namespace bessemer::cpu

#endif // BESSEMER_LIB_CODEGEN_CPU_FOLDS_H
