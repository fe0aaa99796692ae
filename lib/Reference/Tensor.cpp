// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors: rounding, wrapping, constants.

#include "bessemer/Reference/Tensor.h"
#include "Operations.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/Endian.h"

using namespace mlir;

namespace bessemer::reference {

Tensor::Tensor(RankedTensorType type) : type(type) {
  if (isFloat())
    floats.assign(size(), 0.0);
  else
    integers.assign(size(), 0);
}

Tensor::Tensor(RankedTensorType type, std::vector<double> values)
    : type(type), floats(std::move(values)) {
  assert(isFloat() && static_cast<int64_t>(floats.size()) == size());
}

Tensor::Tensor(RankedTensorType type, std::vector<int64_t> values)
    : type(type), integers(std::move(values)) {
  assert(!isFloat() && static_cast<int64_t>(integers.size()) == size());
}

double roundTo(FloatType type, double value) {
  if (type.isF64())
    return value;
  if (type.isF32())
    return static_cast<float>(value);
  llvm::APFloat number(value);
  bool losesInfo;
  number.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                 &losesInfo);
  number.convert(llvm::APFloat::IEEEdouble(),
                 llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToDouble();
}

int64_t wrapTo(IntegerType type, int64_t value) {
  unsigned width = type.getWidth();
  if (width == 1)
    return value & 1;
  if (width >= 64)
    return value;
  unsigned shift = 64 - width;
  return static_cast<int64_t>(static_cast<uint64_t>(value) << shift) >> shift;
}

SmallVector<int64_t> stridesOf(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t dim = static_cast<int64_t>(shape.size()) - 2; dim >= 0; --dim)
    strides[dim] = strides[dim + 1] * shape[dim + 1];
  return strides;
}

void forEachIndex(ArrayRef<int64_t> shape,
                  llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  SmallVector<int64_t> index(shape.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    visit(index);
    for (int64_t dim = static_cast<int64_t>(shape.size()) - 1; dim >= 0;
         --dim) {
      if (++index[dim] < shape[dim])
        break;
      index[dim] = 0;
    }
  }
}

/// Elements of a resource's bytes, which are little-endian and packed.
static LogicalResult readBytes(ArrayRef<char> bytes, Tensor &tensor) {
  using llvm::support::endian::read;
  constexpr auto little = llvm::endianness::little;
  Type element = tensor.type.getElementType();
  unsigned width = element.getIntOrFloatBitWidth();
  int64_t bytesEach = std::max(1u, width / 8);
  if (static_cast<int64_t>(bytes.size()) < tensor.size() * bytesEach)
    return failure();
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const char *at = bytes.data() + i * bytesEach;
    uint64_t bits = 0;
    switch (bytesEach) {
    case 1:
      bits = static_cast<uint8_t>(*at);
      break;
    case 2:
      bits = read<uint16_t, little>(at);
      break;
    case 4:
      bits = read<uint32_t, little>(at);
      break;
    case 8:
      bits = read<uint64_t, little>(at);
      break;
    default:
      return failure();
    }
    if (auto floatType = dyn_cast<FloatType>(element)) {
      llvm::APFloat number(floatType.getFloatSemantics(),
                           llvm::APInt(width, bits));
      bool losesInfo;
      number.convert(llvm::APFloat::IEEEdouble(),
                     llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      tensor.floats[i] = number.convertToDouble();
    } else {
      tensor.integers[i] =
          wrapTo(cast<IntegerType>(element), static_cast<int64_t>(bits));
    }
  }
  return success();
}

FailureOr<Tensor> Tensor::fromAttribute(Attribute attribute) {
  auto elements = dyn_cast<ElementsAttr>(attribute);
  if (!elements)
    return failure();
  auto type = dyn_cast<RankedTensorType>(elements.getShapedType());
  if (!type || !type.getElementType().isIntOrFloat())
    return failure();
  Tensor tensor(type);
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(attribute)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob || failed(readBytes(blob->getData(), tensor)))
      return failure();
    return tensor;
  }
  auto dense = dyn_cast<DenseElementsAttr>(attribute);
  if (!dense)
    return failure();
  if (tensor.isFloat()) {
    int64_t i = 0;
    for (llvm::APFloat number : dense.getValues<llvm::APFloat>()) {
      bool losesInfo;
      number.convert(llvm::APFloat::IEEEdouble(),
                     llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      tensor.floats[i++] = number.convertToDouble();
    }
  } else {
    int64_t i = 0;
    auto integer = cast<IntegerType>(type.getElementType());
    for (const llvm::APInt &number : dense.getValues<llvm::APInt>())
      tensor.integers[i++] =
          wrapTo(integer, static_cast<int64_t>(number.getZExtValue()));
  }
  return tensor;
}

} // namespace bessemer::reference
