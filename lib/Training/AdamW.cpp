// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// torch.optim.AdamW.

#include "Optimizers.h"
#include <cmath>

using namespace mlir;
using namespace bessemer;
using namespace bessemer::training;

namespace {
class AdamW : public Optimizer {
public:
  explicit AdamW(const OptimizerOptions &options) : options(options) {}

  SmallVector<StringRef> getMoments() const override {
    return {"adamw.exp_avg", "adamw.exp_avg_sq"};
  }

  void begin(OpBuilder &builder, Location loc,
             const UpdateScalars &shared) override {
    scalars = shared;
    auto integer = RankedTensorType::get({}, builder.getI64Type());
    auto wide = RankedTensorType::get({}, builder.getF64Type());
    Value one = graph::buildSplat(builder, loc, integer, 1.0);
    Value count = arith::AddIOp::create(builder, loc, shared.updates, one);
    Value time = arith::SIToFPOp::create(builder, loc, wide, count);
    // 1 - beta^t, in f64: in f32 the difference loses its digits while t is
    // small.
    auto correction = [&](double beta) -> Value {
      auto narrow = RankedTensorType::get({}, builder.getF32Type());
      if (beta == 0.0) // log(0)
        return graph::buildSplat(builder, loc, narrow, 1.0);
      Value exponent = arith::MulFOp::create(
          builder, loc, time,
          graph::buildSplat(builder, loc, wide, std::log(beta)));
      Value power = math::ExpOp::create(builder, loc, exponent);
      Value difference = arith::SubFOp::create(
          builder, loc, graph::buildSplat(builder, loc, wide, 1.0), power);
      return arith::TruncFOp::create(builder, loc, narrow, difference);
    };
    correction1 = correction(options.beta1);
    correction2 = correction(options.beta2);
  }

  SmallVector<Value> build(OpBuilder &builder, Location loc, Value parameter,
                           Value gradient, ArrayRef<Value> moments,
                           ArrayRef<Value> touched) override {
    Type type = parameter.getType();
    auto attribute = [&](double value) {
      return builder.getF64FloatAttr(value);
    };
    auto op = graph::AdamWOp::create(
        builder, loc, type, type, type, parameter, gradient, moments[0],
        moments[1], scalars.learningRate, scalars.gradientScale, correction1,
        correction2, touched, attribute(options.beta1),
        attribute(options.beta2), attribute(options.epsilon),
        attribute(options.getWeightDecay()));
    return SmallVector<Value>(op->getResults());
  }

private:
  OptimizerOptions options;
  UpdateScalars scalars;
  Value correction1, correction2;
};
} // namespace

std::unique_ptr<Optimizer>
training::makeAdamW(const OptimizerOptions &options) {
  return std::make_unique<AdamW>(options);
}
