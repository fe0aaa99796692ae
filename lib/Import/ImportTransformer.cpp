// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Norms over the last dimensions.

#include "NodeImport.h"

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

/// Operand `i` (a scale or bias) with the last dimensions of operand 0, from
/// `axis` on.
static FailureOr<Value> normParameter(NodeImport &n, size_t i, int64_t axis) {
  if (failed(n.requireSameType(0, i)))
    return failure();
  ArrayRef<int64_t> inner = n.shape(0).drop_front(axis);
  int64_t shift = static_cast<int64_t>(inner.size()) - n.rank(i);
  bool fits = shift >= 0;
  for (int64_t dim = 0; fits && dim < n.rank(i); ++dim)
    fits = n.shape(i)[dim] == 1 || n.shape(i)[dim] == inner[shift + dim];
  if (!fits)
    return n.fail("expected input '" + n.node.input(i) +
                  "' to broadcast to the normalised dimensions");
  return n.broadcastTo(i, inner);
}

/// A statistic per row, with the normalised dimensions kept.
static Value keptStatistic(NodeImport &n, Value statistic, int64_t axis) {
  SmallVector<int64_t> shape(n.shape(0).take_front(axis));
  shape.resize(n.rank(0), 1);
  return n.reshape(statistic, shape);
}

template <bool isCentred>
static LogicalResult importLastDimsNorm(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  auto axis = n.axis(intAttribute(n.node, "axis", -1), n.rank(0));
  if (failed(axis))
    return failure();
  auto scale = normParameter(n, 1, *axis);
  if (failed(scale))
    return failure();
  FailureOr<double> given = n.epsilon();
  if (failed(given))
    return failure();
  double epsilon = *given;
  if (!isCentred) {
    n.setResult(
        graph::RmsNormOp::create(n.builder, n.loc, n.value(0), *scale, epsilon)
            .getResult());
    return success();
  }
  Value bias;
  if (n.has(2)) {
    auto given = normParameter(n, 2, *axis);
    if (failed(given))
      return failure();
    bias = *given;
  }
  auto norm = graph::LayerNormOp::create(n.builder, n.loc, n.value(0), *scale,
                                         bias, epsilon);
  n.setResults({norm.getResult(), keptStatistic(n, norm.getMean(), *axis),
                keptStatistic(n, norm.getRstd(), *axis)});
  return success();
}

void ingest::addTransformerHandlers(HandlerTable &table) {
  table["LayerNormalization"] = importLastDimsNorm</*isCentred=*/true>;
  table["RMSNormalization"] = importLastDimsNorm</*isCentred=*/false>;
}
