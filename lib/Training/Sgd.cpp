// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// torch.optim.SGD.

#include "Optimizers.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::training;

namespace {
class Sgd : public Optimizer {
public:
  explicit Sgd(const OptimizerOptions &options) : options(options) {}

  SmallVector<StringRef> getMoments() const override {
    if (options.momentum == 0.0)
      return {};
    return {"sgd.momentum_buffer"};
  }

  void begin(OpBuilder &builder, Location loc,
             const UpdateScalars &shared) override {
    scalars = shared;
    auto type = RankedTensorType::get({}, builder.getF32Type());
    if (options.momentum == 0.0) {
      // Only the buffer's first value needs to know.
      first = graph::buildSplat(builder, loc, type, 0.0);
      return;
    }
    Value zero = graph::buildSplat(
        builder, loc, RankedTensorType::get({}, builder.getI64Type()), 0.0);
    Value isFirst = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::eq, shared.updates, zero);
    first = arith::SelectOp::create(builder, loc, isFirst,
                                    graph::buildSplat(builder, loc, type, 1.0),
                                    graph::buildSplat(builder, loc, type, 0.0));
  }

  SmallVector<Value> build(OpBuilder &builder, Location loc, Value parameter,
                           Value gradient, ArrayRef<Value> moments,
                           ArrayRef<Value>) override {
    Value buffer = moments.empty() ? Value() : moments.front();
    SmallVector<Type> types(1 + moments.size(), parameter.getType());
    auto attribute = [&](double value) {
      return builder.getF64FloatAttr(value);
    };
    auto op = graph::SgdOp::create(
        builder, loc, types[0], buffer ? types[1] : Type(), parameter, gradient,
        scalars.learningRate, scalars.gradientScale, first, buffer,
        attribute(options.momentum), attribute(options.dampening),
        attribute(options.getWeightDecay()),
        options.nesterov ? builder.getUnitAttr() : UnitAttr());
    return SmallVector<Value>(op->getResults());
  }

private:
  OptimizerOptions options;
  UpdateScalars scalars;
  Value first;
};
} // namespace

std::unique_ptr<Optimizer> training::makeSgd(const OptimizerOptions &options) {
  return std::make_unique<Sgd>(options);
}
