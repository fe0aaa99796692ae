// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the folders share. A folder computes a node over known tensors, or
// returns nothing. Indices are computed with explicit strides: everything here
// is small.

#ifndef BESSEMER_LIB_IMPORT_FOLDING_H
#define BESSEMER_LIB_IMPORT_FOLDING_H

#include "Attributes.h"
#include "Literal.h"
#include "Sizes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

namespace bessemer::ingest {

using Shape = std::vector<int64_t>;

/// One node to fold.
struct Folding {
  const onnx::NodeProto &node;
  llvm::ArrayRef<FoldOperand> operands;
  /// The most elements that the result may have; larger ones stay in the graph.
  int64_t largest;

  bool has(size_t i) const {
    return i < operands.size() && operands[i].present;
  }
  const Literal *literal(size_t i) const {
    return has(i) ? operands[i].literal : nullptr;
  }
  /// The elements of operand `i`, a known list of integers, or null.
  const std::vector<int64_t> *ints(size_t i) const {
    const Literal *known = literal(i);
    return known && !known->isFloat() ? &known->ints : nullptr;
  }
  /// The axis in [0, rank), or nullopt.
  static std::optional<int64_t> normalAxis(int64_t axis, int64_t rank) {
    if (axis < 0)
      axis += rank;
    if (axis < 0 || axis >= rank)
      return std::nullopt;
    return axis;
  }
};

using FoldResult = std::optional<Literal>;
using Folder = FoldResult (*)(const Folding &);

void addElementwiseFolders(llvm::StringMap<Folder> &table);
void addShapeFolders(llvm::StringMap<Folder> &table);

bool isFloatType(int32_t elementType);

/// Rounds an element to what its type can hold.
inline double roundTo(int32_t elementType, double value) {
  return elementType == onnx::TensorProto::FLOAT ? static_cast<float>(value)
                                                 : value;
}

/// Wraps an integer to what its type can hold.
int64_t wrapTo(int32_t elementType, int64_t value);

// Integers wrap, as in the compiled program.
inline int64_t wrappingAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + b);
}
inline int64_t wrappingSub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - b);
}
inline int64_t wrappingMul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * b);
}

/// A tensor of zeros, of a shape that fits in memory.
Literal emptyLike(int32_t elementType, Shape shape);

/// to[j] = from[i]; both have one element type.
void copyElement(const Literal &from, int64_t i, Literal &to, int64_t j);

/// NumPy's broadcast of shapes.
std::optional<Shape> broadcastShapes(llvm::ArrayRef<int64_t> a,
                                     llvm::ArrayRef<int64_t> b);

/// The index in a tensor of shape `source` of the element that its broadcast to
/// `shape` has at `index`.
int64_t sourceIndex(llvm::ArrayRef<int64_t> shape, int64_t index,
                    llvm::ArrayRef<int64_t> source);

} // namespace bessemer::ingest

#endif // BESSEMER_LIB_IMPORT_FOLDING_H
