// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kern-verify pass: what the kern level may no longer hold.

#include "Blocks.h"
#include "FamilyTable.h"
#include "bessemer/Fusion/Passes.h"

namespace bessemer {
#define GEN_PASS_DEF_KERNVERIFY
#include "bessemer/Fusion/Passes.h.inc"
} // namespace bessemer

using namespace mlir;
using namespace bessemer;
using namespace bessemer::fusion;

namespace {
struct KernVerify : bessemer::impl::KernVerifyBase<KernVerify> {
  void runOnOperation() override {
    bool legal = true;
    for (Block *block : blocksOf(getOperation()))
      for (Operation &op : *block) {
        std::optional<Family> family = getFamily(&op);
        bool stays = family == Family::Alias || family == Family::Constant ||
                     family == Family::Boundary;
        if (stays || isa<kern::KernelOpInterface>(op))
          continue;
        op.emitOpError("may not exist after the kern level is complete: "
                       "expected a kernel, a reshape, a constant, or a state "
                       "or step op");
        legal = false;
      }
    if (!legal)
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
