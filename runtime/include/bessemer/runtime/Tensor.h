// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Element types and views of dense row-major tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bessemer::runtime {

/// The same values as `ElementType` in bessemer.fbs.
enum class ElementType : uint8_t {
  F32,
  F64,
  F16,
  BF16,
  I8,
  I16,
  I32,
  I64,
  U8,
  U16,
  U32,
  U64,
  Bool
};

inline constexpr unsigned numElementTypes = 13;

/// Bytes of one element; a Bool takes one byte.
constexpr size_t elementSize(ElementType type) {
  constexpr uint8_t sizes[numElementTypes] = {4, 8, 2, 2, 1, 2, 4,
                                              8, 1, 2, 4, 8, 1};
  return sizes[static_cast<uint8_t>(type)];
}

constexpr bool isFloat(ElementType type) {
  return type == ElementType::F32 || type == ElementType::F64 ||
         type == ElementType::F16 || type == ElementType::BF16;
}

/// "f32", "i64", "bool", ...
std::string_view elementName(ElementType type);
/// The inverse of elementName; nothing for an unknown name.
std::optional<ElementType> elementFromName(std::string_view name);

/// The element type of a C++ type.
template <typename T> constexpr ElementType elementTypeOf() {
  if constexpr (std::is_same_v<T, float>)
    return ElementType::F32;
  else if constexpr (std::is_same_v<T, double>)
    return ElementType::F64;
  else if constexpr (std::is_same_v<T, int8_t>)
    return ElementType::I8;
  else if constexpr (std::is_same_v<T, int16_t>)
    return ElementType::I16;
  else if constexpr (std::is_same_v<T, int32_t>)
    return ElementType::I32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return ElementType::I64;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return ElementType::U8;
  else if constexpr (std::is_same_v<T, uint16_t>)
    return ElementType::U16;
  else if constexpr (std::is_same_v<T, uint32_t>)
    return ElementType::U32;
  else if constexpr (std::is_same_v<T, uint64_t>)
    return ElementType::U64;
  else {
    static_assert(std::is_same_v<T, bool>, "no element type for this type");
    return ElementType::Bool;
  }
}

/// "f32[32x784]"; "f32[]" for a scalar.
std::string typeString(ElementType type, std::span<const int64_t> shape);

/// Element type and static shape; rank 0 is a scalar.
struct TensorType {
  ElementType element = ElementType::F32;
  std::vector<int64_t> shape;

  size_t elementCount() const {
    size_t count = 1;
    for (int64_t extent : shape)
      count *= static_cast<size_t>(extent);
    return count;
  }
  size_t byteSize() const { return elementCount() * elementSize(element); }
  std::string str() const { return typeString(element, shape); }
  bool operator==(const TensorType &) const = default;
};

/// Dense row-major elements that someone else owns, as is the shape.
struct TensorView {
  ElementType type = ElementType::F32;
  std::span<const int64_t> shape;
  const void *data = nullptr;

  TensorView() = default;
  TensorView(ElementType type, std::span<const int64_t> shape, const void *data)
      : type(type), shape(shape), data(data) {}
  TensorView(const TensorType &type, const void *data)
      : type(type.element), shape(type.shape), data(data) {}

  size_t elementCount() const {
    size_t count = 1;
    for (int64_t extent : shape)
      count *= static_cast<size_t>(extent);
    return count;
  }
  size_t byteSize() const { return elementCount() * elementSize(type); }
  std::string str() const { return typeString(type, shape); }

  /// The elements; T must be the element type's C++ type.
  template <typename T> std::span<const T> elements() const {
    return {static_cast<const T *>(data), elementCount()};
  }
};

struct NamedTensor {
  std::string_view name;
  TensorView tensor;
};

} // namespace bessemer::runtime
