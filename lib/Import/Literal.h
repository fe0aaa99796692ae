// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small tensors whose elements are known while importing, and the folding of
// ONNX nodes over them. Exporters compute shapes, axes and masks in the graph;
// all of that ends here.

#ifndef BESSEMER_LIB_IMPORT_LITERAL_H
#define BESSEMER_LIB_IMPORT_LITERAL_H

#include "onnx/onnx_pb.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <vector>

namespace bessemer::ingest {

struct Literal {
  int32_t elementType = onnx::TensorProto::UNDEFINED;
  std::vector<int64_t> shape;
  /// The elements, row major: `floats` for floating-point types, else `ints`
  /// (booleans are 0 and 1).
  std::vector<double> floats;
  std::vector<int64_t> ints;

  bool isFloat() const;
  int64_t size() const;
  /// An element as a double, whatever the type.
  double at(int64_t index) const;
  /// All elements are equal (and there is one).
  bool isSplat() const;

  static Literal ofInts(std::vector<int64_t> elements,
                        std::vector<int64_t> shape);
};

/// Reads a tensor; nullopt for types that are not numbers.
std::optional<Literal> literalOf(const onnx::TensorProto &tensor);

/// What folding needs to know of an input: its type, and its elements when
/// they are known.
struct FoldOperand {
  int32_t elementType = onnx::TensorProto::UNDEFINED;
  llvm::ArrayRef<int64_t> shape;
  const Literal *literal = nullptr;
  bool present = false;
};

/// The result of a node of the newest opset with one output, or nullopt when
/// the node is not foldable, an input is not known, the result would have more
/// than `largest` elements, or the shapes do not fit (which the importer's
/// tables then report).
std::optional<Literal> foldNode(const onnx::NodeProto &node,
                                llvm::ArrayRef<FoldOperand> operands,
                                int64_t largest);

/// Whether foldNode can fold nodes of this op.
bool isFoldable(llvm::StringRef op);

} // namespace bessemer::ingest

#endif // BESSEMER_LIB_IMPORT_LITERAL_H
