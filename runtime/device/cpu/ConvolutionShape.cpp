// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cpu/ConvolutionShape.h"

#include "core/WeightLayout.h"

#include <algorithm>

namespace bessemer::runtime {

using Kind = format::ConvolutionKind;

/// Of reordered images per thread: about what its second-level cache holds.
static constexpr uint64_t cacheBytes = 1 << 20;

template <size_t n>
static std::array<int64_t, n>
toArray(const flatbuffers::Vector<int64_t> *values) {
  std::array<int64_t, n> result{};
  for (size_t i = 0; i < n; ++i)
    result[i] = values->Get(flatbuffers::uoffset_t(i));
  return result;
}

static bool isBlocked(const flatbuffers::String *layout) {
  return layout && layout->string_view() == "nChw16c";
}

ConvolutionShape::ConvolutionShape(const format::Convolution &description)
    : kind(description.kind()),
      hasBias(description.kind() == Kind::forward && description.has_bias()),
      x(toArray<4>(description.x())), w(toArray<4>(description.w())),
      y(toArray<4>(description.y())),
      strides(toArray<2>(description.strides())),
      dilations(toArray<2>(description.dilations())),
      pads(toArray<4>(description.pads())), groups(description.groups()),
      blockedX(isBlocked(description.x_layout())),
      blockedY(isBlocked(description.y_layout())),
      blockedW(isBlockedWeights(description.w_layout())),
      winograd(description.winograd()) {}

uint64_t ConvolutionShape::weightBytes() const {
  return sizeof(float) * uint64_t(w[0] * w[1] * w[2] * w[3]);
}

bool prefersBlockedImages(const ConvolutionShape &shape) {
  if (shape.blockedX || shape.blockedY)
    return true;
  bool depthwise = shape.groups > 1 && shape.w[1] == 1;
  // A blocked image of a few channels is mostly padding, which the gradient has
  // to write (1 to 4 channels: 2 to 5 times slower).
  if (shape.kind == Kind::input_gradient && shape.w[1] <= 4 && !depthwise)
    return false;
  // A 1x1 convolution is a matrix product already.
  bool pointwise = shape.w[2] == 1 && shape.w[3] == 1 && shape.groups == 1;
  bool strided = shape.strides[0] > 1 || shape.strides[1] > 1;
  return !pointwise || shape.kind == Kind::weight_gradient ||
         (strided && shape.kind == Kind::forward);
}

int64_t chooseImages(const ConvolutionShape &shape, uint64_t bytesPerImage,
                     int threads) {
  const int64_t batch = shape.x[0];
  const uint64_t budget = cacheBytes * uint64_t(threads);
  // Each chunk adds its weight gradient to the sum.
  if (shape.kind == Kind::weight_gradient && shape.weightBytes() > budget / 4)
    return batch;
  int64_t images = batch;
  for (int64_t divisor = 1; divisor <= batch; ++divisor) {
    int64_t candidate = batch / divisor;
    if (batch % divisor || candidate < threads)
      continue;
    images = candidate;
    if (uint64_t(candidate) * bytesPerImage <= budget)
      break;
  }
  return images;
}

} // namespace bessemer::runtime
