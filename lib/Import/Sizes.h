// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes of tensors as files give them: any 64-bit numbers.

#ifndef BESSEMER_LIB_IMPORT_SIZES_H
#define BESSEMER_LIB_IMPORT_SIZES_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <string>

namespace bessemer::ingest {

/// What product() is at most; a few bytes per element still fit an int64.
inline constexpr int64_t largestProduct = INT64_MAX / 16;

/// The number of elements. A shape that no tensor has (a negative size, or more
/// elements than fit, zeros left out) gives `largestProduct`: it never looks
/// small.
int64_t product(llvm::ArrayRef<int64_t> shape);

/// "[2, 3]".
std::string shapeText(llvm::ArrayRef<int64_t> shape);

/// Why the program cannot have a tensor of this shape, or "".
std::string sizeProblem(llvm::ArrayRef<int64_t> shape);

} // namespace bessemer::ingest

#endif // BESSEMER_LIB_IMPORT_SIZES_H
