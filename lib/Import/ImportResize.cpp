// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Resize: enlarging by whole factors repeats elements, everything else is a
// product with an interpolation matrix, axis by axis.

#include "Interpolation.h"
#include "NodeImport.h"
#include <cmath>

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

using Mode = Interpolation::Mode;
using Rounding = Interpolation::Rounding;
using Coordinates = Interpolation::Coordinates;

/// What attribute `name` says, the first choice by default; fails when it is
/// none of them.
template <typename T>
static FailureOr<T> readChoice(NodeImport &n, const char *name,
                               ArrayRef<std::pair<StringRef, T>> choices) {
  StringRef text = stringAttribute(n.node, name, choices.front().first);
  std::string known;
  for (auto [i, choice] : llvm::enumerate(choices)) {
    if (choice.first == text)
      return choice.second;
    known += i == 0 ? "" : i + 1 < choices.size() ? ", " : " or ";
    known += choice.first;
  }
  return n.fail("expected " + Twine(name) + " " + known + ", got '" + text +
                "'");
}

/// The node's attributes; fails on those that are not supported.
static FailureOr<Interpolation> readInterpolation(NodeImport &n) {
  auto mode = readChoice<Mode>(n, "mode",
                               {{"nearest", Mode::Nearest},
                                {"linear", Mode::Linear},
                                {"cubic", Mode::Cubic}});
  auto rounding =
      readChoice<Rounding>(n, "nearest_mode",
                           {{"round_prefer_floor", Rounding::RoundPreferFloor},
                            {"round_prefer_ceil", Rounding::RoundPreferCeil},
                            {"floor", Rounding::Floor},
                            {"ceil", Rounding::Ceil}});
  auto coordinates = readChoice<Coordinates>(
      n, "coordinate_transformation_mode",
      {{"half_pixel", Coordinates::HalfPixel},
       {"half_pixel_symmetric", Coordinates::HalfPixelSymmetric},
       {"pytorch_half_pixel", Coordinates::PytorchHalfPixel},
       {"align_corners", Coordinates::AlignCorners},
       {"asymmetric", Coordinates::Asymmetric}});
  if (failed(mode) || failed(rounding) || failed(coordinates))
    return failure();
  Interpolation how;
  how.mode = *mode;
  how.rounding = *rounding;
  how.coordinates = *coordinates;
  how.cubicA = floatAttribute(n.node, "cubic_coeff_a", -0.75f);
  how.excludeOutside = intAttribute(n.node, "exclude_outside", 0) != 0;
  how.antialias = intAttribute(n.node, "antialias", 0) != 0;
  return how;
}

/// The axes that `scales` and `sizes` speak of.
static FailureOr<SmallVector<int64_t>> resizedAxes(NodeImport &n) {
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, n.rank(0)));
  SmallVector<int64_t> axes;
  for (int64_t entry :
       intsAttribute(n.node, "axes", {all.begin(), all.end()})) {
    auto axis = n.axis(entry, n.rank(0));
    if (failed(axis))
      return failure();
    if (llvm::is_contained(axes, *axis))
      return n.fail("axis " + Twine(*axis) + " is given twice");
    axes.push_back(*axis);
  }
  return axes;
}

/// Whether optional operand `i` holds something; exporters write an empty
/// tensor for what is not there.
static bool isGiven(NodeImport &n, size_t i) {
  return n.has(i) && n.shape(i) != ArrayRef<int64_t>{0};
}

namespace {
/// What of sizes that do not keep the aspect ratio: use them, or the scale of
/// the axis that makes the result fit into them or cover them.
enum class Policy { Stretch, NotLarger, NotSmaller };
} // namespace

/// The scales from sizes, all equal when the aspect ratio is kept.
static LogicalResult resampleToSizes(NodeImport &n, ArrayRef<int64_t> axes,
                                     SmallVectorImpl<Resampling> &result) {
  auto sizes = n.knownInts(3, "sizes");
  if (failed(sizes))
    return failure();
  if (sizes->size() != axes.size())
    return n.fail("expected " + Twine(axes.size()) + " sizes, got " +
                  Twine(sizes->size()));
  auto policy = readChoice<Policy>(n, "keep_aspect_ratio_policy",
                                   {{"stretch", Policy::Stretch},
                                    {"not_larger", Policy::NotLarger},
                                    {"not_smaller", Policy::NotSmaller}});
  if (failed(policy))
    return failure();
  // Of output to input, the ratio that all axes get.
  std::optional<std::pair<double, double>> common;
  for (auto [axis, size] : llvm::zip_equal(axes, *sizes)) {
    if (size < 1)
      return n.fail("expected positive sizes, got " + Twine(size));
    auto output = static_cast<double>(size);
    auto input = static_cast<double>(n.shape(0)[axis]);
    result[axis] = {n.shape(0)[axis], size, output, input};
    bool isSmaller = common && output * common->second < common->first * input;
    if (!common || isSmaller == (*policy == Policy::NotLarger))
      common = {output, input};
  }
  if (*policy == Policy::Stretch || !common)
    return success();
  for (int64_t axis : axes) {
    auto input = static_cast<double>(n.shape(0)[axis]);
    double output = std::floor(input * common->first / common->second + 0.5);
    if (output < 1)
      return n.fail("axis " + Twine(axis) + " would have size 0");
    result[axis] = {n.shape(0)[axis], static_cast<int64_t>(output),
                    common->first, common->second};
  }
  return success();
}

