// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A roofline: a kernel takes as long as its bytes or as its products.

#include "RecomputeCost.h"
#include "bessemer/Dialect/Kern/IR/Kern.h"
#include "bessemer/Memory/FunctionModel.h"
#include "bessemer/Memory/Operations.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace bessemer;

/// Floating-point operations that a core does while it moves one byte.
static constexpr double kOperationsPerByte = 8;
/// Bytes that it moves while it waits for a launch.
static constexpr double kBytesPerLaunch = 1 << 16;

static double operationsOf(Operation *op) {
  if (auto gemm = dyn_cast<kern::GemmOp>(op)) {
    return gemmOperations(gemm.getBounds()) * double(gemm.getK());
  }
  if (auto conv = dyn_cast<kern::ConvOp>(op)) {
    kern::ConvOp::Roles roles = conv.getRoles();
    return convolutionOperations(conv.getLogicalType(roles.y).getShape(),
                                 conv.getLogicalType(roles.w).getShape());
  }
  if (isa<kern::AttentionOp, kern::AttentionGradOp>(op)) {
    auto bounds = op->getAttrOfType<DenseI64ArrayAttr>("bounds").asArrayRef();
    // [batch, heads, groups, queries, keys, depth, width]; two products
    // forward, five backward.
    double products = isa<kern::AttentionOp>(op) ? 2 : 5;
    return products * double(bounds[0] * bounds[1]) *
           double(bounds[3] * bounds[4]) * double(bounds[5] + bounds[6]);
  }
  return 0;
}

bool bessemer::isRepeatable(Operation *op) {
  return isa<kern::KernelOpInterface>(op) &&
         !isa<kern::UpdateOp, kern::TableUpdateOp>(op);
}

double bessemer::kernelCost(Operation *op) {
  double bytes = 0;
  llvm::SmallPtrSet<Value, 8> seen;
  auto add = [&](Value value) {
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      if (seen.insert(value).second)
        bytes += double(byteSize(type));
  };
  llvm::for_each(op->getOperands(), add);
  llvm::for_each(op->getResults(), add);
  return kBytesPerLaunch +
         std::max(bytes, operationsOf(op) / kOperationsPerByte);
}
