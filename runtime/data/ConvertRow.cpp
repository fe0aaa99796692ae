// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversion of rows. It runs in the loader's thread, element by element.
#include "data/BoundColumn.h"

#include "data/Half.h"

#include <cmath>
#include <utility>

namespace bessemer::runtime {
namespace {

/// Whether an integer fits another integer type.
template <typename To, typename From> bool fits(From value) {
  if constexpr (std::is_same_v<To, bool>)
    return value == From(0) || value == From(1);
  else
    return std::in_range<To>(value);
}

/// The number in another float type; `fit` becomes false when one that is
/// finite is not any more.
template <typename To> To narrow(double value, bool &fit) {
  To result = static_cast<To>(value);
  fit &= std::isfinite(result) || !std::isfinite(value);
  return result;
}

} // namespace

template <typename From, typename To>
bool BoundColumn::convert(const BoundColumn &c, const std::byte *from,
                          std::byte *to) {
  const From *source = reinterpret_cast<const From *>(from);
  To *target = reinterpret_cast<To *>(to);
  bool channelsLast = c.layout == data::Layout::ChannelsLastToFirst;
  bool fit = true;
  for (int64_t channel = 0; channel < c.channels; ++channel) {
    const From *in = source + (channelsLast ? channel : channel * c.inner);
    int64_t stride = channelsLast ? c.channels : 1;
    To *out = target + channel * c.inner;
    if constexpr (std::is_same_v<From, uint8_t> && std::is_same_v<To, float>)
      if (!c.table.empty()) {
        const float *table = c.table.data() + channel * 256;
        for (int64_t i = 0; i < c.inner; ++i)
          out[i] = table[in[i * stride]];
        continue;
      }
    if constexpr (std::is_floating_point_v<To>) {
      if (!c.factor.empty()) {
        double factor = c.factor[channel], term = c.term[channel];
        for (int64_t i = 0; i < c.inner; ++i)
          out[i] = narrow<To>(
              static_cast<double>(in[i * stride]) * factor + term, fit);
        continue;
      }
    }
    for (int64_t i = 0; i < c.inner; ++i) {
      if constexpr (std::is_integral_v<To> && std::is_integral_v<From> &&
                    !std::is_same_v<To, From>)
        fit &= fits<To>(in[i * stride]);
      if constexpr (std::is_same_v<From, double> && std::is_same_v<To, float>)
        out[i] = narrow<To>(in[i * stride], fit);
      else
        out[i] = static_cast<To>(in[i * stride]);
    }
  }
  return fit;
}

template <typename From>
BoundColumn::Convert BoundColumn::converterFrom(ElementType to) {
  switch (to) {
  case ElementType::F32:
    return convert<From, float>;
  case ElementType::F64:
    return convert<From, double>;
  default:
    break;
  }
  // No rounding of data behind the user's back.
  if constexpr (std::is_integral_v<From>)
    switch (to) {
    case ElementType::I8:
      return convert<From, int8_t>;
    case ElementType::I16:
      return convert<From, int16_t>;
    case ElementType::I32:
      return convert<From, int32_t>;
    case ElementType::I64:
      return convert<From, int64_t>;
    case ElementType::U8:
      return convert<From, uint8_t>;
    case ElementType::Bool:
      return convert<From, bool>;
    default:
      break;
    }
  return nullptr;
}

BoundColumn::Convert BoundColumn::converter(ElementType from, ElementType to) {
  switch (from) {
  case ElementType::F32:
    return converterFrom<float>(to);
  case ElementType::F64:
    return converterFrom<double>(to);
  case ElementType::F16:
    return converterFrom<data::Half>(to);
  case ElementType::BF16:
    return nullptr;
  case ElementType::I8:
    return converterFrom<int8_t>(to);
  case ElementType::I16:
    return converterFrom<int16_t>(to);
  case ElementType::I32:
    return converterFrom<int32_t>(to);
  case ElementType::I64:
    return converterFrom<int64_t>(to);
  case ElementType::U8:
    return converterFrom<uint8_t>(to);
  case ElementType::U16:
    return converterFrom<uint16_t>(to);
  case ElementType::U32:
    return converterFrom<uint32_t>(to);
  case ElementType::U64:
    return converterFrom<uint64_t>(to);
  case ElementType::Bool: // A damaged file may hold more than 0 and 1.
    return converterFrom<uint8_t>(to);
  }
  return nullptr;
}

} // namespace bessemer::runtime
