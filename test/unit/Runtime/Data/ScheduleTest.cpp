// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Learning rates against PyTorch 2.13.
#include "bessemer/runtime/Trainer.h"

#include <gtest/gtest.h>

using namespace bessemer::runtime;

namespace {

void expectRates(const Schedule &schedule, const std::vector<double> &rates) {
  for (size_t step = 0; step < rates.size(); ++step)
    EXPECT_NEAR(schedule.at(step), rates[step], 1e-11) << step;
}

} // namespace

// The numbers are optimizer.param_groups[0]["lr"] at each step of
//   SequentialLR(SGD(lr=0.1), [LinearLR(start_factor=1/W, total_iters=W-1),
//                MAIN], milestones=[W])
// with MAIN = CosineAnnealingLR(T_max=T-W) or ConstantLR(factor=1).
TEST(Schedule, CosineWithWarmUp) {
  expectRates({ScheduleKind::Cosine, 0.1, 4, 12},
              {0.025, 0.05, 0.075, 0.1, 0.1, 0.0961939766256, 0.0853553390593,
               0.0691341716183, 0.05, 0.0308658283817, 0.0146446609407,
               0.00380602337444});
}

TEST(Schedule, CosineAlone) {
  expectRates({ScheduleKind::Cosine, 0.1, 0, 6},
              {0.1, 0.0933012701892, 0.075, 0.05, 0.025, 0.00669872981078});
}

TEST(Schedule, ConstantWithWarmUp) {
  expectRates({ScheduleKind::Constant, 0.1, 4, 8},
              {0.025, 0.05, 0.075, 0.1, 0.1, 0.1, 0.1, 0.1});
}

TEST(Schedule, WarmUpMayTakeTheWholeRun) {
  Schedule schedule{ScheduleKind::Cosine, 0.1, 5, 5};
  EXPECT_NEAR(schedule.at(4), 0.1, 1e-12);
  EXPECT_NEAR(schedule.at(5), 0.1, 1e-12);
}

TEST(Schedule, HasNames) {
  EXPECT_EQ(scheduleFromName("cosine"), ScheduleKind::Cosine);
  EXPECT_EQ(scheduleFromName("constant"), ScheduleKind::Constant);
  EXPECT_FALSE(scheduleFromName("linear"));
}
