// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Progress.h"
#include "Text.h"

#include <algorithm>
#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>

namespace bessemer::tool {
namespace {

size_t terminalWidth() {
  winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20)
    return size.ws_col;
  return 80;
}

} // namespace

Progress::Progress(std::string unit, uint64_t totalSteps,
                   uint64_t stepsPerEpoch, uint64_t firstStep)
    : unit(std::move(unit)),
      epochs((totalSteps + stepsPerEpoch - 1) / stepsPerEpoch),
      stepsPerEpoch(stepsPerEpoch), firstStep(firstStep),
      terminal(::isatty(STDOUT_FILENO)) {}

void Progress::clear() {
  if (drawn)
    std::printf("\r\033[K");
  drawn = false;
  std::fflush(stdout);
}

void Progress::line(const std::string &text) {
  clear();
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

std::string Progress::timeLeft(uint64_t step, uint64_t totalSteps) const {
  double spent = std::chrono::duration<double>(Clock::now() - began).count();
  double done = static_cast<double>(step - firstStep);
  return durationText(spent / std::max(done, 1.0) *
                      static_cast<double>(totalSteps - step));
}

void Progress::draw(uint64_t step, uint64_t totalSteps) {
  std::string text = "epoch " + std::to_string((step - 1) / stepsPerEpoch + 1) +
                     "/" + std::to_string(epochs);
  std::string tail = " " + std::to_string(step * 100 / totalSteps) + "%";
  if (last)
    tail += "  loss " + shortNumber(last->loss) + "  " +
            std::to_string(static_cast<long>(last->samplesPerSecond)) + " " +
            unit + "/s";
  tail += "  " + timeLeft(step, totalSteps) + " left";
  size_t used = text.size() + tail.size() + 4, width = terminalWidth();
  if (used + 5 < width) {
    size_t room = std::min<size_t>(width - used - 1, 40);
    size_t full = step * room / totalSteps;
    text += " [" + std::string(full, '#') + std::string(room - full, '.') + "]";
  }
  text += tail;
  text.resize(std::min(text.size(), width - 1));
  std::printf("\r%s\033[K", text.c_str());
  std::fflush(stdout);
  drawn = true;
}

void Progress::onStep(uint64_t step, uint64_t totalSteps) {
  if (!terminal)
    return;
  Clock::time_point now = Clock::now();
  if (now - lastDraw < std::chrono::milliseconds(100) && step != totalSteps)
    return;
  lastDraw = now;
  draw(step, totalSteps);
}

void Progress::onReport(const runtime::StepReport &report) {
  last = report;
  if (terminal)
    return;
  std::string text =
      "step " + std::to_string(report.step) + "/" +
      std::to_string(report.totalSteps) + "  epoch " +
      std::to_string(report.epoch) + "/" + std::to_string(epochs) + "  loss " +
      shortNumber(report.loss) + "  lr " + shortNumber(report.learningRate);
  if (report.gradNorm)
    text += "  grad norm " + shortNumber(*report.gradNorm);
  line(text + "  " +
       std::to_string(static_cast<long>(report.samplesPerSecond)) + " " + unit +
       "/s  " + timeLeft(report.step, report.totalSteps) + " left");
}

void Progress::onEvaluation(uint64_t step, uint64_t epoch,
                            const runtime::Evaluation &evaluation, bool best) {
  std::string text = "step " + std::to_string(step) + "  epoch " +
                     std::to_string(epoch) + "/" + std::to_string(epochs);
  // That of an earlier step says nothing of this epoch.
  if (last && last->step == step)
    text += "  train loss " + shortNumber(last->loss);
  text += "  eval loss " + shortNumber(evaluation.loss);
  if (evaluation.accuracy)
    text += "  accuracy " + shortNumber(*evaluation.accuracy * 100) + " %";
  line(text + (best ? "  (best)" : ""));
}

void Progress::onCheckpoint(const std::string &directory, uint64_t step) {
  if (!terminal)
    line("step " + std::to_string(step) + "  checkpoint " + directory);
}

} // namespace bessemer::tool
