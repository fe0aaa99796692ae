// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of differentiable ops: how to exercise each one.

#ifndef BESSEMER_TEST_UNIT_TRAINING_GRADIENTTABLE_H
#define BESSEMER_TEST_UNIT_TRAINING_GRADIENTTABLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <vector>

namespace bessemer::test {

/// A value to differentiate with respect to: `%name` in the body, of type
/// tensor<shape x f64>, with elements drawn from [low, high).
struct Variable {
  const char *name;
  const char *shape;
  double low = -1.0;
  double high = 1.0;
};

/// The body computes values from the variables (and may use `%step`); the
/// gradient of a weighted sum of its outputs is compared with central
/// differences.
struct GradientCase {
  /// The op that the case is about: "graph.softmax".
  const char *op;
  std::vector<Variable> variables;
  const char *body;
  /// Names and types of the values to sum: {"%y", "tensor<3x4xf64>"}.
  std::vector<std::pair<const char *, const char *>> outputs;
  double step = 1e-5;
  double tolerance = 1e-6;
};

llvm::ArrayRef<GradientCase> gradientTable();

} // namespace bessemer::test

#endif // BESSEMER_TEST_UNIT_TRAINING_GRADIENTTABLE_H
