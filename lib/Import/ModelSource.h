// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model as it lies in its file: the parsed protobuf, with the data of its
// initializers kept apart as views of the mapped files.

#ifndef BESSEMER_LIB_IMPORT_MODELSOURCE_H
#define BESSEMER_LIB_IMPORT_MODELSOURCE_H

#include "bessemer/Import/Import.h"
#include "onnx/onnx_pb.h"
#include "llvm/ADT/StringRef.h"
#include <memory>

namespace bessemer::ingest {

/// An initializer. Its data is little endian and row major, one element after
/// the other (bool is a byte), whatever fields the file used.
struct Initializer {
  std::string name;
  int32_t elementType = onnx::TensorProto::UNDEFINED;
  std::vector<int64_t> shape;
  llvm::StringRef data;
  /// Keeps `data` alive.
  std::shared_ptr<const void> owner;

  int64_t elementCount() const;
};

struct ModelSource {
  /// How messages name the model: the path as the user gave it.
  std::string label;
  /// The model with empty initializers (names, types, shapes, metadata);
  /// tensors in attributes are inline.
  onnx::ModelProto model;
  /// In the order of the file.
  std::vector<Initializer> initializers;
};

/// Size of an element in bytes, 0 for types without a fixed one.
int64_t elementBytes(int32_t elementType);

/// ONNX's name of an element type, in lower case: "float", "int64".
std::string elementTypeName(int32_t elementType);

/// Parses and maps; reports files that are missing, truncated or no ONNX.
llvm::FailureOr<ModelSource> loadModel(const ImportOptions &options,
                                       ImportDiagnostics &diagnostics);

/// The data of a tensor in the form of Initializer::data, or nullopt when its
/// fields do not hold as many elements as its shape says.
std::optional<llvm::StringRef> tensorData(const onnx::TensorProto &tensor,
                                          std::shared_ptr<const void> &owner);

} // namespace bessemer::ingest

#endif // BESSEMER_LIB_IMPORT_MODELSOURCE_H
