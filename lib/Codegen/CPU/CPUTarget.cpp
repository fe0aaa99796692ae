// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of CPU targets.

#include "bessemer/Codegen/CPU/CPUTarget.h"

using namespace mlir;
using namespace bessemer::cpu;

static constexpr CPUTarget kTargets[] = {{"x86-64-v3", 8, 2},
                                         {"x86-64-v4", 16, 3}};

int64_t CPUTarget::getTileRows(int64_t vectors) const {
  // 16 registers: 6x2 accumulators + 2 of B + 1 broadcast. 32 registers: 8x3
  // (14x2 is as fast, but its rows exceed the ways of L1 when K is a power of
  // two); the broadcasts of A are memory operands there.
  if (lanes == 8)
    return vectors == 1 ? 10 : 6;
  return vectors == 1 ? 14 : vectors == 2 ? 12 : 8;
}

FailureOr<CPUTarget> bessemer::cpu::getCPUTarget(StringRef name) {
  for (const CPUTarget &target : kTargets)
    if (target.name == name)
      return target;
  return failure();
}

ArrayRef<CPUTarget> bessemer::cpu::getCPUTargets() { return kTargets; }
