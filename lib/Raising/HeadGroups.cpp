// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys and values that are repeated for the heads of a group: seen as [batch,
// groups, copies, keys, size], the copies have stride 0 in what a broadcast
// repeats.

#include "HeadGroups.h"
#include "Match.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::raising;

std::optional<GroupedHeads> raising::matchRepeatedHeads(Value value,
                                                        int64_t count) {
  SmallVector<int64_t> sizes(tensorOf(value).getShape());
  if (sizes[1] % count != 0)
    return std::nullopt;
  sizes[1] /= count;
  sizes.insert(sizes.begin() + 2, count);
  graph::StridedView view = graph::StridedView::rowMajor(sizes);
  while (Operation *op = value.getDefiningOp()) {
    std::optional<graph::StridedView> next = view.throughProducer(op, sizes);
    if (!next)
      return std::nullopt;
    view = *next;
    value = op->getOperand(0);
    if (view.strides[2] != 0)
      continue;
    view.strides.erase(view.strides.begin() + 2);
    sizes.erase(sizes.begin() + 2);
    return GroupedHeads{value, view, sizes};
  }
  return std::nullopt;
}