static LogicalResult resampleByScales(NodeImport &n, ArrayRef<int64_t> axes,
                                      SmallVectorImpl<Resampling> &result) {
  const Literal *scales = n.literal(2);
  if (!scales || !scales->isFloat())
    return n.fail("expected scales that are known when compiling, got a value "
                  "computed from the data");
  if (scales->size() != static_cast<int64_t>(axes.size()))
    return n.fail("expected " + Twine(axes.size()) + " scales, got " +
                  Twine(scales->size()));
  constexpr double largest = 1 << 30;
  for (auto [axis, scale] : llvm::zip_equal(axes, scales->floats)) {
    double output = std::floor(static_cast<double>(n.shape(0)[axis]) * scale);
    if (!(output >= 1 && output <= largest))
      return n.fail("expected a scale that gives at least one element, got " +
                    std::to_string(scale) + " for a dimension of size " +
                    Twine(n.shape(0)[axis]));
    result[axis] = {n.shape(0)[axis], static_cast<int64_t>(output), scale, 1.0};
  }
  return success();
}

/// The number of times that each element is repeated, when that is all.
static std::optional<int64_t> repetitions(const Interpolation &how,
                                          const Resampling &sizes,
                                          ArrayRef<double> matrix) {
  if (how.mode != Mode::Nearest || sizes.output % sizes.input != 0)
    return std::nullopt;
  int64_t factor = sizes.output / sizes.input;
  for (int64_t x = 0; x < sizes.output; ++x)
    if (matrix[x * sizes.input + x / factor] != 1)
      return std::nullopt;
  return factor;
}

static Value repeatElements(NodeImport &n, Value x, int64_t axis,
                            int64_t factor) {
  auto type = cast<RankedTensorType>(x.getType());
  SmallVector<int64_t> shape(type.getShape()), dims;
  shape.insert(shape.begin() + axis + 1, factor);
  for (int64_t dim = 0; dim <= type.getRank(); ++dim)
    if (dim != axis + 1)
      dims.push_back(dim);
  Value repeated =
      graph::BroadcastOp::create(n.builder, n.loc, type.clone(shape), x, dims);
  shape.erase(shape.begin() + axis + 1);
  shape[axis] *= factor;
  return n.reshape(repeated, shape);
}

/// Contracts `axis` of x with the input dimension of the matrix, and puts the
/// output dimension, which comes last, in its place.
static Value contractAxis(NodeImport &n, Value x, int64_t axis,
                          const Resampling &sizes, std::vector<double> matrix) {
  auto type = cast<RankedTensorType>(x.getType());
  Literal literal;
  literal.elementType = onnxTypeOf(type.getElementType());
  literal.shape = {sizes.output, sizes.input};
  literal.floats = std::move(matrix);
  Value weights = materialize(
      literal, RankedTensorType::get(literal.shape, type.getElementType()),
      n.builder, n.loc);
  Value result = graph::ContractOp::create(
      n.builder, n.loc, x, weights, ArrayRef<int64_t>{}, ArrayRef<int64_t>{},
      ArrayRef<int64_t>{axis}, ArrayRef<int64_t>{1});
  int64_t rank = type.getRank();
  if (axis == rank - 1)
    return result;
  SmallVector<int64_t> permutation, shape(type.getShape());
  for (int64_t dim = 0; dim < rank; ++dim)
    permutation.push_back(dim < axis ? dim : dim == axis ? rank - 1 : dim - 1);
  shape[axis] = sizes.output;
  return graph::TransposeOp::create(n.builder, n.loc, type.clone(shape), result,
                                    permutation);
}

static LogicalResult importResize(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  auto how = readInterpolation(n);
  auto axes = resizedAxes(n);
  if (failed(how) || failed(axes))
    return failure();
  // Which element is nearest is not a matter of rounding.
  how->inSingle =
      how->mode != Mode::Nearest && !n.type(0).getElementType().isF64();
  SmallVector<Resampling> resamplings;
  for (int64_t size : n.shape(0))
    resamplings.push_back({size, size, 1.0, 1.0});
  if (isGiven(n, 2) == isGiven(n, 3))
    return n.fail("expected either scales or sizes");
  if (failed(isGiven(n, 3) ? resampleToSizes(n, *axes, resamplings)
                           : resampleByScales(n, *axes, resamplings)))
    return failure();
  SmallVector<int64_t> shape;
  for (const Resampling &sizes : resamplings)
    shape.push_back(sizes.output);
  if (failed(n.requireSizes(shape)))
    return failure();
  Value result = n.value(0);
  // From the last axis on, where the product needs no transposition.
  for (int64_t axis = n.rank(0) - 1; axis >= 0; --axis) {
    const Resampling &sizes = resamplings[axis];
    if (sizes.input == sizes.output && sizes.scale() == 1.0)
      continue;
    if (failed(n.requireSizes({sizes.output, sizes.input})))
      return failure();
    std::vector<double> matrix = interpolationMatrix(*how, sizes);
    if (auto factor = repetitions(*how, sizes, matrix))
      result = repeatElements(n, result, axis, *factor);
    else
      result = contractAxis(n, result, axis, sizes, std::move(matrix));
  }
  n.setResult(result);
  return success();
}

void ingest::addResizeHandlers(HandlerTable &table) {
  table["Resize"] = importResize;
}
