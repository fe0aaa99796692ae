// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// torch.nn.functional.mse_loss.

#include "Losses.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::training;

namespace {
class Mse : public PointwiseLoss {
public:
  using PointwiseLoss::PointwiseLoss;

protected:
  Value buildElements(LossBuilder &b, Value prediction, Value labels) override {
    Value difference = b.sub(prediction, labels);
    return b.mul(difference, difference);
  }
};
} // namespace

std::unique_ptr<Loss> training::makeMse() {
  return std::make_unique<Mse>("mse");
}
