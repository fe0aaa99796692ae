// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weights of convolutions laid out in blocks of channels, as states may lie:
// [o, i, h, w] as [o / 16, i / 16, h, w, 16 of i, 16 of o].
#pragma once

#include "bessemer/Format/bessemer_generated.h"

#include <cstddef>
#include <cstdint>

namespace bessemer::runtime {

/// Whether a layout is named; absent and "row" are row-major.
bool isNamedLayout(const flatbuffers::String *layout);
bool isBlockedWeights(const flatbuffers::String *layout);

/// Whether weights of that shape are whole blocks, one at least.
bool haveWholeBlocks(const flatbuffers::Vector<int64_t> *shape);

/// Lays the weights of one state out in blocks, and back, where they lie.
class WeightLayout {
public:
  explicit WeightLayout(const flatbuffers::Vector<int64_t> &shape);

  /// What the two need at `scratch`: sixteen filters.
  size_t scratchElements() const { return inputs * pixels * block; }
  void toBlocks(float *weights, float *scratch) const;
  void toRows(float *weights, float *scratch) const;

private:
  static constexpr size_t block = 16;

  template <typename F>
  void permute(float *weights, float *scratch, F move) const;

  size_t outputs, inputs, pixels;
};

} // namespace bessemer::runtime
