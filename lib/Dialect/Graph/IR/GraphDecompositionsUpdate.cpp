// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decompositions of the gradient norm and the optimizers.

#include "bessemer/Dialect/Graph/IR/Emitter.h"

using namespace mlir;
using namespace bessemer::graph;

FailureOr<SmallVector<Value>> SquareSumOp::decompose(OpBuilder &builder) {
  Emitter e(builder, getLoc());
  Value total;
  for (Value gradient : getGradients()) {
    auto dims =
        llvm::to_vector(llvm::seq<int64_t>(0, e.typeOf(gradient).getRank()));
    Value squares = e.mul(gradient, gradient);
    Value sum =
        dims.empty() ? squares : e.reduce(ReduceKind::Sum, squares, dims);
    total = total ? e.add(total, sum) : sum;
  }
  if (!total)
    total =
        buildSplat(builder, getLoc(), cast<RankedTensorType>(getType()), 0.0);
  return SmallVector<Value>{total};
}

FailureOr<SmallVector<Value>> SgdOp::decompose(OpBuilder &builder) {
  Emitter e(builder, getLoc());
  RankedTensorType type = e.typeOf(getParameter());
  double momentum = getMomentum().convertToDouble();
  double dampening = getDampening().convertToDouble();
  double decay = getWeightDecay().convertToDouble();
  Value p = getParameter();
  Value d = e.mul(getGradient(), e.broadcast(getGradientScale(), type, {}));
  if (decay != 0.0)
    d = e.add(d, e.mul(p, e.like(p, decay)));
  SmallVector<Value> results(1);
  if (getBuffer()) {
    Value running = e.add(e.mul(getBuffer(), e.like(d, momentum)),
                          e.mul(d, e.like(d, 1.0 - dampening)));
    Value isFirst = e.compare(arith::CmpFPredicate::UNE, getFirst(),
                              e.like(getFirst(), 0.0));
    Value buffer = e.select(
        e.broadcast(isFirst, type.clone(builder.getI1Type()), {}), d, running);
    d = getNesterov() ? e.add(d, e.mul(buffer, e.like(d, momentum))) : buffer;
    results.push_back(buffer);
  }
  results[0] = e.sub(p, e.mul(d, e.broadcast(getLearningRate(), type, {})));
  return results;
}

FailureOr<SmallVector<Value>> AdamWOp::decompose(OpBuilder &builder) {
  Emitter e(builder, getLoc());
  RankedTensorType type = e.typeOf(getParameter());
  double beta1 = getBeta1().convertToDouble();
  double beta2 = getBeta2().convertToDouble();
  double decay = getWeightDecay().convertToDouble();
  // What depends on scalars alone is computed on scalars.
  Value lr = getLearningRate();
  Value stepSize = e.div(lr, getCorrection1());
  Value root = e.sqrt(getCorrection2());

  Value p = getParameter();
  Value g = e.mul(getGradient(), e.broadcast(getGradientScale(), type, {}));
  Value m = e.add(e.mul(getExpAvg(), e.like(g, beta1)),
                  e.mul(g, e.like(g, 1.0 - beta1)));
  Value v = e.add(e.mul(getExpAvgSq(), e.like(g, beta2)),
                  e.mul(e.mul(g, g), e.like(g, 1.0 - beta2)));
  Value denominator = e.add(e.div(e.sqrt(v), e.broadcast(root, type, {})),
                            e.like(v, getEpsilon().convertToDouble()));
  if (decay != 0.0) {
    Value kept = e.sub(e.like(lr, 1.0), e.mul(lr, e.like(lr, decay)));
    p = e.mul(p, e.broadcast(kept, type, {}));
  }
  Value change = e.mul(e.broadcast(stepSize, type, {}), e.div(m, denominator));
  SmallVector<Value> results{e.sub(p, change), m, v};
  Value touched;
  for (Value indices : getTouched()) {
    Value named = buildTouched(builder, getLoc(), indices, /*batch=*/0,
                               type.getDimSize(0));
    touched = touched ? arith::OrIOp::create(builder, getLoc(), touched, named)
                      : named;
  }
  if (touched) {
    touched = e.broadcast(touched, type.clone(builder.getI1Type()), {0});
    Value old[] = {getParameter(), getExpAvg(), getExpAvgSq()};
    for (auto [result, kept] : llvm::zip_equal(results, old))
      result = e.select(touched, result, kept);
  }
  return results;
}
