// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same kernel over other dimensions, so that kernels on both sides of a
// reshape can merge.

#ifndef BESSEMER_LIB_FUSION_RESHAPEKERNEL_H
#define BESSEMER_LIB_FUSION_RESHAPEKERNEL_H

#include "Kernel.h"

namespace bessemer::fusion {

/// A copy of a kernel over reshaped operands, built before it.
struct ReshapedKernel {
  mlir::Operation *op = nullptr;
  /// Values of the types of the original's results.
  llvm::SmallVector<mlir::Value> results;
  /// All ops that were made, in order; the original's uses are untouched.
  llvm::SmallVector<mlir::Operation *> made;

  /// Erases everything that was made.
  void discard();
};

/// Splits iteration dimension d of `kernel` (no product) into `sizes[d]`. None
/// when an input that is read in part does not split where the part begins.
std::optional<ReshapedKernel> splitDims(const Kernel &kernel,
                                        llvm::ArrayRef<Dims> sizes);

/// Merges each of `groups`, runs of iteration dimensions that together are all
/// of them, to one dimension. None when an operand or result holds a part of a
/// group, when a group is partly reduced, or when the region asks for the index
/// in a group of several dimensions above size 1.
std::optional<ReshapedKernel> mergeDims(const Kernel &kernel,
                                        llvm::ArrayRef<Dims> groups);

/// A copy of `producer` whose result is what `reshape`, which reads it, gives.
/// None when there is none, as for a product.
std::optional<ReshapedKernel> reshapeProducer(mlir::Operation *reshape,
                                              const Kernel &producer);

/// A copy of the consumer, or else of the producer, that meets the other kernel
/// without the reshape between them.
struct MeetingKernel {
  ReshapedKernel reshaped;
  bool isConsumer;
};

/// Tries to do without `reshape`, whose operand is a result of `producer` and
/// whose result is an input of `consumer`. A product keeps its dimensions.
std::optional<MeetingKernel> meetThrough(mlir::Operation *reshape,
                                         const Kernel &producer,
                                         const Kernel &consumer);

} // namespace bessemer::fusion

#endif // BESSEMER_LIB_FUSION_RESHAPEKERNEL_H
