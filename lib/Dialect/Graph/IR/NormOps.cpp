// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layer norm and rms norm: verifiers, gradients, decompositions.

#include "bessemer/Dialect/Graph/IR/Emitter.h"
#include "bessemer/Dialect/Graph/IR/TensorType.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::graph;

namespace {
/// How a norm sees its input: rows of `count` elements.
struct Rows {
  RankedTensorType type;
  /// Dimensions that number the rows, and those inside of one.
  SmallVector<int64_t> outer, inner;
  double count = 1.0;

  Rows(Value x, Value scale) : type(tensorOf(x)) {
    int64_t first = type.getRank() - tensorOf(scale).getRank();
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      (dim < first ? outer : inner).push_back(dim);
    for (int64_t dim : inner)
      count *= static_cast<double>(type.getDimSize(dim));
  }
  RankedTensorType statisticType() const {
    return RankedTensorType::get(type.getShape().take_front(outer.size()),
                                 type.getElementType());
  }
};

/// Arithmetic on rows.
struct RowEmitter : Emitter {
  RowEmitter(OpBuilder &builder, Location loc, Rows rows)
      : Emitter(builder, loc), rows(std::move(rows)) {}

  /// One value per row, repeated along it.
  Value alongRow(Value statistic) {
    return broadcast(statistic, rows.type, rows.outer);
  }
  /// One value per element of a row, repeated for all rows.
  Value forAllRows(Value scale) {
    return broadcast(scale, rows.type, rows.inner);
  }
  Value rowMean(Value a) {
    Value sum = reduce(ReduceKind::Sum, a, rows.inner);
    return div(sum, like(sum, rows.count));
  }
  Value sumOverRows(Value a) {
    return rows.outer.empty() ? a : reduce(ReduceKind::Sum, a, rows.outer);
  }
  /// 1 / sqrt(square + epsilon), per row.
  Value inverseRoot(Value square, double epsilon) {
    Value shifted = add(square, like(square, epsilon));
    return div(like(square, 1.0), sqrt(shifted));
  }

  Rows rows;
};
} // namespace

//===----------------------------------------------------------------------===//
// Builders and verifiers
//===----------------------------------------------------------------------===//

void LayerNormOp::build(OpBuilder &builder, OperationState &state, Value x,
                        Value scale, Value bias, double epsilon) {
  Type statistic = Rows(x, scale).statisticType();
  build(builder, state, TypeRange{x.getType(), statistic, statistic}, x, scale,
        bias, builder.getF64FloatAttr(epsilon));
}

void RmsNormOp::build(OpBuilder &builder, OperationState &state, Value x,
                      Value scale, double epsilon) {
  Type statistic = Rows(x, scale).statisticType();
  build(builder, state, TypeRange{x.getType(), statistic}, x, scale,
        builder.getF64FloatAttr(epsilon));
}

/// Checks that `scale` has the last dimensions of `x`, that `like` (by name)
/// have the type of `x`, `parameters` that of `scale`, and `statistics` one
/// element per row.
static LogicalResult
verifyNorm(Operation *op, Value x, Value scale,
           ArrayRef<std::pair<StringRef, Value>> like,
           ArrayRef<std::pair<StringRef, Value>> parameters,
           ArrayRef<std::pair<StringRef, Value>> statistics) {
  RankedTensorType type = tensorOf(x), scaleType = tensorOf(scale);
  if (scaleType.getRank() == 0 || scaleType.getRank() > type.getRank() ||
      scaleType.getElementType() != type.getElementType() ||
      scaleType.getShape() != type.getShape().take_back(scaleType.getRank()))
    return op->emitOpError("expected a scale of the last dimensions of ")
           << type << ", got " << scaleType;
  RankedTensorType statistic = Rows(x, scale).statisticType();
  auto check = [&](ArrayRef<std::pair<StringRef, Value>> values,
                   RankedTensorType expected) -> LogicalResult {
    for (auto [name, value] : values)
      if (value && value.getType() != expected)
        return op->emitOpError("expected ") << name << " of type " << expected
                                            << ", got " << value.getType();
    return success();
  };
  return success(succeeded(check(like, type)) &&
                 succeeded(check(parameters, scaleType)) &&
                 succeeded(check(statistics, statistic)));
}

LogicalResult LayerNormOp::verify() {
  return verifyNorm(*this, getX(), getScale(), {{"result", getResult()}},
                    {{"bias", getBias()}},
                    {{"mean", getMean()}, {"rstd", getRstd()}});
}

LogicalResult LayerNormGradOp::verify() {
  return verifyNorm(*this, getX(), getScale(),
                    {{"dy", getDy()}, {"dx", getDx()}},
                    {{"dscale", getDscale()}, {"dbias", getDbias()}},
                    {{"mean", getMean()}, {"rstd", getRstd()}});
}

LogicalResult RmsNormOp::verify() {
  return verifyNorm(*this, getX(), getScale(), {{"result", getResult()}}, {},
                    {{"rstd", getRstd()}});
}

