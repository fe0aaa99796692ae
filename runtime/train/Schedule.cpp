// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Learning-rate schedules.
#include "bessemer/runtime/Trainer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace bessemer::runtime {

double Schedule::at(uint64_t step) const {
  if (step < warmupSteps)
    return learningRate * static_cast<double>(step + 1) /
           static_cast<double>(warmupSteps);
  if (kind == ScheduleKind::Constant || totalSteps <= warmupSteps)
    return learningRate;
  double progress = static_cast<double>(step - warmupSteps) /
                    static_cast<double>(totalSteps - warmupSteps);
  return learningRate *
         (1 + std::cos(std::numbers::pi * std::min(progress, 1.0))) / 2;
}

std::optional<ScheduleKind> scheduleFromName(std::string_view name) {
  if (name == "constant")
    return ScheduleKind::Constant;
  if (name == "cosine")
    return ScheduleKind::Cosine;
  return std::nullopt;
}

} // namespace bessemer::runtime
