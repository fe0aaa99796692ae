// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How two evaluations differ, and which op is the first to compute something
// else.

#ifndef BESSEMER_LIB_REFERENCE_DIFFERENCE_H
#define BESSEMER_LIB_REFERENCE_DIFFERENCE_H

#include "bessemer/Reference/Tensor.h"
#include "mlir/IR/Value.h"
#include <optional>
#include <string>

namespace bessemer::reference {

/// The largest difference of two tensors as text, with both numbers and where
/// they are; nothing when it is within the tolerance: 1e-6 of the largest
/// magnitude in `before`.
std::optional<std::string> describeDifference(const Tensor &before,
                                              const Tensor &after);

/// The value of every op result of a function, in order.
using Trace = std::vector<std::pair<mlir::Value, Tensor>>;

/// The first op behind the pass that computes from values of before something
/// that was not a value of before.
struct Culprit {
  mlir::OpResult value;
  /// How it differs from the value it seems to stand for; empty when none does.
  std::string difference;
};

/// Looks for the op that makes `wrong`, a value of the function behind the
/// pass, differ. A value of it is right when one of `before` has the same
/// elements; the search goes from `wrong` up through values that are not.
std::optional<Culprit> findCulprit(mlir::Value wrong, const Trace &before,
                                   const Trace &after);

} // namespace bessemer::reference

#endif // BESSEMER_LIB_REFERENCE_DIFFERENCE_H