LogicalResult RmsNormGradOp::verify() {
  return verifyNorm(*this, getX(), getScale(),
                    {{"dy", getDy()}, {"dx", getDx()}},
                    {{"dscale", getDscale()}}, {{"rstd", getRstd()}});
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// The term of dx by d(rstd) / dx = -rstd^3 (x - mean) / n.
static Value rstdTerm(RowEmitter &e, Value centred, Value rstd, Value drstd) {
  Value cube = e.mul(rstd, e.mul(rstd, rstd));
  Value slope = e.mul(e.mul(drstd, cube), e.like(cube, -1.0 / e.rows.count));
  return e.mul(centred, e.alongRow(slope));
}

LogicalResult
LayerNormOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                           SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(getNumOperands(), Value());
  RowEmitter e(builder, getLoc(), Rows(getX(), getScale()));
  if (Value dy = resultGradients[0]) {
    auto grad = LayerNormGradOp::create(
        builder, getLoc(), getX().getType(), getScale().getType(),
        getScale().getType(), getX(), getScale(), getMean(), getRstd(), dy);
    for (unsigned i = 0; i < getNumOperands(); ++i)
      operandGradients[i] = grad.getResult(i);
  }
  auto addToInput = [&](Value term) {
    operandGradients[0] =
        operandGradients[0] ? e.add(operandGradients[0], term) : term;
  };
  if (Value dmean = resultGradients[1])
    addToInput(e.alongRow(e.mul(dmean, e.like(dmean, 1.0 / e.rows.count))));
  if (Value drstd = resultGradients[2])
    addToInput(
        rstdTerm(e, e.sub(getX(), e.alongRow(getMean())), getRstd(), drstd));
  return success();
}

LogicalResult
RmsNormOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                         SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(2, Value());
  RowEmitter e(builder, getLoc(), Rows(getX(), getScale()));
  if (Value dy = resultGradients[0]) {
    auto grad = RmsNormGradOp::create(builder, getLoc(), getX().getType(),
                                      getScale().getType(), getX(), getScale(),
                                      getRstd(), dy);
    llvm::copy(grad.getResults(), operandGradients.begin());
  }
  if (Value drstd = resultGradients[1]) {
    Value term = rstdTerm(e, getX(), getRstd(), drstd);
    operandGradients[0] =
        operandGradients[0] ? e.add(operandGradients[0], term) : term;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Decompositions
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>> LayerNormOp::decompose(OpBuilder &builder) {
  RowEmitter e(builder, getLoc(), Rows(getX(), getScale()));
  // Two passes: the variance of large means survives in f32.
  Value mean = e.rowMean(getX());
  Value centred = e.sub(getX(), e.alongRow(mean));
  Value variance = e.rowMean(e.mul(centred, centred));
  Value rstd = e.inverseRoot(variance, getEpsilon().convertToDouble());
  Value normal = e.mul(centred, e.alongRow(rstd));
  Value y = e.mul(normal, e.forAllRows(getScale()));
  if (getBias())
    y = e.add(y, e.forAllRows(getBias()));
  return SmallVector<Value>{y, mean, rstd};
}

FailureOr<SmallVector<Value>> RmsNormOp::decompose(OpBuilder &builder) {
  RowEmitter e(builder, getLoc(), Rows(getX(), getScale()));
  Value square = e.rowMean(e.mul(getX(), getX()));
  Value rstd = e.inverseRoot(square, getEpsilon().convertToDouble());
  Value normal = e.mul(getX(), e.alongRow(rstd));
  return SmallVector<Value>{e.mul(normal, e.forAllRows(getScale())), rstd};
}

FailureOr<SmallVector<Value>> LayerNormGradOp::decompose(OpBuilder &builder) {
  RowEmitter e(builder, getLoc(), Rows(getX(), getScale()));
  Value centred = e.sub(getX(), e.alongRow(getMean()));
  Value normal = e.mul(centred, e.alongRow(getRstd()));
  Value scaled = e.mul(getDy(), e.forAllRows(getScale()));
  Value meanScaled = e.rowMean(scaled);
  Value meanProduct = e.rowMean(e.mul(scaled, normal));
  Value inner = e.sub(scaled, e.alongRow(meanScaled));
  inner = e.sub(inner, e.mul(normal, e.alongRow(meanProduct)));
  Value dx = e.mul(inner, e.alongRow(getRstd()));
  Value dscale = e.sumOverRows(e.mul(getDy(), normal));
  return SmallVector<Value>{dx, dscale, e.sumOverRows(getDy())};
}

FailureOr<SmallVector<Value>> RmsNormGradOp::decompose(OpBuilder &builder) {
  RowEmitter e(builder, getLoc(), Rows(getX(), getScale()));
  Value normal = e.mul(getX(), e.alongRow(getRstd()));
  Value scaled = e.mul(getDy(), e.forAllRows(getScale()));
  Value meanProduct = e.rowMean(e.mul(scaled, normal));
  Value inner = e.sub(scaled, e.mul(normal, e.alongRow(meanProduct)));
  Value dx = e.mul(inner, e.alongRow(getRstd()));
  return SmallVector<Value>{dx, e.sumOverRows(e.mul(getDy(), normal))};
}
