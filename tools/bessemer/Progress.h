// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a training run shows: a bar on a terminal, plain lines elsewhere.
#pragma once

#include "bessemer/runtime/Trainer.h"

#include <chrono>
#include <optional>
#include <string>

namespace bessemer::tool {

class Progress : public runtime::TrainerListener {
public:
  /// `unit` is what a row is, e.g. "images". A resumed run begins at
  /// `firstStep`.
  Progress(std::string unit, uint64_t totalSteps, uint64_t stepsPerEpoch,
           uint64_t firstStep);

  void onStep(uint64_t step, uint64_t totalSteps) override;
  void onReport(const runtime::StepReport &report) override;
  void onEvaluation(uint64_t step, uint64_t epoch,
                    const runtime::Evaluation &evaluation, bool best) override;
  void onCheckpoint(const std::string &directory, uint64_t step) override;

  /// Takes the bar away, so that other lines can be printed.
  void clear();

private:
  using Clock = std::chrono::steady_clock;
  std::string timeLeft(uint64_t step, uint64_t totalSteps) const;
  void draw(uint64_t step, uint64_t totalSteps);
  void line(const std::string &text);

  std::string unit;
  uint64_t epochs, stepsPerEpoch, firstStep;
  bool terminal, drawn = false;
  Clock::time_point began = Clock::now(), lastDraw;
  std::optional<runtime::StepReport> last;
};

} // namespace bessemer::tool
