// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The discrete Fourier transform, as products with matrices of cosines and
// sines: differentiable, and as fast as a matrix product is.

#include "NodeImport.h"
#include <cmath>
#include <numbers>

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

/// The matrices have the square of the length.
static constexpr int64_t longestSignal = 4096;

namespace {
/// What of a transform does not depend on the data.
struct Transform {
  int64_t length, inputs, outputs;
  bool isInverse, isOneSided;

  bool isReal() const { return isInverse && isOneSided; }

  /// What element `j` of the spectrum counts for in a real signal: its mirror
  /// image is not there.
  double weight(int64_t j) const {
    double scale = isInverse ? 1.0 / static_cast<double>(length) : 1.0;
    bool hasImage = isReal() && j != 0 && 2 * j != length;
    return hasImage ? 2 * scale : scale;
  }

  /// [inputs, outputs]: `function` (a cosine or sine) of the angles.
  Literal matrix(int32_t elementType, double (*function)(double)) const {
    Literal result;
    result.elementType = elementType;
    result.shape = {inputs, outputs};
    for (int64_t j = 0; j < inputs; ++j)
      for (int64_t k = 0; k < outputs; ++k) {
        double turn =
            static_cast<double>(j * k % length) / static_cast<double>(length);
        result.floats.push_back(weight(j) *
                                function(2 * std::numbers::pi * turn));
      }
    return result;
  }
};
} // namespace

/// `value` with `size` elements along `dim`: cut, or padded with zeros.
static Value resized(NodeImport &n, Value value, int64_t dim, int64_t size) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getDimSize(dim) >= size)
    return n.slice(value, dim, 0, size);
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  return graph::PadOp::create(n.builder, n.loc, type.clone(shape), value,
                              SmallVector<int64_t>(shape.size(), 0));
}

static double cosine(double x) { return std::cos(x); }
static double sine(double x) { return std::sin(x); }

static LogicalResult importDft(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  int64_t rank = n.rank(0), parts = rank < 2 ? 0 : n.shape(0).back();
  if (parts != 1 && parts != 2)
    return n.fail("expected a signal with a last dimension of 1 (real) or 2 "
                  "(complex), got shape " +
                  shapeText(n.shape(0)));
  int64_t axis = rank - 2;
  if (n.has(2)) {
    auto given = n.knownInts(2, "axis");
    if (failed(given) || given->size() != 1)
      return failed(given) ? failure() : n.fail("expected one axis");
    auto normal = n.axis(given->front(), rank);
    if (failed(normal))
      return failure();
    axis = *normal;
  }
  if (axis == rank - 1)
    return n.fail("expected an axis before the last, which holds the real and "
                  "imaginary parts");
  Transform t;
  t.isInverse = intAttribute(n.node, "inverse", 0) != 0;
  t.isOneSided = intAttribute(n.node, "onesided", 0) != 0;
  t.length = t.isReal() ? 2 * (n.shape(0)[axis] - 1) : n.shape(0)[axis];
  if (n.has(1)) {
    auto given = n.knownInts(1, "dft_length");
    if (failed(given) || given->size() != 1)
      return failed(given) ? failure() : n.fail("expected one dft_length");
    t.length = given->front();
  }
  if (t.length < 1 || t.length > longestSignal)
    return n.fail("expected a dft_length between 1 and " +
                  Twine(longestSignal) + ", got " + Twine(t.length));
  if (t.isOneSided && parts != (t.isInverse ? 2 : 1))
    return n.fail("expected a real signal, or a complex spectrum to invert, "
                  "with onesided");
  int64_t half = t.length / 2 + 1;
  t.inputs = t.isReal() ? half : t.length;
  t.outputs = t.isOneSided && !t.isInverse ? half : t.length;

  // The axis next to the parts.
  SmallVector<int64_t> there, back(rank);
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim != axis)
      there.push_back(dim);
  there.insert(there.end() - 1, axis);
  for (auto [position, dim] : llvm::enumerate(there))
    back[dim] = position;
  Value x = resized(n, n.transpose(n.value(0), there), rank - 2, t.inputs);
  SmallVector<int64_t> shape(
      cast<RankedTensorType>(x.getType()).getShape().drop_back());
  int32_t elementType = onnxTypeOf(n.type(0).getElementType());
  auto matrix = [&](double (*function)(double)) {
    return materialize(t.matrix(elementType, function),
                       n.type(0).clone({t.inputs, t.outputs}), n.builder,
                       n.loc);
  };
  Value cosines = matrix(cosine), sines = matrix(sine);
  auto product = [&](int64_t part, Value factors) -> Value {
    Value values = n.reshape(n.slice(x, rank - 1, part, 1), shape);
    return graph::ContractOp::create(
        n.builder, n.loc, values, factors, ArrayRef<int64_t>{},
        ArrayRef<int64_t>{}, ArrayRef<int64_t>{rank - 2}, ArrayRef<int64_t>{0});
  };
  auto add = [&](Value a, Value b) -> Value {
    return arith::AddFOp::create(n.builder, n.loc, a, b);
  };
  auto sub = [&](Value a, Value b) -> Value {
    return arith::SubFOp::create(n.builder, n.loc, a, b);
  };
  // (a + ib) (cos + i sin), with -sin for the forward transform.
  bool isComplex = parts == 2;
  Value real = product(0, cosines);
  if (isComplex)
    real = t.isInverse ? sub(real, product(1, sines))
                       : add(real, product(1, sines));
  SmallVector<int64_t> spectrum(shape);
  spectrum.back() = t.outputs;
  spectrum.push_back(1);
  Value result = n.reshape(real, spectrum);
  if (!t.isReal()) {
    Value imaginary = product(0, sines);
    if (!t.isInverse)
      imaginary = arith::NegFOp::create(n.builder, n.loc, imaginary);
    if (isComplex)
      imaginary = add(imaginary, product(1, cosines));
    Value pair[] = {result, n.reshape(imaginary, spectrum)};
    spectrum.back() = 2;
    result =
        graph::ConcatOp::create(n.builder, n.loc, n.type(0).clone(spectrum),
                                ValueRange(pair), rank - 1);
  }
  n.setResult(n.transpose(result, back));
  return success();
}

void ingest::addSpectrumHandler(HandlerTable &table) {
  table["DFT"] = importDft;
}
