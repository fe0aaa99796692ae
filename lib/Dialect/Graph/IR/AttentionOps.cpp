// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention: verifiers, gradient, decompositions.

#include "bessemer/Dialect/Graph/IR/Emitter.h"
#include "bessemer/Dialect/Graph/IR/TensorType.h"
#include <limits>

using namespace mlir;
using namespace bessemer;
using namespace bessemer::graph;

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// What attention and its gradient have in common.
template <typename OpTy> static LogicalResult verifyAttention(OpTy op) {
  RankedTensorType q = tensorOf(op.getQ()), k = tensorOf(op.getK()),
                   v = tensorOf(op.getV());
  if (q.getRank() != 4 || k.getRank() != 4 || v.getRank() != 4)
    return op.emitOpError("expected q, k and v of rank 4, got ")
           << q << ", " << k << " and " << v;
  int64_t groups = k.getDimSize(1);
  if (k.getDimSize(0) != q.getDimSize(0) || k.getDimSize(3) != q.getDimSize(3))
    return op.emitOpError("expected k of the batch and depth of q, ")
           << q << ", got " << k;
  if (v.getShape().take_front(3) != k.getShape().take_front(3))
    return op.emitOpError("expected v of the batch, groups and keys of k, ")
           << k << ", got " << v;
  if (groups == 0 || q.getDimSize(1) % groups != 0)
    return op.emitOpError("expected the groups of k to divide the heads of q (")
           << q.getDimSize(1) << "), got " << groups;
  if (Value mask = op.getMask()) {
    RankedTensorType type = tensorOf(mask);
    SmallVector<int64_t> scores(q.getShape().take_front(3));
    scores.push_back(k.getDimSize(2));
    bool fits =
        type.getRank() == 4 && type.getElementType() == q.getElementType();
    for (int64_t dim = 0; fits && dim < 4; ++dim)
      fits = type.getDimSize(dim) == 1 || type.getDimSize(dim) == scores[dim];
    if (!fits)
      return op.emitOpError("expected a mask that broadcasts to ")
             << RankedTensorType::get(scores, q.getElementType()) << ", got "
             << type;
  }
  double ratio = op.getRatio().convertToDouble();
  if (!(ratio >= 0.0 && ratio < 1.0))
    return op.emitOpError("expected a ratio in [0, 1), got ") << ratio;
  if ((ratio > 0.0) != !!op.getStep())
    return op.emitOpError("expected a step block with a ratio above 0, and "
                          "only then");
  return success();
}

/// The type of the result: batch, heads and queries of q, width of v.
static RankedTensorType resultTypeOf(RankedTensorType q, RankedTensorType v) {
  SmallVector<int64_t> shape(q.getShape().take_front(3));
  shape.push_back(v.getDimSize(3));
  return RankedTensorType::get(shape, q.getElementType());
}

/// Checks the values that both ops name alike.
static LogicalResult verifyResult(Operation *op, StringRef what, Value value,
                                  Type expected) {
  if (value.getType() != expected)
    return op->emitOpError("expected ")
           << what << " of type " << expected << ", got " << value.getType();
  return success();
}

static Type lseTypeOf(RankedTensorType q) {
  return RankedTensorType::get(q.getShape().take_front(3), q.getElementType());
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyAttention(*this)))
    return failure();
  RankedTensorType q = tensorOf(getQ()), v = tensorOf(getV());
  return success(succeeded(verifyResult(*this, "result", getResult(),
                                        resultTypeOf(q, v))) &&
                 succeeded(verifyResult(*this, "lse", getLse(), lseTypeOf(q))));
}

LogicalResult AttentionGradOp::verify() {
  if (failed(verifyAttention(*this)))
    return failure();
  RankedTensorType q = tensorOf(getQ()), v = tensorOf(getV());
  Type y = resultTypeOf(q, v);
  return success(
      succeeded(verifyResult(*this, "y", getY(), y)) &&
      succeeded(verifyResult(*this, "dy", getDy(), y)) &&
      succeeded(verifyResult(*this, "lse", getLse(), lseTypeOf(q))) &&
      succeeded(verifyResult(*this, "dq", getDq(), q)) &&
      succeeded(verifyResult(*this, "dk", getDk(), getK().getType())) &&
      succeeded(verifyResult(*this, "dv", getDv(), v)));
}

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

LogicalResult
AttentionOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                           SmallVectorImpl<Value> &operandGradients) {
  operandGradients.assign(getNumOperands(), Value());
  if (resultGradients[1])
    return emitOpError("has no gradient through lse");
  if (!resultGradients[0])
    return success();
  auto grad = AttentionGradOp::create(
      builder, getLoc(), getQ().getType(), getK().getType(), getV().getType(),
      getQ(), getK(), getV(), getResult(), getLse(), resultGradients[0],
      getMask(), getStep(), getScaleAttr(), getCausalAttr(), getRatioAttr(),
      getIdAttr());
  llvm::copy(grad.getResults(), operandGradients.begin());
  return success();
}

//===----------------------------------------------------------------------===//
// Decompositions
//===----------------------------------------------------------------------===//

namespace {
/// The parts of attention, on [batch, heads, ...].
struct AttentionEmitter : Emitter {
  using Emitter::Emitter;

