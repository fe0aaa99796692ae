// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs of elements that are next to each other in memory.

#ifndef BESSEMER_DIALECT_KERN_IR_RUNS_H
#define BESSEMER_DIALECT_KERN_IR_RUNS_H

#include <cstdint>

namespace bessemer::kern {

/// The shortest dimension that kernels put a vector along, where another one
/// has more elements: two or three are no vector.
inline constexpr int64_t kShortestRun = 4;

} // namespace bessemer::kern

#endif // BESSEMER_DIALECT_KERN_IR_RUNS_H
