// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Looks for integers that are no index, before a step uses them as one.
#include "bessemer/runtime/Program.h"

#include <algorithm>
#include <cstring>

namespace bessemer::runtime {

bool ValueRange::holds(int64_t value) const {
  return (value >= least && value <= most) ||
         std::find(exempt.begin(), exempt.end(), value) != exempt.end();
}

std::string ValueRange::str() const {
  std::string text = meaning + " in [" + std::to_string(least) + ", " +
                     std::to_string(most) + "]";
  for (int64_t value : exempt)
    text += " or " + std::to_string(value);
  return text;
}

std::string ValueRange::mismatch(int64_t got) const {
  return "expected " + str() + ", got " + std::to_string(got);
}

namespace {
/// Element `i`; a caller's integers may lie where their type must not.
template <typename T> T load(const std::byte *data, size_t i) {
  T value;
  std::memcpy(&value, data + i * sizeof(T), sizeof(T));
  return value;
}

/// Whether [least, most] may not hold an element in [begin, end). Only
/// additions and ors, in blocks of a known size, so that they become vector
/// instructions.
template <typename T>
bool mayBeOutside(const ValueRange &range, const std::byte *data, size_t begin,
                  size_t end) {
  constexpr uint64_t top = uint64_t(1) << 63;
  const uint64_t least = uint64_t(range.least);
  const uint64_t span = uint64_t(range.most) - least;
  if (range.most < range.least || span >= top)
    return true;
  // Of v = value - least, modulo 2^64: either v is at least 2^63, or span - v
  // is negative, or v is at most span.
  auto test = [=](size_t i) {
    uint64_t v = uint64_t(int64_t(load<T>(data, i))) - least;
    return v | (span - v);
  };
  constexpr size_t block = 16;
  uint64_t seen[block] = {};
  for (; end - begin >= block; begin += block)
    for (size_t i = 0; i < block; ++i)
      seen[i] |= test(begin + i);
  for (; begin != end; ++begin)
    seen[0] |= test(begin);
  uint64_t any = 0;
  for (uint64_t bits : seen)
    any |= bits;
  return any >= top;
}

template <typename T>
std::optional<OutOfRange> findIn(const ValueRange &range,
                                 const TensorView &view) {
  const auto *data = static_cast<const std::byte *>(view.data);
  auto look = [&](size_t begin, size_t end) -> std::optional<OutOfRange> {
    // Most calls find none.
    if (!mayBeOutside<T>(range, data, begin, end))
      return std::nullopt;
    for (size_t i = begin; i < end; ++i)
      if (T value = load<T>(data, i); !range.holds(value))
        return OutOfRange{&range, value, i};
    return std::nullopt;
  };
  if (range.dim < 0)
    return look(0, view.elementCount());
  size_t outer = 1, inner = 1, dim = size_t(range.dim);
  for (size_t i = 0; i < view.shape.size(); ++i)
    if (i != dim)
      (i < dim ? outer : inner) *= size_t(view.shape[i]);
  for (size_t i = 0; i < outer; ++i) {
    size_t block = i * size_t(view.shape[dim]);
    if (auto found = look((block + size_t(range.begin)) * inner,
                          (block + size_t(range.end)) * inner))
      return found;
  }
  return std::nullopt;
}
} // namespace

std::optional<OutOfRange> findOutOfRange(const ValueInfo &input,
                                         const TensorView &view) {
  for (const ValueRange &range : input.ranges) {
    // Which rows of a batch are meant says nothing of other rows.
    if (range.dim == 0 && view.shape[0] != input.type.shape[0])
      continue;
    auto found = view.type == ElementType::I64   ? findIn<int64_t>(range, view)
                 : view.type == ElementType::I32 ? findIn<int32_t>(range, view)
                                                 : std::nullopt;
    if (found)
      return found;
  }
  return std::nullopt;
}

std::string positionText(size_t element, std::span<const int64_t> shape) {
  std::string text;
  for (size_t i = shape.size(); i-- > 0; element /= size_t(shape[i]))
    text = std::to_string(element % size_t(shape[i])) +
           (text.empty() ? "" : ", ") + text;
  return "[" + text + "]";
}

} // namespace bessemer::runtime
