// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of the Reference library, which test the compiler.

#ifndef BESSEMER_REFERENCE_PASSES_H
#define BESSEMER_REFERENCE_PASSES_H

namespace bessemer {

/// Registers `test-break-numerics`, which makes a module wrong on purpose, so
/// that --verify-numerics can be seen to notice.
void registerReferencePasses();

} // namespace bessemer

#endif // BESSEMER_REFERENCE_PASSES_H
