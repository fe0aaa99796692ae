// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The geometry of convolutions and pooling, checked alike on both levels.

#ifndef BESSEMER_LIB_DIALECT_GRAPH_IR_GEOMETRY_H
#define BESSEMER_LIB_DIALECT_GRAPH_IR_GEOMETRY_H

#include "bessemer/Dialect/Graph/IR/Graph.h"

namespace bessemer::graph {

/// Checks x [n, c, h, w], w [o, c / groups, kh, kw], y [n, o, oh, ow] against
/// the geometry, where oh = (h + pads - dilation (kh - 1) - 1) / stride + 1.
llvm::LogicalResult
verifyConvolution(mlir::Operation *op, mlir::RankedTensorType x,
                  mlir::RankedTensorType w, mlir::RankedTensorType y,
                  llvm::ArrayRef<int64_t> strides, llvm::ArrayRef<int64_t> pads,
                  llvm::ArrayRef<int64_t> dilations, int64_t groups);

/// Checks x [n, c, h, w] and y [n, c, oh, ow] against the geometry: no window
/// may lie outside of the input and its leading padding.
llvm::LogicalResult verifyPool(mlir::Operation *op, mlir::RankedTensorType x,
                               mlir::RankedTensorType y,
                               llvm::ArrayRef<int64_t> window,
                               llvm::ArrayRef<int64_t> strides,
                               llvm::ArrayRef<int64_t> pads,
                               llvm::ArrayRef<int64_t> dilations);

} // namespace bessemer::graph

#endif // BESSEMER_LIB_DIALECT_GRAPH_IR_GEOMETRY_H
