// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds an order of a function's nodes that needs little memory.

#ifndef BESSEMER_MEMORY_SCHEDULEORDER_H
#define BESSEMER_MEMORY_SCHEDULEORDER_H

#include "bessemer/Memory/Liveness.h"

namespace bessemer {

/// Returns the order with the lowest liveness bound (sizes rounded up) among
/// several list schedules and moves of single nodes; among equal ones the one
/// that copies fewer bytes, then program order. It is never worse than program
/// order. Deterministic. Finding the best order is NP-hard.
NodeOrder scheduleOrder(const MemoryProblem &problem);

} // namespace bessemer

#endif // BESSEMER_MEMORY_SCHEDULEORDER_H
