// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `--verify-numerics`: every pass must keep what the functions compute.

#ifndef BESSEMER_REFERENCE_VERIFYNUMERICS_H
#define BESSEMER_REFERENCE_VERIFYNUMERICS_H

#include "mlir/Pass/PassManager.h"
#include <memory>

namespace bessemer {

/// What the verification found, readable when the pass manager has run.
struct NumericsReport {
  /// A pass changed a result; an error was reported that names it.
  bool differs = false;
  /// How often functions were compared.
  int64_t comparisons = 0;
};

/// Adds an instrumentation to `manager` that evaluates the functions of the
/// module before and after every pass, on fixed random inputs and states, and
/// reports the first pass after which a result or a written state differs:
/// pass, function, result and largest difference, and the first op that
/// computes something else than before, at whose location the error is. An
/// instrumentation cannot stop a pipeline, so look at the report afterwards.
///
/// A function is evaluated again when a pass has changed it; contractions and
/// convolutions with operands that were seen before are not computed again.
///
/// It works on the graph and kern levels; functions with ops of another level
/// are passed over, and a function, result or write that a pass adds or removes
/// is not compared. Results are matched by name, else by position.
///
/// Floats are double in both evaluations, so what may differ is the order of
/// operations and constants folded in their own type: the tolerance is 1e-6 of
/// the largest magnitude in the tensor. Turns multithreading of the context
/// off.
std::shared_ptr<const NumericsReport>
addNumericsVerification(mlir::PassManager &manager);

} // namespace bessemer

#endif // BESSEMER_REFERENCE_VERIFYNUMERICS_H
