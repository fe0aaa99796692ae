// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading the attributes of an ONNX node.

#ifndef BESSEMER_LIB_IMPORT_ATTRIBUTES_H
#define BESSEMER_LIB_IMPORT_ATTRIBUTES_H

#include "onnx/onnx_pb.h"
#include "llvm/ADT/StringRef.h"
#include <vector>

namespace bessemer::ingest {

inline const onnx::AttributeProto *findAttribute(const onnx::NodeProto &node,
                                                 llvm::StringRef name) {
  for (const auto &attribute : node.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

inline int64_t intAttribute(const onnx::NodeProto &node, llvm::StringRef name,
                            int64_t otherwise) {
  const auto *attribute = findAttribute(node, name);
  return attribute ? attribute->i() : otherwise;
}

inline double floatAttribute(const onnx::NodeProto &node, llvm::StringRef name,
                             double otherwise) {
  const auto *attribute = findAttribute(node, name);
  return attribute ? attribute->f() : otherwise;
}

inline llvm::StringRef stringAttribute(const onnx::NodeProto &node,
                                       llvm::StringRef name,
                                       llvm::StringRef otherwise) {
  const auto *attribute = findAttribute(node, name);
  return attribute ? llvm::StringRef(attribute->s()) : otherwise;
}

inline std::vector<int64_t> intsAttribute(const onnx::NodeProto &node,
                                          llvm::StringRef name,
                                          std::vector<int64_t> otherwise) {
  const auto *attribute = findAttribute(node, name);
  if (!attribute)
    return otherwise;
  return {attribute->ints().begin(), attribute->ints().end()};
}

} // namespace bessemer::ingest

#endif // BESSEMER_LIB_IMPORT_ATTRIBUTES_H
