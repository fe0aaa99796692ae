// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a command computes, in the words of the model.

#ifndef BESSEMER_LIB_MEMORY_LABELS_H
#define BESSEMER_LIB_MEMORY_LABELS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include <string>

namespace bessemer {

/// The names in a location with their source lines, without repetition:
/// `conv1 (model.py:41), relu1 (model.py:42)`; at most four. Empty when the
/// location has no name: a place in an .mlir file says nothing of the model.
std::string labelOf(mlir::Location location);

} // namespace bessemer

#endif // BESSEMER_LIB_MEMORY_LABELS_H
