// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Resampling of one dimension as a matrix: ONNX's Resize, axis by axis.

#ifndef BESSEMER_LIB_IMPORT_INTERPOLATION_H
#define BESSEMER_LIB_IMPORT_INTERPOLATION_H

#include <cstdint>
#include <vector>

namespace bessemer::ingest {

/// How an output element is made of input elements; the names are ONNX's.
struct Interpolation {
  enum class Mode { Nearest, Linear, Cubic };
  enum class Rounding { RoundPreferFloor, RoundPreferCeil, Floor, Ceil };
  enum class Coordinates {
    HalfPixel,
    HalfPixelSymmetric,
    PytorchHalfPixel,
    AlignCorners,
    Asymmetric
  };
  Mode mode = Mode::Nearest;
  Rounding rounding = Rounding::RoundPreferFloor;
  Coordinates coordinates = Coordinates::HalfPixel;
  /// Cubic: the coefficient `a`.
  double cubicA = -0.75;
  /// Weights of elements outside are 0 and the others scaled to a sum of 1,
  /// instead of the border repeating.
  bool excludeOutside = false;
  /// Widen the filter when the output is smaller.
  bool antialias = false;
  /// Coordinates are computed in f32, as PyTorch and ONNX Runtime do for f32
  /// images: from 32 to 64 elements up to 9e-7 beside the exact ones, much more
  /// than the rounding of the result.
  bool inSingle = false;
};

/// A dimension's sizes. The scale is `numerator / denominator`, kept apart so
/// that coordinates that are whole numbers come out as whole numbers.
struct Resampling {
  int64_t input, output;
  double numerator, denominator;

  double scale() const { return numerator / denominator; }
};

/// The weights, [output, input] in row-major order.
std::vector<double> interpolationMatrix(const Interpolation &how,
                                        const Resampling &sizes);

} // namespace bessemer::ingest

#endif // BESSEMER_LIB_IMPORT_INTERPOLATION_H
