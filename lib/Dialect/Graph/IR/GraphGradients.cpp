// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients of the primitive graph ops: shape, reductions, contractions,
// convolution and pooling. Composites: CompositeGradients.cpp.

#include "bessemer/Dialect/Graph/IR/Emitter.h"

using namespace mlir;
using namespace bessemer::graph;

static bool isFloat(Value value) {
  return isa<FloatType>(Emitter::typeOf(value).getElementType());
}

static Value buildTranspose(OpBuilder &builder, Location loc, Value value,
                            ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return value;
  RankedTensorType type = Emitter::typeOf(value);
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(type.getDimSize(dim));
  return TransposeOp::create(
      builder, loc, RankedTensorType::get(shape, type.getElementType()), value,
      permutation);
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

LogicalResult
BroadcastOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                           SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(1, Value());
  if (!resultGradients[0] || !isFloat(getInput()))
    return success();
  SmallVector<int64_t> newDims =
      Emitter::otherDims(Emitter::typeOf(getResult()).getRank(), getDims());
  operandGradients[0] = newDims.empty()
                            ? resultGradients[0]
                            : buildReduce(builder, getLoc(), ReduceKind::Sum,
                                          resultGradients[0], newDims);
  return success();
}

LogicalResult
TransposeOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                           SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(1, Value());
  if (!resultGradients[0] || !isFloat(getInput()))
    return success();
  SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [index, dim] : llvm::enumerate(getPermutation()))
    inverse[dim] = index;
  operandGradients[0] =
      buildTranspose(builder, getLoc(), resultGradients[0], inverse);
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions and contractions
//===----------------------------------------------------------------------===//

/// The gradient of a product: the product of the other elements, which is
/// product / x unless elements are zero. With one zero only that element has a
/// gradient, with more none has.
static Value buildProductGradient(Emitter &e, ReduceOp op, Value gradient,
                                  ArrayRef<int64_t> kept) {
  Value x = op.getInput();
  Value zero = e.like(x, 0.0), one = e.like(x, 1.0);
  auto along = [&](ReduceKind kind, Value value) {
    return e.broadcastLike(e.reduce(kind, value, op.getDims()), x, kept);
  };
  Value isZero = e.compare(arith::CmpFPredicate::OEQ, x, zero);
  Value indicator = e.select(isZero, one, zero);
  Value zeros = along(ReduceKind::Sum, indicator);
  Value nonzero = e.select(isZero, one, x);
  Value others = e.div(along(ReduceKind::Product, nonzero), nonzero);
  // The zeros among the other elements.
  Value hasOtherZero =
      e.compare(arith::CmpFPredicate::OGT, e.sub(zeros, indicator), zero);
  return e.mul(gradient, e.select(hasOtherZero, zero, others));
}

LogicalResult
ReduceOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                        SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(1, Value());
  if (!resultGradients[0] || !isFloat(getInput()))
    return success();
  Emitter e(builder, getLoc());
  Value x = getInput();
  SmallVector<int64_t> kept = e.otherDims(e.typeOf(x).getRank(), getDims());
  Value gradient = e.broadcastLike(resultGradients[0], x, kept);
  switch (getKind()) {
  case ReduceKind::Sum:
    operandGradients[0] = gradient;
    return success();
  case ReduceKind::Max:
  case ReduceKind::Min: {
    Value zero = e.like(x, 0.0), one = e.like(x, 1.0);
    Value extreme = e.broadcastLike(getResult(), x, kept);
    Value wins = e.compare(arith::CmpFPredicate::OEQ, x, extreme);
    Value indicator = e.select(wins, one, zero);
    Value winners = e.broadcastLike(e.sum(indicator, getDims()), x, kept);
    operandGradients[0] = e.select(wins, e.div(gradient, winners), zero);
    return success();
  }
  case ReduceKind::Product:
    operandGradients[0] = buildProductGradient(e, *this, gradient, kept);
    return success();
  }
  llvm_unreachable("unknown reduce kind");
}

/// One operand of a contraction: its batch, contracted and free dimensions.
namespace {
struct ContractSide {
  ArrayRef<int64_t> batch, contract;
  SmallVector<int64_t> free;
};
} // namespace

/// The gradient of the operand `self` of a contraction: dy contracted with the
/// other operand over that operand's free dimensions. `otherFirst` of dy's
/// dimensions is where those lie.
static Value buildContractGradient(OpBuilder &builder, Location loc, Value dy,
                                   Value other, const ContractSide &self,
                                   const ContractSide &otherSide,
                                   int64_t otherFirst) {
  int64_t batches = self.batch.size();
  auto batchDims = llvm::to_vector(llvm::seq<int64_t>(0, batches));
  auto dyContract = llvm::to_vector(
      llvm::seq<int64_t>(otherFirst, otherFirst + otherSide.free.size()));

  // Either order of operands gives [batch, free of the first, free of the
  // second]; take the one that needs no transposition, if there is one.
  SmallVector<int64_t> sortedContract(otherSide.contract);
  llvm::sort(sortedContract);
  auto permutationFor = [&](bool dyFirst) {
    int64_t freeStart = dyFirst ? batches : batches + sortedContract.size();
    int64_t contractStart = dyFirst ? batches + self.free.size() : batches;
    SmallVector<int64_t> permutation(batches + self.free.size() +
                                     self.contract.size());
    for (auto [index, dim] : llvm::enumerate(self.batch))
      permutation[dim] = index;
    for (auto [index, dim] : llvm::enumerate(self.free))
      permutation[dim] = freeStart + index;
    for (auto [index, dim] : llvm::enumerate(self.contract))
      permutation[dim] =
          contractStart +
          std::distance(sortedContract.begin(),
                        llvm::find(sortedContract, otherSide.contract[index]));
    return permutation;
  };
  bool dyFirst = true;
  SmallVector<int64_t> permutation = permutationFor(true);
  SmallVector<int64_t> swapped = permutationFor(false);
  if (!llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())) &&
      llvm::equal(swapped, llvm::seq<int64_t>(0, swapped.size()))) {
    dyFirst = false;
    permutation = swapped;
  }
  Value gradient =
      dyFirst ? ContractOp::create(builder, loc, dy, other, batchDims,
                                   otherSide.batch, dyContract, otherSide.free)
              : ContractOp::create(builder, loc, other, dy, otherSide.batch,
                                   batchDims, otherSide.free, dyContract);
  return buildTranspose(builder, loc, gradient, permutation);
}

