// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/InitialState.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace bessemer::runtime {

namespace {
/// Round to nearest even; NaN stays NaN.
uint16_t toBf16(double value) {
  auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (std::isnan(value))
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// Round to nearest even, by scaling to an integer count of the last place.
uint16_t toF16(double value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  double magnitude = std::fabs(value);
  if (std::isnan(value))
    return sign | 0x7e00;
  if (magnitude >= 65520)
    return sign | 0x7c00;
  if (magnitude < 0x1p-14)
    return sign | uint16_t(std::nearbyint(magnitude * 0x1p24));
  int exponent = std::ilogb(magnitude);
  auto fraction =
      uint32_t(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  // A fraction that rounds up to 2048 carries into the exponent by itself.
  return sign | uint16_t((uint32_t(exponent + 14) << 10) + fraction);
}

template <typename T> void splat(std::byte *target, size_t count, T value) {
  auto *elements = reinterpret_cast<T *>(target);
  std::fill_n(elements, count, value);
}
} // namespace

Status writeInitialState(const Program::Impl &program, size_t index,
                         std::byte *target) {
  const format::State &state = *program.table->states()->Get(index);
  const TensorType &type = program.states[index].type;
  if (state.init_blob() >= 0) {
    auto content = program.blob(state.init_blob());
    if (!content)
      return Status(content.status().code(),
                    content.status().message() + " (initial value of '" +
                        program.states[index].name + "')");
    if (!content->empty())
      std::memcpy(target, content->data(), content->size());
    return {};
  }
  size_t count = type.elementCount();
  double value = state.splat();
  switch (type.element) {
  case ElementType::F32:
    splat(target, count, static_cast<float>(value));
    break;
  case ElementType::F64:
    splat(target, count, value);
    break;
  case ElementType::F16:
    splat(target, count, toF16(value));
    break;
  case ElementType::BF16:
    splat(target, count, toBf16(value));
    break;
  case ElementType::I8:
    splat(target, count, static_cast<int8_t>(value));
    break;
  case ElementType::I16:
    splat(target, count, static_cast<int16_t>(value));
    break;
  case ElementType::I32:
    splat(target, count, static_cast<int32_t>(value));
    break;
  case ElementType::I64:
    splat(target, count, static_cast<int64_t>(value));
    break;
  case ElementType::U8:
    splat(target, count, static_cast<uint8_t>(value));
    break;
  case ElementType::U16:
    splat(target, count, static_cast<uint16_t>(value));
    break;
  case ElementType::U32:
    splat(target, count, static_cast<uint32_t>(value));
    break;
  case ElementType::U64:
    splat(target, count, static_cast<uint64_t>(value));
    break;
  case ElementType::Bool:
    splat(target, count, static_cast<uint8_t>(value != 0));
    break;
  }
  return {};
}

} // namespace bessemer::runtime
