// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of losses and what they build with.

#include "Losses.h"
#include "bessemer/Dialect/Graph/IR/TensorType.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::training;

std::unique_ptr<Loss> training::makeLoss(const TrainingOptions &options) {
  switch (options.loss) {
  case LossKind::CrossEntropy:
    return makeCrossEntropy(options);
  case LossKind::Nll:
    return makeNll(options);
  case LossKind::Mse:
    return makeMse();
  case LossKind::Bce:
    return makeBce();
  case LossKind::BceWithLogits:
    return makeBceWithLogits();
  case LossKind::Output:
    return nullptr;
  }
  llvm_unreachable("unknown loss");
}

Value LossBuilder::add(Value a, Value b) {
  return arith::AddFOp::create(builder, loc, a, b);
}
Value LossBuilder::sub(Value a, Value b) {
  return arith::SubFOp::create(builder, loc, a, b);
}
Value LossBuilder::mul(Value a, Value b) {
  return arith::MulFOp::create(builder, loc, a, b);
}
Value LossBuilder::div(Value a, Value b) {
  return arith::DivFOp::create(builder, loc, a, b);
}
Value LossBuilder::neg(Value a) {
  return arith::NegFOp::create(builder, loc, a);
}
Value LossBuilder::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(builder, loc, condition, a, b);
}
Value LossBuilder::compare(arith::CmpFPredicate predicate, Value a, Value b) {
  return arith::CmpFOp::create(builder, loc, predicate, a, b);
}
Value LossBuilder::compare(arith::CmpIPredicate predicate, Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, predicate, a, b);
}
Value LossBuilder::splat(Value like, double value) {
  return graph::buildSplat(builder, loc, tensorOf(like), value);
}
Value LossBuilder::splatF32(Value like, double value) {
  return graph::buildSplat(
      builder, loc,
      RankedTensorType::get(tensorOf(like).getShape(), builder.getF32Type()),
      value);
}
Value LossBuilder::indicator(Value flags) {
  return select(flags, splatF32(flags, 1.0), splatF32(flags, 0.0));
}
Value LossBuilder::sumAll(Value a) {
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, tensorOf(a).getRank()));
  return dims.empty() ? a : reduce(graph::ReduceKind::Sum, a, dims);
}
Value LossBuilder::reduce(graph::ReduceKind kind, Value a,
                          ArrayRef<int64_t> dims) {
  return graph::buildReduce(builder, loc, kind, a, dims);
}
Value LossBuilder::broadcast(Value a, Value like, ArrayRef<int64_t> dims) {
  auto type = RankedTensorType::get(tensorOf(like).getShape(),
                                    tensorOf(a).getElementType());
  return graph::buildBroadcast(builder, loc, a, type, dims);
}

FailureOr<RankedTensorType>
PointwiseLoss::getLabelsType(RankedTensorType prediction,
                             ErrorHandler emitError) {
  if (prediction.getRank() == 0)
    return emitError() << "loss " << name
                       << " expects a prediction with a batch dimension, got "
                          "a scalar";
  return prediction;
}

ElementLoss PointwiseLoss::build(OpBuilder &builder, Location loc,
                                 Value prediction, Value labels, bool) {
  LossBuilder b{builder, loc};
  return {buildElements(b, prediction, labels), Value(), Value()};
}
