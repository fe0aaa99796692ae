// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// torch.nn.functional.binary_cross_entropy_with_logits.

#include "Losses.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::training;

namespace {
class BceWithLogits : public PointwiseLoss {
public:
  using PointwiseLoss::PointwiseLoss;

protected:
  Value buildElements(LossBuilder &b, Value x, Value y) override {
    // max(x, 0) - x y + log(1 + exp(-|x|)). The maximum is (x + |x|) / 2, which
    // is exact and has gradient 1/2 at 0, as the whole needs there: 1/2 - y.
    Value magnitude = b.op<math::AbsFOp>(x);
    Value positive = b.mul(b.add(x, magnitude), b.splat(x, 0.5));
    Value tail = b.op<math::Log1pOp>(b.op<math::ExpOp>(b.neg(magnitude)));
    return b.add(b.sub(positive, b.mul(x, y)), tail);
  }
};
} // namespace

std::unique_ptr<Loss> training::makeBceWithLogits() {
  return std::make_unique<BceWithLogits>("bce_with_logits");
}
