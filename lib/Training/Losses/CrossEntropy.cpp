// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// torch.nn.functional.cross_entropy: the prediction is logits.

#include "Losses.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::training;

namespace {
class CrossEntropy : public ClassLoss {
public:
  explicit CrossEntropy(const TrainingOptions &options)
      : ClassLoss(options), labelSmoothing(options.labelSmoothing) {}

protected:
  Value buildRows(LossBuilder &b, Value scores, Value labels, Value) override {
    auto op = graph::CrossEntropyOp::create(
        b.builder, b.loc,
        TypeRange{labelsAsFloat(b, labels), labelsAsFloat(b, labels)}, scores,
        labels, b.builder.getI64IntegerAttr(ignoreIndex),
        b.builder.getF64FloatAttr(labelSmoothing));
    return op.getLoss();
  }

private:
  static Type labelsAsFloat(LossBuilder &b, Value labels) {
    return cast<RankedTensorType>(labels.getType())
        .clone(b.builder.getF32Type());
  }

  double labelSmoothing;
};
} // namespace

std::unique_ptr<Loss>
training::makeCrossEntropy(const TrainingOptions &options) {
  return std::make_unique<CrossEntropy>(options);
}
