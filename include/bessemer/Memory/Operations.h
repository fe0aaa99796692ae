// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Multiplications and additions of the heavy kernels, for the compiler's cost
// model and the command line alike.

#ifndef BESSEMER_MEMORY_OPERATIONS_H
#define BESSEMER_MEMORY_OPERATIONS_H

#include <cstddef>
#include <cstdint>

namespace bessemer {

/// Of products of matrices: the extents are rows, columns, depth and batches.
template <typename Range> double gemmOperations(const Range &extents) {
  double product = 2;
  for (int64_t extent : extents)
    product *= static_cast<double>(extent);
  return product;
}

/// Of a convolution or a gradient of one: y is [n, o, ...], w [o, c / groups,
/// ...]. One output takes a window of the channels of its group.
template <typename Y, typename W>
double convolutionOperations(const Y &y, const W &w) {
  double product = gemmOperations(y);
  bool isFirst = true;
  for (int64_t extent : w) {
    if (!isFirst)
      product *= static_cast<double>(extent);
    isFirst = false;
  }
  return product;
}

} // namespace bessemer

#endif // BESSEMER_MEMORY_OPERATIONS_H
