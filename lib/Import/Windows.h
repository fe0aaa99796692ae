// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the windows of convolutions and pools lie.

#ifndef BESSEMER_LIB_IMPORT_WINDOWS_H
#define BESSEMER_LIB_IMPORT_WINDOWS_H

#include "NodeImport.h"

namespace bessemer::ingest {

/// The geometry of a window over any number of spatial dimensions.
struct Windows {
  llvm::SmallVector<int64_t> input, kernel, strides, dilations, begin, end,
      output;

  llvm::SmallVector<int64_t> pads() const {
    llvm::SmallVector<int64_t> all(begin);
    llvm::append_range(all, end);
    return all;
  }

  /// Dimensions [first, first + count) alone.
  Windows part(size_t first, size_t count) const;

  /// Adds a second dimension where there is only one.
  void makePlanar();
};

/// Reads the geometry of a convolution or a pool; computes the padding and the
/// output's sizes.
llvm::FailureOr<Windows>
readWindows(NodeImport &n, llvm::ArrayRef<int64_t> kernel, bool ceilMode);

/// The sizes that a transposed convolution gives, as the geometry of the
/// convolution whose input's gradient it is: `input` is that convolution's
/// output.
llvm::FailureOr<Windows> readTransposedWindows(NodeImport &n,
                                               llvm::ArrayRef<int64_t> kernel);

/// Fails where a window of a pool lies in the padding as a whole: it would have
/// no maximum and no average.
llvm::LogicalResult requireInputInWindows(NodeImport &n, const Windows &w);

/// Convolution, transposed convolution and pools over three spatial
/// dimensions.
llvm::FailureOr<mlir::Value> buildVolumeConv(NodeImport &n, const Windows &w,
                                             mlir::Value bias, int64_t groups);
llvm::FailureOr<mlir::Value>
buildVolumeConvTranspose(NodeImport &n, const Windows &w, int64_t groups);
mlir::Value buildVolumePool(NodeImport &n, const Windows &w,
                            graph::PoolKind kind, bool countsPad);

/// Where the maxima of a pool's windows lie in its input, flattened.
llvm::FailureOr<mlir::Value> buildPoolIndices(NodeImport &n, const Windows &w,
                                              mlir::Value maxima);

} // namespace bessemer::ingest

#endif // BESSEMER_LIB_IMPORT_WINDOWS_H
