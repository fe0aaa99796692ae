// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One column on its way into one input: layout, element type, normalization.
#pragma once

#include "bessemer/runtime/Data.h"

namespace bessemer::runtime {

namespace data {

/// How the elements of a row move.
enum class Layout {
  /// Same order: equal shapes, or shapes that differ by unit dimensions or by
  /// flattening.
  Same,
  /// [H, W, C] becomes [C, H, W].
  ChannelsLastToFirst
};

/// Nothing when a row of shape `row` cannot feed an input row of shape `input`.
std::optional<Layout> matchLayout(std::span<const int64_t> row,
                                  std::span<const int64_t> input);

} // namespace data

class BoundColumn {
public:
  /// `column` is the column's name for errors; the shapes of `array` and
  /// `input` have rows and batch as dimension 0. `scaleImages` says whether u8
  /// becomes [0, 1] unless the normalization says otherwise.
  static Expected<std::unique_ptr<BoundColumn>>
  create(std::string column, const Array &array, const ValueInfo &input,
         const Normalization &normalization, bool scaleImages);

  int64_t rows() const { return source.type.shape[0]; }
  size_t rowBytes() const { return toBytes; }
  Status copyRow(int64_t row, std::byte *to) const;
  std::string describe() const;

  /// Checks all rows against the input's ranges.
  Status checkRanges() const;

private:
  BoundColumn() = default;
  Status normalize(const Normalization &normalization, bool scaleImages);

  /// Converts one row; false when a number does not fit.
  using Convert = bool (*)(const BoundColumn &, const std::byte *from,
                           std::byte *to);
  template <typename From, typename To>
  static bool convert(const BoundColumn &, const std::byte *, std::byte *);
  template <typename From> static Convert converterFrom(ElementType to);
  static Convert converter(ElementType from, ElementType to);

  std::string column;
  Array source;
  ValueInfo target;
  size_t fromBytes = 0, toBytes = 0;
  data::Layout layout = data::Layout::Same;
  /// A row is [channels, inner] in the target.
  int64_t channels = 1, inner = 1;
  /// Per channel: value * factor + term; empty when numbers stay as they are.
  std::vector<double> factor, term;
  /// What u8 values become, [channels][256]; empty for other types.
  std::vector<float> table;
  Convert converterFunction = nullptr;
  std::string note;
};

} // namespace bessemer::runtime
