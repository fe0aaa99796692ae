// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients of the ops that move elements: each is another of them.

#include "bessemer/Dialect/Graph/IR/Emitter.h"

using namespace mlir;
using namespace bessemer::graph;

static bool isFloat(Value value) {
  return isa<FloatType>(Emitter::typeOf(value).getElementType());
}

LogicalResult
GatherOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                        SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(2, Value());
  if (resultGradients[0] && isFloat(getTable()))
    operandGradients[0] = ScatterAddOp::create(
        builder, getLoc(), getTable().getType(), resultGradients[0],
        getIndices(), getDimAttr(), getBatchAttr());
  return success();
}

LogicalResult
ScatterAddOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                            SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(2, Value());
  if (!resultGradients[0])
    return success();
  // Updates outside of the table have no influence, where gather gives NaN.
  Emitter e(builder, getLoc());
  Value rows = GatherOp::create(builder, getLoc(), getUpdates().getType(),
                                resultGradients[0], getIndices(), getDimAttr(),
                                getBatchAttr());
  int64_t size = Emitter::typeOf(getResult()).getDimSize(getDim());
  Value inside = arith::AndIOp::create(
      builder, getLoc(),
      e.compare(arith::CmpIPredicate::sge, getIndices(),
                e.like(getIndices(), 0)),
      e.compare(arith::CmpIPredicate::slt, getIndices(),
                e.like(getIndices(), static_cast<double>(size))));
  SmallVector<int64_t> dims;
  int64_t batch = getBatch(), shift = getDim() - batch;
  for (int64_t dim = 0; dim < Emitter::typeOf(getIndices()).getRank(); ++dim)
    dims.push_back(dim < batch ? dim : dim + shift);
  inside = e.broadcast(
      inside, Emitter::typeOf(getUpdates()).clone(builder.getI1Type()), dims);
  operandGradients[0] = e.select(inside, rows, e.like(rows, 0));
  return success();
}

LogicalResult SliceOp::buildGradient(OpBuilder &builder,
                                     ValueRange resultGradients,
                                     SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(1, Value());
  if (resultGradients[0] && isFloat(getInput()))
    operandGradients[0] = PadOp::create(builder, getLoc(), getInput().getType(),
                                        resultGradients[0], getOffsetsAttr());
  return success();
}

LogicalResult PadOp::buildGradient(OpBuilder &builder,
                                   ValueRange resultGradients,
                                   SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(1, Value());
  if (resultGradients[0] && isFloat(getInput()))
    operandGradients[0] =
        SliceOp::create(builder, getLoc(), getInput().getType(),
                        resultGradients[0], getLowAttr());
  return success();
}

LogicalResult
ConcatOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                        SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(getNumOperands(), Value());
  if (!resultGradients[0] || !isFloat(getResult()))
    return success();
  SmallVector<int64_t> offsets(Emitter::typeOf(getResult()).getRank(), 0);
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    operandGradients[i] = SliceOp::create(builder, getLoc(), input.getType(),
                                          resultGradients[0], offsets);
    offsets[getDim()] += Emitter::typeOf(input).getDimSize(getDim());
  }
  return success();
}
