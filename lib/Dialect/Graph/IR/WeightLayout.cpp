// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights of convolutions laid out in blocks of channels.

#include "bessemer/Dialect/Graph/IR/Graph.h"

using namespace mlir;

namespace bessemer::graph {

static constexpr int64_t kBlock = 16;

RankedTensorType getBlockedWeights(RankedTensorType weights) {
  if (weights.getRank() != 4 || !weights.getElementType().isF32())
    return nullptr;
  ArrayRef<int64_t> shape = weights.getShape();
  if (shape[0] % kBlock || shape[1] % kBlock)
    return nullptr;
  return weights.clone({shape[0] / kBlock, shape[1] / kBlock, shape[2],
                        shape[3], kBlock, kBlock});
}

RankedTensorType getUnblockedWeights(RankedTensorType blocked) {
  ArrayRef<int64_t> shape = blocked.getShape();
  return blocked.clone(
      {shape[0] * shape[5], shape[1] * shape[4], shape[2], shape[3]});
}

Value buildBlockedWeights(OpBuilder &builder, Location loc, Value weights) {
  RankedTensorType blocked =
      getBlockedWeights(cast<RankedTensorType>(weights.getType()));
  ArrayRef<int64_t> shape = blocked.getShape();
  Value split = buildReshape(
      builder, loc, weights,
      {shape[0], shape[5], shape[1], shape[4], shape[2], shape[3]});
  return TransposeOp::create(builder, loc, blocked, split,
                             ArrayRef<int64_t>{0, 2, 4, 5, 3, 1});
}

Value buildUnblockedWeights(OpBuilder &builder, Location loc, Value blocked) {
  auto type = cast<RankedTensorType>(blocked.getType());
  ArrayRef<int64_t> shape = type.getShape();
  auto split =
      type.clone({shape[0], shape[5], shape[1], shape[4], shape[2], shape[3]});
  Value transposed = TransposeOp::create(builder, loc, split, blocked,
                                         ArrayRef<int64_t>{0, 5, 1, 4, 2, 3});
  return buildReshape(builder, loc, transposed,
                      getUnblockedWeights(type).getShape());
}

} // namespace bessemer::graph
