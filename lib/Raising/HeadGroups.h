// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys and values that are repeated for the heads of a group.

#ifndef BESSEMER_LIB_RAISING_HEADGROUPS_H
#define BESSEMER_LIB_RAISING_HEADGROUPS_H

#include "bessemer/Dialect/Graph/IR/StridedView.h"

namespace bessemer::raising {

/// A tensor [batch, groups, keys, size] that is part of another.
struct GroupedHeads {
  mlir::Value source;
  graph::StridedView view;
  llvm::SmallVector<int64_t> sizes;
};

/// What `value` [batch, heads, keys, size] repeats `count` times along its
/// heads, each head next to its copies.
std::optional<GroupedHeads> matchRepeatedHeads(mlir::Value value,
                                               int64_t count);

} // namespace bessemer::raising

#endif // BESSEMER_LIB_RAISING_HEADGROUPS_H
