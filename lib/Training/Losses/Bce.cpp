// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// torch.nn.functional.binary_cross_entropy: the prediction is probabilities.

#include "Losses.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::training;

namespace {
class Bce : public PointwiseLoss {
public:
  using PointwiseLoss::PointwiseLoss;

protected:
  /// log(p), at least -100 as in PyTorch. Zero is kept out of the logarithm, so
  /// that its gradient there is 0 and not 0 / 0.
  static Value clampedLog(LossBuilder &b, Value p) {
    Value zero = b.splat(p, 0.0), lowest = b.splat(p, -100.0);
    Value isZero = b.compare(arith::CmpFPredicate::OLE, p, zero);
    Value safe = b.select(isZero, b.splat(p, 1.0), p);
    Value log = b.op<math::LogOp>(safe);
    Value clamped = b.op<arith::MaximumFOp>({log, lowest});
    return b.select(isZero, lowest, clamped);
  }

  Value buildElements(LossBuilder &b, Value prediction, Value labels) override {
    Value one = b.splat(prediction, 1.0);
    Value positive = b.mul(labels, clampedLog(b, prediction));
    Value negative =
        b.mul(b.sub(one, labels), clampedLog(b, b.sub(one, prediction)));
    return b.neg(b.add(positive, negative));
  }
};
} // namespace

std::unique_ptr<Loss> training::makeBce() {
  return std::make_unique<Bce>("bce");
}
