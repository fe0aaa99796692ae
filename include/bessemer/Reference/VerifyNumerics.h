// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `--verify-numerics`: every pass must keep what the functions compute.

#ifndef BESSEMER_REFERENCE_VERIFYNUMERICS_H
#define BESSEMER_REFERENCE_VERIFYNUMERICS_H

#include "mlir/Pass/PassManager.h"

namespace bessemer {

/// Adds an instrumentation to `manager` that evaluates the functions of the
/// module before and after every pass, on fixed random inputs and states, and
/// reports as an error of the module the first pass after which a result or a
/// written state differs: pass, function, result and largest difference. It
/// works on the graph and kern levels; a module that holds no function of these
/// (exec) is passed over. A function that a pass adds or removes is not
/// compared.
///
/// Values are float64 in both evaluations, so what differs is the order of
/// operations only: the tolerance is 1e-6 of the largest magnitude in the
/// tensor.
void addNumericsVerification(mlir::PassManager &manager);

} // namespace bessemer

#endif // BESSEMER_REFERENCE_VERIFYNUMERICS_H