  /// Repeats the groups of k or v, so that each head has its own.
  Value repeatGroups(Value value, int64_t heads) {
    RankedTensorType type = typeOf(value);
    int64_t groups = type.getDimSize(1);
    if (groups == heads)
      return value;
    SmallVector<int64_t> shape(type.getShape());
    shape.insert(shape.begin() + 2, heads / groups);
    Value repeated = broadcast(value, type.clone(shape), {0, 1, 3, 4});
    return buildReshape(builder, loc, repeated,
                        {shape[0], heads, shape[3], shape[4]});
  }
  /// The gradient of repeatGroups.
  Value sumGroups(Value value, int64_t groups) {
    RankedTensorType type = typeOf(value);
    int64_t heads = type.getDimSize(1);
    if (groups == heads)
      return value;
    Value split = buildReshape(builder, loc, value,
                               {type.getDimSize(0), groups, heads / groups,
                                type.getDimSize(2), type.getDimSize(3)});
    return reduce(ReduceKind::Sum, split, {2});
  }
  /// Products of the matrices of each head, over these of their dimensions.
  Value product(Value a, Value b, int64_t aDim, int64_t bDim) {
    return ContractOp::create(builder, loc, a, b, ArrayRef<int64_t>{0, 1},
                              ArrayRef<int64_t>{0, 1}, ArrayRef<int64_t>{aDim},
                              ArrayRef<int64_t>{bDim});
  }
  /// scale q k^T + mask, minus infinity where causality forbids.
  Value scores(Value q, Value k, Value mask, double scale, bool causal) {
    Value s = product(q, k, 3, 3);
    s = mul(s, like(s, scale));
    RankedTensorType type = typeOf(s);
    if (mask) {
      SmallVector<int64_t> dims, shape;
      for (int64_t dim = 0; dim < 4; ++dim)
        if (typeOf(mask).getDimSize(dim) == type.getDimSize(dim)) {
          dims.push_back(dim);
          shape.push_back(type.getDimSize(dim));
        }
      s = add(s,
              broadcast(buildReshape(builder, loc, mask, shape), type, dims));
    }
    if (!causal)
      return s;
    auto index = type.clone(builder.getI64Type());
    Value row =
        IotaOp::create(builder, loc, index, builder.getI64IntegerAttr(2));
    Value key =
        IotaOp::create(builder, loc, index, builder.getI64IntegerAttr(3));
    Value visible = compare(arith::CmpIPredicate::sle, key, row);
    return select(visible, s,
                  like(s, -std::numeric_limits<double>::infinity()));
  }
  /// One value per row of scores, repeated along it.
  Value alongRow(Value value, Value scores) {
    return broadcast(value, typeOf(scores), {0, 1, 2});
  }
  Value dropout(Value value, Value step, FloatAttr ratio, IntegerAttr id) {
    if (!step)
      return value;
    return DropoutOp::create(builder, loc, value.getType(), value, step,
                             /*micro=*/Value(), ratio, id);
  }
};
} // namespace

FailureOr<SmallVector<Value>> AttentionOp::decompose(OpBuilder &builder) {
  AttentionEmitter e(builder, getLoc());
  int64_t heads = tensorOf(getQ()).getDimSize(1);
  Value k = e.repeatGroups(getK(), heads), v = e.repeatGroups(getV(), heads);
  Value s =
      e.scores(getQ(), k, getMask(), getScale().convertToDouble(), getCausal());
  Value max = e.reduce(ReduceKind::Max, s, {3});
  // A row that sees nothing has maximum minus infinity: any finite number
  // instead gives probabilities of 0.
  Value sees = e.compare(arith::CmpFPredicate::UNE, max,
                         e.like(max, -std::numeric_limits<double>::infinity()));
  Value shift = e.select(sees, max, e.like(max, 0.0));
  Value exp = e.exp(e.sub(s, e.alongRow(shift, s)));
  Value sum = e.reduce(ReduceKind::Sum, exp, {3});
  Value divisor = e.select(sees, sum, e.like(sum, 1.0));
  Value p = e.div(exp, e.alongRow(divisor, s));
  Value lse = e.add(shift, e.log(sum));
  p = e.dropout(p, getStep(), getRatioAttr(), getIdAttr());
  return SmallVector<Value>{e.product(p, v, 3, 2), lse};
}

FailureOr<SmallVector<Value>> AttentionGradOp::decompose(OpBuilder &builder) {
  AttentionEmitter e(builder, getLoc());
  int64_t heads = tensorOf(getQ()).getDimSize(1);
  int64_t groups = tensorOf(getK()).getDimSize(1);
  double scale = getScale().convertToDouble();
  Value k = e.repeatGroups(getK(), heads), v = e.repeatGroups(getV(), heads);
  Value s = e.scores(getQ(), k, getMask(), scale, getCausal());
  // A row that sees nothing has lse minus infinity; against plus infinity its
  // probabilities are 0.
  double infinity = std::numeric_limits<double>::infinity();
  Value sees = e.compare(arith::CmpFPredicate::UNE, getLse(),
                         e.like(getLse(), -infinity));
  Value lse = e.select(sees, getLse(), e.like(getLse(), infinity));
  Value p = e.exp(e.sub(s, e.alongRow(lse, s)));
  Value dropped = e.dropout(p, getStep(), getRatioAttr(), getIdAttr());
  Value dv = e.product(dropped, getDy(), 2, 2);
  Value dp = e.dropout(e.product(getDy(), v, 3, 3), getStep(), getRatioAttr(),
                       getIdAttr());
  Value delta = e.reduce(ReduceKind::Sum, e.mul(getY(), getDy()), {3});
  Value ds = e.mul(p, e.sub(dp, e.alongRow(delta, s)));
  ds = e.mul(ds, e.like(ds, scale));
  Value dq = e.product(ds, k, 3, 2);
  Value dk = e.product(ds, getQ(), 2, 2);
  return SmallVector<Value>{dq, e.sumGroups(dk, groups),
                            e.sumGroups(dv, groups)};
}
