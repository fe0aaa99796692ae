// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration of everything the compiler has.

#ifndef BESSEMER_PIPELINES_REGISTER_H
#define BESSEMER_PIPELINES_REGISTER_H

#include "mlir/IR/DialectRegistry.h"

namespace bessemer {

/// Registers Bessemer's dialects, the upstream dialects they use and the
/// external models of upstream ops.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers every pass for use by name.
void registerAllPasses();

/// Registers `test-fail`, which fails in the way that it is told, so that what
/// follows can be tested.
void registerFailurePass();

} // namespace bessemer

#endif // BESSEMER_PIPELINES_REGISTER_H
