// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folders of graph ops.

#include "bessemer/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace bessemer::graph;

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getInput().getType() == getType())
    return getInput();
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getInput()))
    return splat.resizeSplat(cast<ShapedType>(getType()));
  return {};
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  bool identity = true;
  for (auto [index, dim] : llvm::enumerate(getPermutation()))
    identity &= static_cast<int64_t>(index) == dim;
  if (identity)
    return getInput();
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getInput()))
    return splat.resizeSplat(cast<ShapedType>(getType()));
  return {};
}
