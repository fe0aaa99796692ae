// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of the composites: shapes and attributes agree.

#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "bessemer/Dialect/Graph/IR/TensorType.h"
#include "llvm/Support/Format.h"
#include <cmath>

using namespace mlir;
using namespace bessemer;
using namespace bessemer::graph;

/// As users write it: 0.9, not 9.000000e-01.
static std::string toText(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return text;
}

/// Checks that `value`, called `what`, has type `expected`.
static LogicalResult verifyType(Operation *op, StringRef what, Value value,
                                Type expected) {
  if (value.getType() == expected)
    return success();
  return op->emitOpError("expected ")
         << what << " of type " << expected << ", got " << value.getType();
}

static LogicalResult verifyDecay(Operation *op, StringRef what,
                                 const APFloat &decay) {
  double value = decay.convertToDouble();
  if (value >= 0.0 && value < 1.0)
    return success();
  return op->emitOpError("expected ")
         << what << " in [0, 1), got " << toText(value);
}

static LogicalResult verifyEpsilon(Operation *op, const APFloat &epsilon) {
  double value = epsilon.convertToDouble();
  if (value >= 0.0 && std::isfinite(value))
    return success();
  return op->emitOpError("expected epsilon of at least 0, got ")
         << toText(value);
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

static LogicalResult verifyDim(Operation *op, Value x, int64_t dim) {
  if (dim < 0 || dim >= tensorOf(x).getRank())
    return op->emitOpError("expected dim below ")
           << tensorOf(x).getRank() << ", got " << dim;
  return success();
}

LogicalResult SoftmaxOp::verify() { return verifyDim(*this, getX(), getDim()); }

LogicalResult LogSoftmaxOp::verify() {
  return verifyDim(*this, getX(), getDim());
}

//===----------------------------------------------------------------------===//
// Batch normalisation
//===----------------------------------------------------------------------===//

/// Checks that x is [batch, channels, ...], that each of `perChannel` is
/// [channels], and each of `full` like x.
static LogicalResult
verifyBatchNorm(Operation *op, Value x,
                ArrayRef<std::pair<StringRef, Value>> perChannel,
                ArrayRef<std::pair<StringRef, Value>> full) {
  RankedTensorType type = tensorOf(x);
  if (type.getRank() < 2)
    return op->emitOpError("expected x [batch, channels, ...], got ") << type;
  auto channels =
      RankedTensorType::get(type.getDimSize(1), type.getElementType());
  for (auto [what, value] : perChannel)
    if (failed(verifyType(op, what, value, channels)))
      return failure();
  for (auto [what, value] : full)
    if (failed(verifyType(op, what, value, type)))
      return failure();
  return success();
}

LogicalResult BatchNormOp::verify() {
  if (failed(verifyEpsilon(*this, getEpsilon())) ||
      failed(verifyBatchNorm(*this, getX(),
                             {{"scale", getScale()},
                              {"bias", getBias()},
                              {"mean", getMean()},
                              {"variance", getVariance()}},
                             {{"the result", getResult()}})))
    return failure();
  double momentum = getMomentum().convertToDouble();
  if (!(momentum >= 0.0 && momentum <= 1.0))
    return emitOpError("expected momentum in [0, 1], got ") << toText(momentum);
  return success();
}

LogicalResult BatchNormTrainOp::verify() {
  if (failed(verifyEpsilon(*this, getEpsilon())))
    return failure();
  return verifyBatchNorm(*this, getX(),
                         {{"scale", getScale()},
                          {"bias", getBias()},
                          {"mean", getMean()},
                          {"variance", getVariance()}},
                         {{"the result", getResult()}});
}

LogicalResult BatchNormGradOp::verify() {
  if (failed(verifyEpsilon(*this, getEpsilon())))
    return failure();
  return verifyBatchNorm(*this, getX(),
                         {{"scale", getScale()},
                          {"mean", getMean()},
                          {"variance", getVariance()},
                          {"dscale", getDscale()},
                          {"dbias", getDbias()}},
                         {{"dy", getDy()}, {"dx", getDx()}});
}

//===----------------------------------------------------------------------===//
// Dropout and cross-entropy
//===----------------------------------------------------------------------===//

LogicalResult DropoutOp::verify() {
  double ratio = getRatio().convertToDouble();
  if (!(ratio >= 0.0 && ratio <= 1.0))
    return emitOpError("expected ratio in [0, 1], got ") << toText(ratio);
  return verifyType(*this, "the result", getResult(), getX().getType());
}

/// Checks logits [rows, classes], labels [rows] and floats [rows].
static LogicalResult
verifyCrossEntropy(Operation *op, Value logits, Value labels,
                   const APFloat &smoothing,
                   ArrayRef<std::pair<StringRef, Value>> perRow) {
  RankedTensorType type = tensorOf(logits);
  if (type.getRank() != 2 ||
      tensorOf(labels).getShape() != type.getShape().take_front())
    return op->emitOpError(
               "expected logits [rows, classes] and labels [rows], got ")
           << type << " and " << labels.getType();
  auto rows = RankedTensorType::get(type.getDimSize(0), type.getElementType());
  for (auto [what, value] : perRow)
    if (failed(verifyType(op, what, value, rows)))
      return failure();
  double value = smoothing.convertToDouble();
  if (!(value >= 0.0 && value <= 1.0))
    return op->emitOpError("expected label_smoothing in [0, 1], got ")
           << toText(value);
  return success();
}

LogicalResult CrossEntropyOp::verify() {
  return verifyCrossEntropy(*this, getLogits(), getLabels(),
                            getLabelSmoothing(),
                            {{"loss", getLoss()}, {"lse", getLse()}});
}

LogicalResult CrossEntropyGradOp::verify() {
  if (failed(verifyCrossEntropy(*this, getLogits(), getLabels(),
                                getLabelSmoothing(),
                                {{"lse", getLse()}, {"dloss", getDloss()}})))
    return failure();
  return verifyType(*this, "the result", getResult(), getLogits().getType());
}

//===----------------------------------------------------------------------===//
// The update
//===----------------------------------------------------------------------===//

LogicalResult SquareSumOp::verify() {
  auto result = cast<RankedTensorType>(getType());
  if (result.getRank())
    return emitOpError("expected a result of rank 0, got ") << result;
  for (Value gradient : getGradients())
    if (tensorOf(gradient).getElementType() != result.getElementType())
      return emitOpError("expected gradients of element type ")
             << result.getElementType() << ", got " << gradient.getType();
  return success();
}

/// Checks that each of `like` has the parameter's type and that each of
/// `scalars` is of rank 0 with its element type.
static LogicalResult
verifyUpdate(Operation *op, Value parameter,
             ArrayRef<std::pair<StringRef, Value>> like,
             ArrayRef<std::pair<StringRef, Value>> scalars) {
  for (auto [what, value] : like)
    if (failed(verifyType(op, what, value, parameter.getType())))
      return failure();
  auto scalar = RankedTensorType::get({}, tensorOf(parameter).getElementType());
  for (auto [what, value] : scalars)
    if (failed(verifyType(op, what, value, scalar)))
      return failure();
  return success();
}

LogicalResult SgdOp::verify() {
  bool hasMomentum = !getMomentum().isZero();
  if (static_cast<bool>(getBuffer()) != hasMomentum ||
      static_cast<bool>(getNewBuffer()) != hasMomentum)
    return emitOpError("expected a buffer and a new buffer with momentum and "
                       "neither without, got momentum ")
           << toText(getMomentum().convertToDouble());
  SmallVector<std::pair<StringRef, Value>> like{
      {"gradient", getGradient()}, {"the new parameter", getNewParameter()}};
  if (hasMomentum) {
    like.emplace_back("buffer", getBuffer());
    like.emplace_back("the new buffer", getNewBuffer());
  }
  return verifyUpdate(*this, getParameter(), like,
                      {{"learning_rate", getLearningRate()},
                       {"gradient_scale", getGradientScale()},
                       {"first", getFirst()}});
}

LogicalResult AdamWOp::verify() {
  if (failed(verifyDecay(*this, "beta1", getBeta1())) ||
      failed(verifyDecay(*this, "beta2", getBeta2())) ||
      failed(verifyEpsilon(*this, getEpsilon())))
    return failure();
  if (!getTouched().empty() && !tensorOf(getParameter()).getRank())
    return emitOpError("expected a parameter with dimensions to be touched in "
                       "part, got ")
           << getParameter().getType();
  return verifyUpdate(*this, getParameter(),
                      {{"gradient", getGradient()},
                       {"exp_avg", getExpAvg()},
                       {"exp_avg_sq", getExpAvgSq()},
                       {"the new parameter", getNewParameter()},
                       {"the new exp_avg", getNewExpAvg()},
                       {"the new exp_avg_sq", getNewExpAvgSq()}},
                      {{"learning_rate", getLearningRate()},
                       {"gradient_scale", getGradientScale()},
                       {"correction1", getCorrection1()},
                       {"correction2", getCorrection2()}});
}
