// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of the Training stage. See Passes.td.

#ifndef BESSEMER_TRAINING_PASSES_H
#define BESSEMER_TRAINING_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <string>

namespace bessemer {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "bessemer/Training/Passes.h.inc"

} // namespace bessemer

#endif // BESSEMER_TRAINING_PASSES_H
