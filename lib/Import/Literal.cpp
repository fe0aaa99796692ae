// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Known tensors: reading them, and the table of what folds them.

#include "Folding.h"
#include "ModelSource.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include <algorithm>
#include <cstring>

using namespace bessemer;
using namespace bessemer::ingest;
using onnx::NodeProto;
using onnx::TensorProto;

bool ingest::isFloatType(int32_t type) {
  return type == TensorProto::FLOAT || type == TensorProto::DOUBLE ||
         type == TensorProto::FLOAT16 || type == TensorProto::BFLOAT16;
}

int64_t ingest::wrapTo(int32_t elementType, int64_t value) {
  switch (elementType) {
  case TensorProto::BOOL:
    return value != 0;
  case TensorProto::INT32:
    return static_cast<int32_t>(value);
  case TensorProto::INT16:
    return static_cast<int16_t>(value);
  case TensorProto::INT8:
    return static_cast<int8_t>(value);
  case TensorProto::UINT8:
    return static_cast<uint8_t>(value);
  default:
    return value;
  }
}

bool Literal::isFloat() const { return isFloatType(elementType); }

int64_t Literal::size() const {
  return isFloat() ? floats.size() : ints.size();
}

double Literal::at(int64_t index) const {
  return isFloat() ? floats[index] : static_cast<double>(ints[index]);
}

bool Literal::isSplat() const {
  if (size() == 0)
    return false;
  if (!isFloat())
    return llvm::all_equal(ints);
  // Bitwise, so that NaN and -0 are what they are.
  return llvm::all_of(floats, [&](double value) {
    return std::memcmp(&value, &floats.front(), sizeof value) == 0;
  });
}

Literal Literal::ofInts(std::vector<int64_t> elements, Shape shape) {
  Literal literal;
  literal.elementType = TensorProto::INT64;
  literal.ints = std::move(elements);
  literal.shape = std::move(shape);
  return literal;
}

template <typename Element, typename Target>
static void readElements(llvm::StringRef data, std::vector<Target> &elements) {
  elements.resize(data.size() / sizeof(Element));
  for (size_t i = 0; i < elements.size(); ++i) {
    Element element;
    std::memcpy(&element, data.data() + i * sizeof(Element), sizeof(Element));
    elements[i] = static_cast<Target>(element);
  }
}

std::optional<Literal> ingest::literalOf(const TensorProto &tensor) {
  std::shared_ptr<const void> owner;
  auto data = tensorData(tensor, owner);
  if (!data)
    return std::nullopt;
  Literal literal;
  literal.elementType = tensor.data_type();
  literal.shape.assign(tensor.dims().begin(), tensor.dims().end());
  switch (tensor.data_type()) {
  case TensorProto::FLOAT:
    readElements<float>(*data, literal.floats);
    return literal;
  case TensorProto::DOUBLE:
    readElements<double>(*data, literal.floats);
    return literal;
  case TensorProto::INT64:
    readElements<int64_t>(*data, literal.ints);
    return literal;
  case TensorProto::INT32:
    readElements<int32_t>(*data, literal.ints);
    return literal;
  case TensorProto::INT16:
    readElements<int16_t>(*data, literal.ints);
    return literal;
  case TensorProto::INT8:
    readElements<int8_t>(*data, literal.ints);
    return literal;
  case TensorProto::UINT8:
    readElements<uint8_t>(*data, literal.ints);
    return literal;
  case TensorProto::BOOL:
    readElements<uint8_t>(*data, literal.ints);
    for (int64_t &element : literal.ints)
      element = element != 0;
    return literal;
  default:
    return std::nullopt;
  }
}

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

Literal ingest::emptyLike(int32_t type, Shape shape) {
  Literal literal;
  literal.elementType = type;
  int64_t count = product(shape);
  literal.shape = std::move(shape);
  if (literal.isFloat())
    literal.floats.resize(count);
  else
    literal.ints.resize(count);
  return literal;
}

void ingest::copyElement(const Literal &from, int64_t i, Literal &to,
                         int64_t j) {
  if (to.isFloat())
    to.floats[j] = from.floats[i];
  else
    to.ints[j] = from.ints[i];
}

std::optional<Shape> ingest::broadcastShapes(llvm::ArrayRef<int64_t> a,
                                             llvm::ArrayRef<int64_t> b) {
  Shape result(std::max(a.size(), b.size()));
  for (size_t i = 0; i < result.size(); ++i) {
    int64_t sizeA = i < a.size() ? a[a.size() - 1 - i] : 1;
    int64_t sizeB = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (sizeA != sizeB && sizeA != 1 && sizeB != 1)
      return std::nullopt;
    result[result.size() - 1 - i] = sizeA == 1 ? sizeB : sizeA;
  }
  return result;
}

int64_t ingest::sourceIndex(llvm::ArrayRef<int64_t> shape, int64_t index,
                            llvm::ArrayRef<int64_t> source) {
  int64_t result = 0, stride = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t size = shape[shape.size() - 1 - i];
    int64_t position = index % size;
    index /= size;
    if (i >= source.size())
      continue;
    int64_t sourceSize = source[source.size() - 1 - i];
    if (sourceSize != 1)
      result += position * stride;
    stride *= sourceSize;
  }
  return result;
}

static const llvm::StringMap<Folder> &folders() {
  static const llvm::StringMap<Folder> table = [] {
    llvm::StringMap<Folder> table;
    addElementwiseFolders(table);
    addShapeFolders(table);
    return table;
  }();
  return table;
}

bool ingest::isFoldable(llvm::StringRef op) { return folders().contains(op); }

std::optional<Literal> ingest::foldNode(const NodeProto &node,
                                        llvm::ArrayRef<FoldOperand> operands,
                                        int64_t largest) {
  auto folder = folders().find(node.op_type());
  if (folder == folders().end())
    return std::nullopt;
  return folder->second(Folding{node, operands, largest});
}
