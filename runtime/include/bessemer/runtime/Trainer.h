// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Training runs: steps over batches, schedules, evaluation, checkpoints.
#pragma once

#include "bessemer/runtime/BatchLoader.h"
#include "bessemer/runtime/Checkpoint.h"
#include "bessemer/runtime/Session.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace bessemer::runtime {

enum class ScheduleKind { Constant, Cosine };

/// The learning rate of each step, t counting from 0, with W warm-up steps of
/// T in all:
///   t < W             base * (t + 1) / W
///   constant, t >= W  base
///   cosine,   t >= W  base * (1 + cos(pi * (t - W) / (T - W))) / 2
/// as PyTorch's SequentialLR([LinearLR(start_factor=1/W, total_iters=W-1),
/// CosineAnnealingLR(T_max=T-W)], milestones=[W]) with a step() per batch.
struct Schedule {
  ScheduleKind kind = ScheduleKind::Constant;
  double learningRate = 0;
  uint64_t warmupSteps = 0, totalSteps = 0;

  double at(uint64_t step) const;
};

/// "constant", "cosine"; nothing for another name.
std::optional<ScheduleKind> scheduleFromName(std::string_view name);

struct Evaluation {
  /// Mean over all rows that count.
  double loss = 0;
  double count = 0;
  /// Share of rows whose largest output is the label; classification only.
  std::optional<double> accuracy;
  /// The first batch whose loss is not finite, from 0.
  std::optional<uint64_t> nonfiniteBatch;
};

/// Whether eval_step can take these rows: a model that computes its own loss
/// (setting loss = output) cannot mask the padding of a last batch.
Status checkEvaluation(const Session &session, const BoundData &data);

/// Runs eval_step over all rows. `stop` non-zero ends it early with an error.
Expected<Evaluation> evaluate(Session &session,
                              std::shared_ptr<const BoundData> data,
                              const std::atomic<int> *stop = nullptr);

/// A mean that is no number measures nothing, as in a training step: the error
/// names the rows of the first batch that makes it one.
Status requireFiniteLoss(const Evaluation &result, const BoundData &data);

/// What is known after a step that was looked at.
struct StepReport {
  /// Steps done, of how many; epochs begun.
  uint64_t step = 0, totalSteps = 0, epoch = 0;
  double loss = 0, learningRate = 0;
  std::optional<double> gradNorm;
  /// Since the last report, evaluation and checkpoints not counted.
  double samplesPerSecond = 0;
};

/// Hears of a run's progress in the thread that runs it.
class TrainerListener {
public:
  virtual ~TrainerListener() = default;
  /// After every step; costs nothing on the device.
  virtual void onStep(uint64_t /*step*/, uint64_t /*totalSteps*/) {}
  virtual void onReport(const StepReport &) {}
  virtual void onEvaluation(uint64_t /*step*/, uint64_t /*epoch*/,
                            const Evaluation &, bool /*best*/) {}
  virtual void onCheckpoint(const std::string & /*directory*/,
                            uint64_t /*step*/) {}
};

struct TrainerOptions {
  Schedule schedule;
  uint64_t seed = 0;
  /// The loss is read and checked each so many steps.
  uint64_t logEvery = 100;
  /// "last" and "best" are made in it; none are made when empty.
  std::string checkpointDirectory;
  /// 0: only at the end.
  uint64_t checkpointEvery = 0;
  enum class Best { None, Loss, Accuracy };
  Best keepBest = Best::None;
  /// Where metrics.csv and metrics.jsonl go; none when empty.
  std::string logDirectory;
  /// Written to checkpoints for the next run.
  std::map<std::string, std::string> settings;
  /// Non-zero: finish the step, write a checkpoint, return.
  const std::atomic<int> *stop = nullptr;
};

struct TrainSummary {
  uint64_t step = 0;
  bool interrupted = false;
  /// Of the last step; nothing when none ran.
  std::optional<double> loss;
  std::optional<Evaluation> evaluation;
  std::optional<double> best;
  double seconds = 0, samplesPerSecond = 0;
};

/// What train() refuses before its first step: options that do not fit each
/// other, other data than the checkpoint's, another program than its own.
Status checkTraining(const Session &session, const BoundData &data,
                     const BoundData *evalData, const TrainerOptions &options,
                     const std::optional<TrainerState> &resume);

/// Trains from `resume` (or from the start) to schedule.totalSteps. Evaluates
/// on `evalData` (may be null) after each epoch and at the end. The session
/// must already hold the state that `resume` belongs to. A loss that is not
/// finite, also of an evaluation, ends the run with an error that names the
/// step; checkpoints and metrics from before it stay.
Expected<TrainSummary>
train(Session &session, std::shared_ptr<const BoundData> data,
      std::shared_ptr<const BoundData> evalData, const TrainerOptions &options,
      const std::optional<TrainerState> &resume, TrainerListener &listener);

} // namespace bessemer::runtime
