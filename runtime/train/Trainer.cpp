// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The training loop.
#include "bessemer/runtime/Trainer.h"
#include "checkpoint/Publish.h"
#include "train/MetricsLog.h"
#include "train/Scalars.h"

#include <chrono>
#include <cmath>
#include <filesystem>

namespace bessemer::runtime {
namespace {

using namespace train_detail;
using Clock = std::chrono::steady_clock;
constexpr std::string_view function = "train_step";

/// Time spent on steps, evaluation and checkpoints left out.
class Stopwatch {
public:
  void start() { began = Clock::now(); }
  void stop() { spent += Clock::now() - began; }
  double seconds() const {
    return std::chrono::duration<double>(spent).count();
  }

private:
  Clock::time_point began;
  Clock::duration spent{};
};

class Run {
public:
  Run(Session &session, std::shared_ptr<const BoundData> data,
      std::shared_ptr<const BoundData> evalData, const TrainerOptions &options,
      const std::optional<TrainerState> &resume, TrainerListener &listener)
      : session(session), data(std::move(data)), evalData(std::move(evalData)),
        options(options), listener(listener) {
    if (resume) {
      state = *resume;
      resumeStep = state.step;
    }
    state.seed = options.seed;
    state.dataRows = static_cast<uint64_t>(this->data->rows());
    state.settings = options.settings;
    state.target = session.target();
    state.library = session.library();
    state.threads = session.threads();
    firstStep = reportedStep = state.step;
  }

  Expected<TrainSummary> run();

private:
  Status step();
  Status report();
  Status checkFinite(std::optional<double> loss);
  Status evaluateNow();
  Status save();
  Status saveTo(const char *name);

  bool stopping() const { return options.stop && *options.stop; }
  bool finished() const { return state.step >= options.schedule.totalSteps; }
  bool isEvaluationDue() const {
    return evalData && state.evaluatedStep != state.step;
  }
  /// Whether the next batch begins an epoch (and some batch came before).
  bool atEpochEnd() const {
    return state.step > 0 && state.dataRows - state.cursor.position <
                                 static_cast<uint64_t>(data->batch());
  }

