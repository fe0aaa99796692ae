// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What losses over classes share: the class axis, ignored rows, accuracy.

#include "Losses.h"
#include <limits>

using namespace mlir;
using namespace bessemer;
using namespace bessemer::training;

/// The class dimension; out of range when the option is.
int64_t ClassLoss::getClassAxis(RankedTensorType prediction) const {
  int64_t rank = prediction.getRank();
  if (!classAxis)
    return rank == 3 ? 2 : 1;
  return *classAxis < 0 ? *classAxis + rank : *classAxis;
}

FailureOr<RankedTensorType>
ClassLoss::getLabelsType(RankedTensorType prediction, ErrorHandler emitError) {
  int64_t rank = prediction.getRank();
  if (rank < 2)
    return emitError()
           << "a loss over classes expects a prediction of rank 2 or more "
              "([batch, classes]), got shape ["
           << prediction.getShape() << "]";
  int64_t axis = getClassAxis(prediction);
  if (axis < 1 || axis >= rank)
    return emitError() << "expected class_axis between 1 and " << rank - 1
                       << " (dimension 0 is the batch), got " << *classAxis;
  SmallVector<int64_t> shape(prediction.getShape());
  shape.erase(shape.begin() + axis);
  return RankedTensorType::get(shape,
                               IntegerType::get(prediction.getContext(), 64));
}

graph::InputRangeAttr ClassLoss::getLabelsRange(RankedTensorType prediction) {
  int64_t classes = prediction.getDimSize(getClassAxis(prediction));
  return graph::InputRangeAttr::get(prediction.getContext(), "a label", 0,
                                    classes - 1, ignoreIndex, /*part=*/{});
}

/// Whether the first largest score of each row is at its label.
static Value buildCorrect(LossBuilder &b, Value scores, Value labels) {
  auto type = cast<RankedTensorType>(scores.getType());
  Value largest =
      b.broadcast(b.reduce(graph::ReduceKind::Max, scores, {1}), scores, {0});
  auto indexType =
      RankedTensorType::get(type.getShape(), b.builder.getI64Type());
  Value index = graph::IotaOp::create(b.builder, b.loc, indexType, 1);
  Value isLargest = b.compare(arith::CmpFPredicate::OEQ, scores, largest);
  Value candidates = b.select(
      isLargest, index,
      graph::buildSplat(b.builder, b.loc, indexType, type.getDimSize(1)));
  Value predicted = b.reduce(graph::ReduceKind::Min, candidates, {1});
  return b.compare(arith::CmpIPredicate::eq, predicted, labels);
}

ElementLoss ClassLoss::build(OpBuilder &builder, Location loc, Value prediction,
                             Value labels, bool withCorrect) {
  LossBuilder b{builder, loc};
  auto type = cast<RankedTensorType>(prediction.getType());
  int64_t rank = type.getRank(), axis = getClassAxis(type);

  // Classes last, everything else one dimension of rows.
  Value scores = prediction;
  SmallVector<int64_t> shape(type.getShape());
  if (axis != rank - 1) {
    SmallVector<int64_t> permutation;
    for (int64_t dim = 0; dim < rank; ++dim)
      if (dim != axis)
        permutation.push_back(dim);
    permutation.push_back(axis);
    shape.erase(shape.begin() + axis);
    shape.push_back(type.getDimSize(axis));
    scores = graph::TransposeOp::create(
        builder, loc, RankedTensorType::get(shape, type.getElementType()),
        scores, permutation);
  }
  int64_t classes = type.getDimSize(axis);
  int64_t rows = type.getNumElements() / classes;
  scores = graph::buildReshape(builder, loc, scores, {rows, classes});
  labels = graph::buildReshape(builder, loc, labels, {rows});

  ElementLoss result;
  result.counted = b.compare(arith::CmpIPredicate::ne, labels,
                             b.splat(labels, static_cast<double>(ignoreIndex)));
  Value rowLoss = buildRows(b, scores, labels, result.counted);
  // A label that is no class has no loss: not a number, which training reports.
  // Unsigned, negative labels are large too.
  Value outside = b.compare(arith::CmpIPredicate::uge, labels,
                            b.splat(labels, static_cast<double>(classes)));
  outside = arith::AndIOp::create(builder, loc, outside, result.counted);
  result.loss = b.select(
      outside, b.splat(rowLoss, std::numeric_limits<double>::quiet_NaN()),
      rowLoss);
  if (withCorrect)
    result.correct = buildCorrect(b, scores, labels);
  return result;
}
