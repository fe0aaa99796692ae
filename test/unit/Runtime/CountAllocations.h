// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces operator new of the test program, the runtime's library included.
#pragma once

#include <cstddef>

namespace bessemer::test {

/// Calls of operator new so far.
size_t allocationCount();

} // namespace bessemer::test