  Session &session;
  std::shared_ptr<const BoundData> data, evalData;
  const TrainerOptions &options;
  TrainerListener &listener;
  TrainerState state;
  std::unique_ptr<BatchLoader> loader;
  std::unique_ptr<MetricsLog> log;
  TrainSummary summary;
  Stopwatch watch;
  uint64_t firstStep, reportedStep;
  /// Nothing in a run that does not resume; 0 is a step, too.
  std::optional<uint64_t> resumeStep;
  double reportedSeconds = 0;
  std::optional<uint64_t> savedStep;
  /// The first step whose labels were all ignored.
  std::optional<uint64_t> ignoredStep;
};

Status Run::step() {
  Expected<const Batch *> batch = loader->next();
  if (!batch)
    return batch.status();
  StepBlock block;
  block.step = state.step;
  block.seed = state.seed;
  block.learningRate = static_cast<float>(options.schedule.at(state.step));
  block.validRows = (*batch)->validRows;
  BESSEMER_RETURN_IF_ERROR(session.run(function, (*batch)->inputs, block));
  state.cursor = (*batch)->end;
  ++state.step;
  if (!ignoredStep && data->ignoresAll((*batch)->inputs))
    ignoredStep = state.step;
  listener.onStep(state.step, options.schedule.totalSteps);
  return {};
}

Status Run::checkFinite(std::optional<double> loss) {
  Expected<std::optional<uint64_t>> recorded = nonfiniteStep(session);
  if (!recorded)
    return recorded.status();
  // The program counts steps from 0, people from 1.
  std::optional<uint64_t> bad;
  if (*recorded)
    bad = **recorded + 1;
  else if (loss && !std::isfinite(*loss))
    bad = state.step;
  if (!bad)
    return {};
  if (bad == ignoredStep)
    return Status::invalidInput(
        "step " + std::to_string(*bad) +
        ": the loss is not a number, as every label of the batch is the "
        "ignored one; use larger batches, or leave such rows out");
  return Status::invalidInput(
      "step " + std::to_string(*bad) +
      ": the loss is not finite; try a lower --lr, --warmup-steps or "
      "--clip-norm, and look for NaN in the data and for indices that the "
      "model computes outside of their table");
}

Status Run::report() {
  Expected<double> loss = readScalar(session, function, "loss");
  if (!loss)
    return loss.status();
  BESSEMER_RETURN_IF_ERROR(checkFinite(*loss));
  StepReport report;
  report.step = state.step;
  report.totalSteps = options.schedule.totalSteps;
  report.epoch = state.cursor.epoch + 1;
  report.loss = *loss;
  report.learningRate = options.schedule.at(state.step - 1);
  if (hasOutput(session, function, "grad_norm")) {
    Expected<double> norm = readScalar(session, function, "grad_norm");
    if (!norm)
      return norm.status();
    report.gradNorm = *norm;
  }
  double seconds = watch.seconds() - reportedSeconds;
  report.samplesPerSecond = static_cast<double>(state.step - reportedStep) *
                            static_cast<double>(data->batch()) /
                            std::max(seconds, 1e-9);
  reportedSeconds = watch.seconds();
  reportedStep = state.step;
  if (log)
    BESSEMER_RETURN_IF_ERROR(log->add(report));
  listener.onReport(report);
  return {};
}

Status Run::evaluateNow() {
  if (!isEvaluationDue())
    return {};
  Expected<Evaluation> result = evaluate(session, evalData, options.stop);
  if (!result && stopping())
    return {}; // A resumed run repeats it.
  Status status =
      result ? requireFiniteLoss(*result, *evalData) : result.status();
  if (!status.ok()) {
    // Weights that the training has spoilt are its fault; others are kept, so
    // that a run with mended data can go on from here.
    BESSEMER_RETURN_IF_ERROR(checkFinite(std::nullopt));
    BESSEMER_RETURN_IF_ERROR(save());
    return Status::invalidInput("step " + std::to_string(state.step) +
                                ": evaluation: " + status.message());
  }
  state.evaluatedStep = state.step;
  summary.evaluation = *result;
  bool accuracy = options.keepBest == TrainerOptions::Best::Accuracy;
  double value = accuracy ? result->accuracy.value() : result->loss;
  bool best =
      options.keepBest != TrainerOptions::Best::None &&
      (!state.best || (accuracy ? value > *state.best : value < *state.best));
  uint64_t epoch = state.cursor.epoch + 1;
  if (log)
    BESSEMER_RETURN_IF_ERROR(log->add(state.step, epoch, *result));
  if (best) {
    state.best = value;
    BESSEMER_RETURN_IF_ERROR(saveTo("best"));
  }
  listener.onEvaluation(state.step, epoch, *result, best);
  return {};
}

Status Run::saveTo(const char *name) {
  // Never over a good checkpoint with a bad one.
  BESSEMER_RETURN_IF_ERROR(checkFinite(std::nullopt));
  std::string directory = options.checkpointDirectory + "/" + name;
  BESSEMER_RETURN_IF_ERROR(saveCheckpoint(directory, session, &state));
  listener.onCheckpoint(directory, state.step);
  return {};
}

Status Run::save() {
  if (options.checkpointDirectory.empty() || savedStep == state.step)
    return {};
  savedStep = state.step;
  return saveTo("last");
}

Expected<TrainSummary> Run::run() {
  BatchOptions batches;
  batches.seed = options.seed;
  Expected<std::unique_ptr<BatchLoader>> created =
      BatchLoader::create(data, batches, state.cursor);
  if (!created)
    return created.status();
  loader = *std::move(created);
  if (!options.logDirectory.empty()) {
    Expected<std::unique_ptr<MetricsLog>> opened =
        MetricsLog::open(options, resumeStep);
    if (!opened)
      return opened.status();
    log = *std::move(opened);
  }
  // A run that stopped at the end of an epoch has its evaluation to do, and the
  // last one may be all that is left.
  if (atEpochEnd() || finished())
    BESSEMER_RETURN_IF_ERROR(evaluateNow());
  while (!finished() && !stopping()) {
    watch.start();
    BESSEMER_RETURN_IF_ERROR(step());
    watch.stop();
    if (state.step % options.logEvery == 0 || finished())
      BESSEMER_RETURN_IF_ERROR(report());
    if (stopping())
      break;
    if (atEpochEnd() || finished())
      BESSEMER_RETURN_IF_ERROR(evaluateNow());
    if (options.checkpointEvery && state.step % options.checkpointEvery == 0)
      BESSEMER_RETURN_IF_ERROR(save());
  }
  if (state.step > firstStep) {
    // An interrupted run may stop between two reports.
    Expected<double> loss = readScalar(session, function, "loss");
    if (!loss)
      return loss.status();
    BESSEMER_RETURN_IF_ERROR(checkFinite(*loss));
    summary.loss = *loss;
  }
  if (state.step > firstStep || summary.evaluation)
    BESSEMER_RETURN_IF_ERROR(save());
  summary.interrupted = stopping() && (!finished() || isEvaluationDue());
  summary.step = state.step;
  summary.best = state.best;
  summary.seconds = watch.seconds();
  summary.samplesPerSecond = static_cast<double>(state.step - firstStep) *
                             static_cast<double>(data->batch()) /
                             std::max(summary.seconds, 1e-9);
  return summary;
}

} // namespace

Status checkTraining(const Session &session, const BoundData &data,
                     const BoundData *evalData, const TrainerOptions &options,
                     const std::optional<TrainerState> &resume) {
  if (options.keepBest != TrainerOptions::Best::None && !evalData)
    return Status::usage("--keep-best needs --eval-data");
  if (options.keepBest != TrainerOptions::Best::None &&
      options.checkpointDirectory.empty())
    return Status::usage("--keep-best needs --checkpoint-dir");
  if (options.keepBest == TrainerOptions::Best::Accuracy &&
      !hasOutput(session, "eval_step", "correct"))
    return Status::invalidInput("--keep-best accuracy: eval_step counts no "
                                "correct rows; use --keep-best loss");
  if (options.logEvery == 0)
    return Status::usage("--log-every must be at least 1");
  // Known before the training, not after it.
  for (auto [name, isWritten] :
       {std::pair("/last", true),
        std::pair("/best", options.keepBest != TrainerOptions::Best::None)})
    if (isWritten && !options.checkpointDirectory.empty())
      BESSEMER_RETURN_IF_ERROR(
          checkpoint::checkReplaceable(options.checkpointDirectory + name));
  if (evalData)
    BESSEMER_RETURN_IF_ERROR(checkEvaluation(session, *evalData));
  if (!resume)
    return options.logDirectory.empty() ? Status()
                                        : MetricsLog::checkFresh(options);
  std::string artifact = artifactHash(session.program());
  bool isSame = resume->artifact.empty() || resume->artifact == artifact ||
                resume->computation == computationHash(session.program());
  if (!isSame)
    return Status::invalidInput(
        "resume: the checkpoint belongs to another compiled program: expected "
        "program " +
        resume->artifact + ", got " + session.program().name() + " with " +
        artifact +
        "; go on with the .bsm it was made with (a run from an .onnx leaves "
        "model.bsm beside its checkpoints)");
  // A checkpoint that Python saved knows of no data.
  if (resume->dataRows &&
      resume->dataRows != static_cast<uint64_t>(data.rows()))
    return Status::invalidInput("resume: the checkpoint was trained on " +
                                std::to_string(resume->dataRows) +
                                " rows, the data has " +
                                std::to_string(data.rows()));
  return {};
}

Expected<TrainSummary>
train(Session &session, std::shared_ptr<const BoundData> data,
      std::shared_ptr<const BoundData> evalData, const TrainerOptions &options,
      const std::optional<TrainerState> &resume, TrainerListener &listener) {
  BESSEMER_RETURN_IF_ERROR(
      checkTraining(session, *data, evalData.get(), options, resume));
  return Run(session, std::move(data), std::move(evalData), options, resume,
             listener)
      .run();
}

} // namespace bessemer::runtime
