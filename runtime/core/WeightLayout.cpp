// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/WeightLayout.h"

#include <cstring>

namespace bessemer::runtime {

bool isNamedLayout(const flatbuffers::String *layout) {
  return layout && layout->size() && layout->string_view() != "row";
}

bool isBlockedWeights(const flatbuffers::String *layout) {
  return layout && layout->string_view() == "OIhw16i16o";
}

bool haveWholeBlocks(const flatbuffers::Vector<int64_t> *shape) {
  if (!shape || shape->size() != 4)
    return false;
  for (int64_t extent : *shape)
    if (extent <= 0)
      return false;
  return shape->Get(0) % 16 == 0 && shape->Get(1) % 16 == 0;
}

WeightLayout::WeightLayout(const flatbuffers::Vector<int64_t> &shape)
    : outputs(size_t(shape.Get(0))), inputs(size_t(shape.Get(1))),
      pixels(size_t(shape.Get(2) * shape.Get(3))) {}

/// Either way sixteen filters lie together: `move(to, from, row, blocked)` for
/// the places of each of their elements.
template <typename F>
void WeightLayout::permute(float *weights, float *scratch, F move) const {
  const size_t count = scratchElements();
  for (size_t first = 0; first < outputs; first += block, weights += count) {
    std::memcpy(scratch, weights, count * sizeof(float));
    size_t blocked = 0;
    for (size_t i = 0; i < inputs; i += block)
      for (size_t pixel = 0; pixel < pixels; ++pixel)
        for (size_t innerI = 0; innerI < block; ++innerI)
          for (size_t o = 0; o < block; ++o, ++blocked)
            move(weights, scratch, (o * inputs + i + innerI) * pixels + pixel,
                 blocked);
  }
}

void WeightLayout::toBlocks(float *weights, float *scratch) const {
  permute(weights, scratch,
          [](float *to, const float *from, size_t row, size_t blocked) {
            to[blocked] = from[row];
          });
}

void WeightLayout::toRows(float *weights, float *scratch) const {
  permute(weights, scratch,
          [](float *to, const float *from, size_t row, size_t blocked) {
            to[row] = from[blocked];
          });
}

} // namespace bessemer::runtime
