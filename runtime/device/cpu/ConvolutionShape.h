// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What one convolution computes, and the rules that choose how.
#pragma once

#include "bessemer/Format/bessemer_generated.h"

#include <array>
#include <cstdint>

namespace bessemer::runtime {

/// Equal shapes share a plan.
struct ConvolutionShape {
  ConvolutionShape() = default;
  explicit ConvolutionShape(const format::Convolution &description);

  format::ConvolutionKind kind = format::ConvolutionKind::forward;
  bool hasBias = false;
  std::array<int64_t, 4> x{}, w{}, y{};
  /// Dilations count from 1, as in ONNX.
  std::array<int64_t, 2> strides{}, dilations{};
  /// Top, left, bottom, right.
  std::array<int64_t, 4> pads{};
  int64_t groups = 1;
  /// Whether the caller's images lie in blocks of 16 channels.
  bool blockedX = false, blockedY = false;
  /// Whether the caller's weights lie as OIhw16i16o.
  bool blockedW = false;
  /// Whether Winograd's algorithm may compute it.
  bool winograd = false;

  bool operator==(const ConvolutionShape &) const = default;

  uint64_t weightBytes() const;
};

// The rules go by the shape and the thread count and never by measuring, which
// would change results from one run to the next. Measured on Zen 4, one thread.

/// Whether the images are reordered to the layout that oneDNN prefers, which is
/// 1.3 to 5 times faster than row-major, reorders included, but for a few.
bool prefersBlockedImages(const ConvolutionShape &shape);

/// How many images are reordered and computed at a time, a divisor of the
/// batch: few, so that the reordered ones stay in the cache and take little
/// scratch. `bytesPerImage`: of the reordered x and y.
int64_t chooseImages(const ConvolutionShape &shape, uint64_t bytesPerImage,
                     int threads);

} // namespace bessemer::runtime
