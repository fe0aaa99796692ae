// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `kern` dialect: HOW one device computes a fused piece. See
// KernDialect.td.

#ifndef BESSEMER_DIALECT_KERN_IR_KERN_H
#define BESSEMER_DIALECT_KERN_IR_KERN_H

#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

#include "bessemer/Dialect/Kern/IR/KernDialect.h.inc"
#include "bessemer/Dialect/Kern/IR/KernEnums.h.inc"
#include "bessemer/Dialect/Kern/IR/KernInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "bessemer/Dialect/Kern/IR/KernAttributes.h.inc"
#define GET_OP_CLASSES
#include "bessemer/Dialect/Kern/IR/KernOps.h.inc"

namespace bessemer::kern {

/// One result of an indexing map: an iteration dimension plus a constant.
struct MapEntry {
  int64_t dim, offset;

  /// Whether index `offset` + [0, bound) stays within [0, size).
  bool isWithin(int64_t bound, int64_t size) const {
    return offset >= 0 && offset + bound <= size;
  }
  /// Whether it covers a dimension of that size as it is.
  bool isWhole(int64_t bound, int64_t size) const {
    return offset == 0 && bound == size;
  }
};

/// Result `i` of an indexing map that isShiftedProjection.
MapEntry getEntry(mlir::AffineMap map, unsigned i);

/// Whether each result of `map` is another dimension plus a constant.
bool isShiftedProjection(mlir::AffineMap map);

/// The map with the given results over `rank` dimensions.
mlir::AffineMap getShiftedMap(llvm::ArrayRef<MapEntry> entries, unsigned rank,
                              mlir::MLIRContext *context);

/// The layout of images in blocks of kChannelBlock channels; see
/// #kern.layout.
inline constexpr llvm::StringLiteral kBlockedLayout = "nChw16c";
inline constexpr llvm::StringLiteral kRowLayout = "row";
inline constexpr int64_t kChannelBlock = 16;

/// [n, c, h, w] -> [n, c / 16, h, w, 16].
mlir::RankedTensorType getBlockedType(mlir::RankedTensorType image);
/// [n, c / b, h, w, b] -> [n, c, h, w].
mlir::RankedTensorType getUnblockedType(mlir::RankedTensorType blocked);
/// Graph ops that lay an image out in blocks, of type `blocked`, and back.
mlir::Value buildBlocked(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value image, mlir::RankedTensorType blocked);
mlir::Value buildUnblocked(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value blocked);

} // namespace bessemer::kern

#endif // BESSEMER_DIALECT_KERN_IR_KERN_H
