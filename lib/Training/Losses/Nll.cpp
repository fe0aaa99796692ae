// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// torch.nn.functional.nll_loss: the prediction is log-probabilities.

#include "Losses.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::training;

namespace {
class Nll : public ClassLoss {
public:
  using ClassLoss::ClassLoss;

protected:
  Value buildRows(LossBuilder &b, Value scores, Value labels,
                  Value counted) override {
    auto type = cast<RankedTensorType>(scores.getType());
    Value index = graph::IotaOp::create(b.builder, b.loc,
                                        type.clone(b.builder.getI64Type()), 1);
    Value isLabel = b.compare(arith::CmpIPredicate::eq, index,
                              b.broadcast(labels, scores, {0}));
    Value picked =
        b.reduce(graph::ReduceKind::Sum,
                 b.select(isLabel, scores, b.splat(scores, 0.0)), {1});
    return b.select(counted, b.neg(picked), b.splat(picked, 0.0));
  }
};
} // namespace

std::unique_ptr<Loss> training::makeNll(const TrainingOptions &options) {
  return std::make_unique<Nll>(options);
}
