// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Images laid out in blocks of channels, and the layouts of a convolution.

#include "bessemer/Dialect/Kern/IR/Kern.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::kern;

RankedTensorType kern::getBlockedType(RankedTensorType image) {
  ArrayRef<int64_t> shape = image.getShape();
  return image.clone(
      {shape[0], shape[1] / kChannelBlock, shape[2], shape[3], kChannelBlock});
}

RankedTensorType kern::getUnblockedType(RankedTensorType blocked) {
  ArrayRef<int64_t> shape = blocked.getShape();
  return blocked.clone({shape[0], shape[1] * shape[4], shape[2], shape[3]});
}

Value kern::buildBlocked(OpBuilder &builder, Location loc, Value image,
                         RankedTensorType blocked) {
  ArrayRef<int64_t> shape = blocked.getShape();
  Value split = graph::buildReshape(
      builder, loc, image, {shape[0], shape[1], shape[4], shape[2], shape[3]});
  return graph::TransposeOp::create(builder, loc, blocked, split,
                                    ArrayRef<int64_t>{0, 1, 3, 4, 2});
}

Value kern::buildUnblocked(OpBuilder &builder, Location loc, Value blocked) {
  auto type = cast<RankedTensorType>(blocked.getType());
  ArrayRef<int64_t> shape = type.getShape();
  auto split = type.clone({shape[0], shape[1], shape[4], shape[2], shape[3]});
  Value transposed = graph::TransposeOp::create(
      builder, loc, split, blocked, ArrayRef<int64_t>{0, 1, 4, 2, 3});
  return graph::buildReshape(builder, loc, transposed,
                             getUnblockedType(type).getShape());
}

//===----------------------------------------------------------------------===//
// ConvOp
//===----------------------------------------------------------------------===//

bool ConvOp::isBlocked(unsigned i) {
  return cast<LayoutAttr>(getLayouts()[i]).getFormat() != kRowLayout;
}

RankedTensorType ConvOp::getLogicalType(unsigned i) {
  auto type = cast<RankedTensorType>(
      i < getInputs().size() ? getInputs()[i].getType() : getType());
  if (!isBlocked(i))
    return type;
  return i == getRoles().w ? graph::getUnblockedWeights(type)
                           : getUnblockedType(type);
}

ConvOp::Roles ConvOp::getRoles() {
  unsigned result = getInputs().size();
  switch (getKind()) {
  case ConvKind::Forward:
    return {0, 1, result};
  case ConvKind::InputGrad:
    return {result, 1, 0};
  case ConvKind::WeightGrad:
    return {0, result, 1};
  }
  llvm_unreachable("unknown kind of convolution");
}
