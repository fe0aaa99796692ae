// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recognises tables of sines by the recurrence that they satisfy.

#include "WaveTables.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cmath>
#include <cstring>

using namespace bessemer;
using namespace bessemer::ingest;

/// Far above the error of a float32 sine of a position in the thousands.
static constexpr double tolerance = 2e-3;
/// With fewer rows or frequencies numbers may satisfy a rule by chance.
static constexpr int64_t fewest = 4;

static bool isGeometric(llvm::ArrayRef<float> x) {
  double ratio = x[1];
  if (x[0] != 1 || !(ratio > 0 && ratio < 1))
    return false;
  for (size_t i = 1; i + 1 < x.size(); ++i)
    if (!(std::abs(x[i + 1] - ratio * x[i]) <= 1e-4 * x[i]))
      return false;
  return true;
}

/// sin and cos of p w satisfy x[p - 1] + x[p + 1] = 2 cos(w) x[p], and start
/// with 0 or 1.
static bool isWave(const float *column, int64_t rows, int64_t stride) {
  auto x = [&](int64_t p) -> double { return column[p * stride]; };
  if (x(0) != 0 && x(0) != 1)
    return false;
  double squares = 0, products = 0;
  for (int64_t p = 1; p + 1 < rows; ++p) {
    squares += x(p) * x(p);
    products += x(p) * (x(p - 1) + x(p + 1));
  }
  double factor = squares > 0 ? products / squares : 0;
  for (int64_t p = 1; p + 1 < rows; ++p)
    if (!(std::abs(x(p - 1) + x(p + 1) - factor * x(p)) <= tolerance) ||
        !(std::abs(x(p)) <= 1 + tolerance))
      return false;
  return true;
}

static bool isWaves(llvm::ArrayRef<float> x, int64_t rows, int64_t columns) {
  bool turns = false;
  for (int64_t c = 0; c < columns; ++c) {
    if (!isWave(x.data() + c, rows, columns))
      return false;
    // The fastest one does: a table of zeros is a parameter.
    double first = x[c], second = x[columns + c];
    turns |= std::abs(second - first) > 0.1;
  }
  return turns;
}

bool ingest::isWaveTable(const Initializer &initializer) {
  if (initializer.elementType != onnx::TensorProto::FLOAT)
    return false;
  llvm::SmallVector<int64_t> shape;
  for (int64_t size : initializer.shape)
    if (size != 1)
      shape.push_back(size);
  size_t count = initializer.elementCount();
  if (shape.empty() || shape.size() > 2 || shape[0] < fewest ||
      initializer.data.size() != count * sizeof(float))
    return false;
  std::vector<float> x(count);
  std::memcpy(x.data(), initializer.data.data(), initializer.data.size());
  return shape.size() == 1 ? isGeometric(x) : isWaves(x, shape[0], shape[1]);
}