LogicalResult
ContractOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                          SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(2, Value());
  if (!resultGradients[0])
    return success();
  auto side = [](Value value, ArrayRef<int64_t> batch,
                 ArrayRef<int64_t> contract) {
    SmallVector<int64_t> used(batch);
    llvm::append_range(used, contract);
    return ContractSide{
        batch, contract,
        Emitter::otherDims(Emitter::typeOf(value).getRank(), used)};
  };
  ContractSide lhs = side(getLhs(), getLhsBatch(), getLhsContract());
  ContractSide rhs = side(getRhs(), getRhsBatch(), getRhsContract());
  int64_t batches = lhs.batch.size(), lhsFree = lhs.free.size();
  operandGradients[0] =
      buildContractGradient(builder, getLoc(), resultGradients[0], getRhs(),
                            lhs, rhs, batches + lhsFree);
  operandGradients[1] = buildContractGradient(
      builder, getLoc(), resultGradients[0], getLhs(), rhs, lhs, batches);
  return success();
}

//===----------------------------------------------------------------------===//
// Convolution and pooling
//===----------------------------------------------------------------------===//

namespace {
/// Builds the three convolutions with the geometry of an existing one.
template <typename OpTy> struct ConvBuilder {
  OpBuilder &builder;
  OpTy op;

  Value forward(Value x, Value weight, Type type) {
    return ConvOp::create(builder, op.getLoc(), type, x, weight, Value(),
                          op.getStrides(), op.getPads(), op.getDilations(),
                          op.getGroups());
  }
  Value inputGrad(Value dy, Value weight, Type type) {
    return ConvInputGradOp::create(builder, op.getLoc(), type, dy, weight,
                                   op.getStrides(), op.getPads(),
                                   op.getDilations(), op.getGroups());
  }
  Value weightGrad(Value x, Value dy, Type type) {
    return ConvWeightGradOp::create(builder, op.getLoc(), type, x, dy,
                                    op.getStrides(), op.getPads(),
                                    op.getDilations(), op.getGroups());
  }
};
} // namespace

LogicalResult ConvOp::buildGradient(OpBuilder &builder,
                                    ValueRange resultGradients,
                                    SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(getNumOperands(), Value());
  Value dy = resultGradients[0];
  if (!dy)
    return success();
  ConvBuilder<ConvOp> conv{builder, *this};
  operandGradients[0] = conv.inputGrad(dy, getWeight(), getX().getType());
  operandGradients[1] = conv.weightGrad(getX(), dy, getWeight().getType());
  if (getBias())
    operandGradients[2] =
        buildReduce(builder, getLoc(), ReduceKind::Sum, dy, {0, 2, 3});
  return success();
}

LogicalResult
ConvInputGradOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                               SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(2, Value());
  Value gradient = resultGradients[0];
  if (!gradient)
    return success();
  ConvBuilder<ConvInputGradOp> conv{builder, *this};
  operandGradients[0] = conv.forward(gradient, getWeight(), getDy().getType());
  operandGradients[1] =
      conv.weightGrad(gradient, getDy(), getWeight().getType());
  return success();
}

LogicalResult
ConvWeightGradOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(2, Value());
  Value gradient = resultGradients[0];
  if (!gradient)
    return success();
  ConvBuilder<ConvWeightGradOp> conv{builder, *this};
  operandGradients[0] = conv.inputGrad(getDy(), gradient, getX().getType());
  operandGradients[1] = conv.forward(getX(), gradient, getDy().getType());
  return success();
}

LogicalResult PoolOp::buildGradient(OpBuilder &builder,
                                    ValueRange resultGradients,
                                    SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(1, Value());
  Value dy = resultGradients[0];
  if (!dy)
    return success();
  if (getKind() == PoolKind::Max)
    operandGradients[0] = MaxPoolGradOp::create(
        builder, getLoc(), getX().getType(), getX(), dy, getWindow(),
        getStrides(), getPads(), getDilations());
  else
    operandGradients[0] = AveragePoolGradOp::create(
        builder, getLoc(), getX().getType(), dy, getWindow(), getStrides(),
        getPads(), getDilations(), getCountIncludePad());
  return success();
}

LogicalResult
MaxPoolGradOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                             SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(2, Value());
  if (!resultGradients[0])
    return success();
  // It would gather by the position of the largest element, for which there
  // is no op.
  return emitOpError(
      "has no gradient: max pooling is differentiated once only");
}

LogicalResult
AveragePoolGradOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                 SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(1, Value());
  if (resultGradients[0])
    operandGradients[0] =
        PoolOp::create(builder, getLoc(), getDy().getType(), PoolKind::Average,
                       resultGradients[0], getWindow(), getStrides(), getPads(),
                       getDilations(), getCountIncludePad());
  return success();
}
