// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What passes say to each other about a graph.scan.

#ifndef BESSEMER_DIALECT_GRAPH_IR_SCAN_H
#define BESSEMER_DIALECT_GRAPH_IR_SCAN_H

#include "bessemer/Dialect/Graph/IR/Graph.h"

namespace bessemer::graph {

/// Attribute of a scan over the micro-batches of a batch. It is a loop so that
/// only one of them needs memory: nothing of it is computed for all at once.
inline constexpr llvm::StringLiteral kMicroBatchesAttr = "graph.micro_batches";

} // namespace bessemer::graph

#endif // BESSEMER_DIALECT_GRAPH_IR_SCAN_H
