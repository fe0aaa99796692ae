// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Coordinates, filters and their weights.

#include "Interpolation.h"
#include <algorithm>
#include <cmath>
#include <type_traits>

using namespace bessemer::ingest;
using Mode = Interpolation::Mode;

/// `position * numerator / denominator`: in f64 so that whole numbers come out
/// as whole numbers, in f32 with the ratio rounded, as f32 kernels have it.
template <typename Float>
static Float rescale(Float position, Float numerator, Float denominator) {
  if constexpr (std::is_same_v<Float, double>) {
    return position * numerator / denominator;
  } else {
    Float ratio = numerator / denominator;
    return position * ratio;
  }
}

/// Where output element `x` lies among the input elements.
template <typename Float>
static Float coordinateOf(Interpolation::Coordinates coordinates,
                          const Resampling &sizes, int64_t x) {
  auto unscale = [&](Float position) {
    return rescale(position, static_cast<Float>(sizes.denominator),
                   static_cast<Float>(sizes.numerator));
  };
  // The output's size before it was rounded down.
  auto length =
      static_cast<Float>(sizes.scale() * static_cast<double>(sizes.input));
  auto input = static_cast<Float>(sizes.input);
  auto at = static_cast<Float>(x);
  auto half = static_cast<Float>(0.5);
  switch (coordinates) {
  case Interpolation::Coordinates::HalfPixel:
    return unscale(at + half) - half;
  case Interpolation::Coordinates::HalfPixelSymmetric:
    return input / 2 * (1 - static_cast<Float>(sizes.output) / length) +
           unscale(at + half) - half;
  case Interpolation::Coordinates::PytorchHalfPixel:
    return sizes.output == 1 ? -half : unscale(at + half) - half;
  case Interpolation::Coordinates::AlignCorners:
    return length == 1 ? 0 : rescale(at, input - 1, length - 1);
  case Interpolation::Coordinates::Asymmetric:
    return unscale(at);
  }
  return 0;
}

static int64_t nearestTo(Interpolation::Rounding rounding, double position) {
  switch (rounding) {
  case Interpolation::Rounding::RoundPreferFloor:
    return static_cast<int64_t>(std::ceil(position - 0.5));
  case Interpolation::Rounding::RoundPreferCeil:
    return static_cast<int64_t>(std::floor(position + 0.5));
  case Interpolation::Rounding::Floor:
    return static_cast<int64_t>(std::floor(position));
  case Interpolation::Rounding::Ceil:
    return static_cast<int64_t>(std::ceil(position));
  }
  return 0;
}

/// The filter's weight at `distance` input elements.
static double weightAt(const Interpolation &how, double distance) {
  double d = std::abs(distance), a = how.cubicA;
  if (how.mode == Mode::Linear)
    return std::max(0.0, 1 - d);
  if (d <= 1)
    return ((a + 2) * d - (a + 3)) * d * d + 1;
  if (d < 2)
    return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return 0;
}

std::vector<double>
bessemer::ingest::interpolationMatrix(const Interpolation &how,
                                      const Resampling &sizes) {
  std::vector<double> matrix(sizes.output * sizes.input, 0.0);
  // An antialiasing filter is as wide as an output element.
  double stretch = how.antialias ? std::min(sizes.scale(), 1.0) : 1.0;
  double reach = (how.mode == Mode::Cubic ? 2 : 1) / stretch;
  for (int64_t x = 0; x < sizes.output; ++x) {
    double *row = matrix.data() + x * sizes.input;
    double position = how.inSingle
                          ? coordinateOf<float>(how.coordinates, sizes, x)
                          : coordinateOf<double>(how.coordinates, sizes, x);
    auto clamp = [&](int64_t i) {
      return std::clamp<int64_t>(i, 0, sizes.input - 1);
    };
    if (how.mode == Mode::Nearest) {
      row[clamp(nearestTo(how.rounding, position))] = 1;
      continue;
    }
    double sum = 0;
    auto last = static_cast<int64_t>(std::ceil(position + reach));
    for (auto i = static_cast<int64_t>(std::floor(position - reach)); i <= last;
         ++i) {
      double weight =
          weightAt(how, (static_cast<double>(i) - position) * stretch);
      if (how.excludeOutside && i != clamp(i))
        continue;
      row[clamp(i)] += weight;
      sum += weight;
    }
    if (how.excludeOutside || how.antialias)
      for (int64_t i = 0; i < sizes.input; ++i)
        row[i] /= sum;
  }
  return matrix;
}
