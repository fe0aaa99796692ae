// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor types and constant tensors in the artifact's terms.

#ifndef BESSEMER_LIB_EMIT_ELEMENTDATA_H
#define BESSEMER_LIB_EMIT_ELEMENTDATA_H

#include "bessemer/Format/Layout.h"
#include "mlir/IR/BuiltinAttributes.h"
#include <deque>
#include <memory>
#include <optional>

namespace bessemer {

/// The element type in the artifact, or nothing.
std::optional<format::ElementType> formatElementType(mlir::Type type);

/// A tensor type; its element type must have a counterpart.
std::unique_ptr<format::TensorTypeT>
formatTensorType(mlir::RankedTensorType type);

/// The value of a splat, when a double holds it exactly.
std::optional<double> splatValue(mlir::ElementsAttr elements);

/// The logical bytes of `elements`, row-major and little endian: the memory of
/// the attribute itself where it has this form, else a string added to
/// `storage`. Nothing when the attribute has no data (an elided resource).
std::optional<std::string_view> elementBytes(mlir::ElementsAttr elements,
                                             std::deque<std::string> &storage);

} // namespace bessemer

#endif // BESSEMER_LIB_EMIT_ELEMENTDATA_H
