// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR attributes -> bytes.

#include "ElementData.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/Endian.h"
#include <cmath>

using namespace mlir;
using namespace bessemer;

std::optional<format::ElementType> bessemer::formatElementType(Type type) {
  if (type.isF32())
    return format::ElementType::f32;
  if (type.isF64())
    return format::ElementType::f64;
  if (type.isF16())
    return format::ElementType::f16;
  if (type.isBF16())
    return format::ElementType::bf16;
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return std::nullopt;
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
    return format::ElementType::boolean;
  case 8:
    return isUnsigned ? format::ElementType::u8 : format::ElementType::i8;
  case 16:
    return isUnsigned ? format::ElementType::u16 : format::ElementType::i16;
  case 32:
    return isUnsigned ? format::ElementType::u32 : format::ElementType::i32;
  case 64:
    return isUnsigned ? format::ElementType::u64 : format::ElementType::i64;
  default:
    return std::nullopt;
  }
}

std::unique_ptr<format::TensorTypeT>
bessemer::formatTensorType(RankedTensorType type) {
  auto result = std::make_unique<format::TensorTypeT>();
  result->element = *formatElementType(type.getElementType());
  result->shape.assign(type.getShape().begin(), type.getShape().end());
  return result;
}

std::optional<double> bessemer::splatValue(ElementsAttr elements) {
  auto dense = dyn_cast<DenseElementsAttr>(elements);
  if (!dense || !dense.isSplat())
    return std::nullopt;
  double value;
  if (auto type = dyn_cast<IntegerType>(dense.getElementType())) {
    APInt integer = dense.getSplatValue<APInt>();
    bool isUnsigned = type.isUnsigned() || type.getWidth() == 1;
    unsigned bits =
        isUnsigned ? integer.getActiveBits() : integer.getSignificantBits() - 1;
    if (bits > 53)
      return std::nullopt;
    value = isUnsigned ? double(integer.getZExtValue())
                       : double(integer.getSExtValue());
  } else {
    APFloat number = dense.getSplatValue<APFloat>();
    bool losesInfo = false;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
    value = number.convertToDouble();
  }
  // The table drops fields that equal their default, with it the sign of -0.
  if (value == 0 && std::signbit(value))
    return std::nullopt;
  return value;
}

/// Appends the low `bytes` bytes of an element.
static void append(std::string &target, const APInt &element, unsigned bytes) {
  uint64_t word = element.getZExtValue();
  for (unsigned i = 0; i < bytes; ++i)
    target.push_back(char(word >> (8 * i)));
}

std::optional<std::string_view>
bessemer::elementBytes(ElementsAttr elements,
                       std::deque<std::string> &storage) {
  static_assert(llvm::endianness::native == llvm::endianness::little,
                "artifacts hold the host's bytes");
  auto type = cast<RankedTensorType>(elements.getShapedType());
  unsigned width = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  size_t size = type.getNumElements() * width;
  ArrayRef<char> raw;
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(elements)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob || blob->getData().size() != size)
      return std::nullopt;
    raw = blob->getData();
    return std::string_view(raw.data(), raw.size());
  }
  auto dense = dyn_cast<DenseElementsAttr>(elements);
  if (!dense)
    return std::nullopt;
  if (!dense.isSplat() && dense.getRawData().size() == size) {
    raw = dense.getRawData();
    return std::string_view(raw.data(), raw.size());
  }
  // A splat, or booleans packed in bits.
  std::string &bytes = storage.emplace_back();
  bytes.reserve(size);
  if (isa<IntegerType>(type.getElementType()))
    for (const APInt &element : dense.getValues<APInt>())
      append(bytes, element, width);
  else
    for (const APFloat &element : dense.getValues<APFloat>())
      append(bytes, element.bitcastToAPInt(), width);
  return bytes;
}
