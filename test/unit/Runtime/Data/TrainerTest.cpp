// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Training runs on a program whose every number is known.
#include "bessemer/runtime/Trainer.h"
#include "TrainedArtifact.h"

#include <cmath>
#include <csignal>
#include <filesystem>
#include <gmock/gmock.h>
#include <sys/resource.h>

using namespace bessemer::test;
using namespace bessemer::runtime;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Writes down what it hears; may ask for the end after a step.
struct Recorder : TrainerListener {
  std::vector<double> losses, rates, evaluationLosses;
  std::vector<uint64_t> evaluations, checkpoints;
  std::vector<bool> best;
  std::atomic<int> stop = 0;
  uint64_t stopAt = 0;

  void onStep(uint64_t step, uint64_t) override {
    if (step == stopAt)
      stop = 2;
  }
  void onReport(const StepReport &report) override {
    losses.push_back(report.loss);
    rates.push_back(report.learningRate);
  }
  void onEvaluation(uint64_t step, uint64_t, const Evaluation &evaluation,
                    bool isBest) override {
    evaluationLosses.push_back(evaluation.loss);
    EXPECT_EQ(evaluation.accuracy, 0.75);
    evaluations.push_back(step);
    best.push_back(isBest);
  }
  void onCheckpoint(const std::string &, uint64_t step) override {
    checkpoints.push_back(step);
  }
};

TrainerOptions someOptions(uint64_t steps) {
  TrainerOptions options;
  options.schedule = {ScheduleKind::Cosine, 0.5, 3, steps};
  options.seed = 11;
  options.logEvery = 1;
  return options;
}

TestArtifact withSetting(const std::string &key, const std::string &value) {
  TestArtifact artifact = trainedArtifact();
  auto setting = std::make_unique<bessemer::format::SettingT>();
  setting->key = key;
  setting->value = value;
  artifact.program.settings.push_back(std::move(setting));
  return artifact;
}

std::vector<float> parameters(const Session &session) {
  auto p = session.readState("p")->elements<float>();
  return {p.begin(), p.end()};
}

} // namespace

TEST(Trainer, DoesWhatAPlainLoopDoes) {
  auto session = trainedArtifact().session();
  auto data = trainingData(*session, "train_step", 18);
  Recorder heard;
  auto summary = train(*session, data, nullptr, someOptions(10), {}, heard);
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(summary->step, 10u);
  EXPECT_FALSE(summary->interrupted);

  // 18 rows are 4 batches of 4 an epoch.
  std::vector<float> p(64, 1.0f);
  std::vector<double> losses;
  Schedule schedule = someOptions(10).schedule;
  for (uint64_t step = 0; step < 10; ++step) {
    auto order = shuffledRows(18, 11, step / 4);
    std::vector<float> x(64);
    for (int64_t i = 0; i < 4; ++i)
      ASSERT_TRUE(data->copyRow(0, order[step % 4 * 4 + i],
                                reinterpret_cast<std::byte *>(&x[i * 16]))
                      .ok());
    losses.push_back(x[0] * p[0]);
    float rate = static_cast<float>(schedule.at(step));
    for (size_t i = 0; i < 64; ++i)
      p[i] -= rate * x[i];
  }
  EXPECT_EQ(heard.losses, losses);
  for (size_t i = 0; i < 64; ++i)
    EXPECT_NEAR(parameters(*session)[i], p[i], 1e-6) << i;
  EXPECT_EQ(session->readState("seen")->elements<int64_t>()[0], 40);
}

TEST(Trainer, ResumesExactly) {
  auto whole = trainedArtifact().session();
  Recorder all;
  ASSERT_TRUE(train(*whole, trainingData(*whole, "train_step", 18), nullptr,
                    someOptions(12), {}, all)
                  .ok());
  for (uint64_t cut = 1; cut < 12; ++cut) {
    TemporaryFolder folder;
    TrainerOptions options = someOptions(12);
    options.checkpointDirectory = folder.path;
    Recorder first, second;
    first.stopAt = cut;
    options.stop = &first.stop;
    auto session = trainedArtifact().session();
    auto stopped = train(*session, trainingData(*session, "train_step", 18),
                         nullptr, options, {}, first);
    ASSERT_TRUE(stopped.ok()) << stopped.status().message();
    EXPECT_TRUE(stopped->interrupted);
    EXPECT_EQ(stopped->step, cut);

    auto resumed = trainedArtifact().session();
    auto state = loadCheckpoint(folder.path, *resumed);
    ASSERT_TRUE(state.ok()) << state.status().message();
    options.stop = nullptr;
    ASSERT_TRUE(train(*resumed, trainingData(*resumed, "train_step", 18),
                      nullptr, options, *state, second)
                    .ok());
    first.losses.insert(first.losses.end(), second.losses.begin(),
                        second.losses.end());
    ASSERT_EQ(first.losses, all.losses) << cut;
    ASSERT_EQ(parameters(*resumed), parameters(*whole)) << cut;
  }
}

TEST(Trainer, AnInterruptBetweenReportsTellsTheLossAllTheSame) {
  TrainerOptions options = someOptions(12);
  Recorder all;
  auto whole = trainedArtifact().session();
  ASSERT_TRUE(train(*whole, trainingData(*whole, "train_step", 18), nullptr,
                    options, {}, all)
                  .ok());
  options.logEvery = 100;
  Recorder heard;
  heard.stopAt = 3;
  options.stop = &heard.stop;
  auto session = trainedArtifact().session();
  auto stopped = train(*session, trainingData(*session, "train_step", 18),
                       nullptr, options, {}, heard);
  ASSERT_TRUE(stopped.ok()) << stopped.status().message();
  EXPECT_TRUE(heard.losses.empty());
  ASSERT_TRUE(stopped->loss.has_value());
  EXPECT_EQ(*stopped->loss, all.losses[2]);
}

TEST(Trainer, AnInterruptBeforeTheFirstStepHasNoLossAndSavesNothing) {
  TemporaryFolder folder;
  TrainerOptions options = someOptions(12);
  options.checkpointDirectory = folder.path;
  Recorder heard;
  heard.stop = SIGINT;
  options.stop = &heard.stop;
  auto session = trainedArtifact().session();
  auto stopped = train(*session, trainingData(*session, "train_step", 18),
                       nullptr, options, {}, heard);
  ASSERT_TRUE(stopped.ok()) << stopped.status().message();
  EXPECT_TRUE(stopped->interrupted);
  EXPECT_EQ(stopped->step, 0u);
  EXPECT_FALSE(stopped->loss.has_value());
  EXPECT_TRUE(heard.checkpoints.empty());
}

TEST(Trainer, EvaluatesAfterEpochsAndKeepsTheBest) {
  TemporaryFolder folder;
  auto session = trainedArtifact().session();
  TrainerOptions options = someOptions(10);
  options.checkpointDirectory = folder.path;
  options.checkpointEvery = 4;
  options.keepBest = TrainerOptions::Best::Loss;
  options.logEvery = 5;
  Recorder heard;
  auto summary =
      train(*session, trainingData(*session, "train_step", 18),
            trainingData(*session, "eval_step", 8), options, {}, heard);
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_THAT(heard.evaluations, ElementsAre(4, 8, 10));
  EXPECT_EQ(heard.losses.size(), 2u);
  EXPECT_TRUE(heard.best[0]);
  // Checkpoints at 4, 8 and the end, and one for each best.
  EXPECT_EQ(heard.checkpoints.size(),
            3u + std::count(heard.best.begin(), heard.best.end(), true));
  EXPECT_EQ(heard.checkpoints.back(), 10u);
  auto other = trainedArtifact().session();
  auto best = loadCheckpoint(folder / "best", *other);
  ASSERT_TRUE(best.ok());
  EXPECT_EQ((*best)->best, summary->best);
}

TEST(Trainer, AnEvaluationThatWasCutOffIsMadeUpFor) {
  TemporaryFolder folder;
  TrainerOptions options = someOptions(8);
  options.checkpointDirectory = folder.path;
  auto session = trainedArtifact().session();
  auto data = trainingData(*session, "train_step", 18);
  auto evalData = trainingData(*session, "eval_step", 8);
  Recorder first, second;
  first.stopAt = 4;
  options.stop = &first.stop;
  ASSERT_TRUE(train(*session, data, evalData, options, {}, first).ok());
  EXPECT_TRUE(first.evaluations.empty());
  auto state = loadCheckpoint(folder.path, *session);
  options.stop = nullptr;
  ASSERT_TRUE(train(*session, data, evalData, options, *state, second).ok());
  EXPECT_THAT(second.evaluations, ElementsAre(4, 8));
}

TEST(Trainer, StopsAtALossThatIsNotFinite) {
  TemporaryFolder folder;
  TrainerOptions options = someOptions(10);
  options.checkpointDirectory = folder.path;
  options.checkpointEvery = 1;
  auto session = trainedArtifact().session();
  // The NaN is in the loss when its row is the first of its batch: of four rows
  // in one batch some seed makes it so at once.
  auto data = trainingData(*session, "train_step", 4, 2);
  while (shuffledRows(4, options.seed, 0)[0] != 2)
    ++options.seed;
  Recorder heard;
  auto summary = train(*session, data, nullptr, options, {}, heard);
  EXPECT_THAT(summary.status().message(),
              HasSubstr("step 1: the loss is not finite"));
  EXPECT_FALSE(*findCheckpoint(folder.path));
}

TEST(Trainer, BelievesTheProgramAboutTheStep) {
  auto session = trainedArtifact(/*nonfiniteStep=*/6).session();
  Recorder heard;
  auto summary = train(*session, trainingData(*session, "train_step", 18),
                       nullptr, someOptions(10), {}, heard);
  EXPECT_THAT(summary.status().message(), HasSubstr("step 7: the loss is not"));
}

TEST(Trainer, WritesMetricsAndKeepsThemOnResume) {
  TemporaryFolder folder;
  TrainerOptions options = someOptions(8);
  options.checkpointDirectory = folder / "c";
  options.logDirectory = folder / "log";
  auto session = trainedArtifact().session();
  auto data = trainingData(*session, "train_step", 18);
  auto evalData = trainingData(*session, "eval_step", 8);
  Recorder first, second;
  first.stopAt = 6;
  options.stop = &first.stop;
  ASSERT_TRUE(train(*session, data, evalData, options, {}, first).ok());
  // As if it had gone on to step 7 and died before its checkpoint.
  std::string csv = readFile(folder / "log/metrics.csv");
  writeFile(folder / "log/metrics.csv", csv + "7,2,train,1,1,,1,\n");
  auto state = loadCheckpoint(folder / "c", *session);
  options.stop = nullptr;
  ASSERT_TRUE(train(*session, data, evalData, options, *state, second).ok());
  std::string lines = readFile(folder / "log/metrics.csv");
  std::vector<std::string> kinds;
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);)
    kinds.push_back(
        line.substr(0, line.find(',', line.find(',', line.find(',') + 1) + 1)));
  EXPECT_THAT(kinds,
              ElementsAre("step,epoch,kind", "1,1,train", "2,1,train",
                          "3,1,train", "4,1,train", "4,1,eval", "5,2,train",
                          "6,2,train", "7,2,train", "8,2,train", "8,2,eval"));
  EXPECT_THAT(readFile(folder / "log/metrics.jsonl"),
              HasSubstr("{\"step\": 8, \"epoch\": 2, \"kind\": \"eval\""));
}

class TrainerLog : public testing::Test {
protected:
  TrainerLog() { options.logDirectory = folder / "log"; }

  TemporaryFolder folder;
  TrainerOptions options = someOptions(4);
  std::unique_ptr<Session> session = trainedArtifact().session();
  std::shared_ptr<const BoundData> data =
      trainingData(*session, "train_step", 18);
  Recorder heard;
};

TEST_F(TrainerLog, KeepsTheMetricsOfAnEarlierRun) {
  // A run that ended before its first report is in nobody's way.
  std::filesystem::create_directory(folder / "log");
  writeFile(folder / "log/metrics.jsonl", "");
  ASSERT_TRUE(train(*session, data, nullptr, options, {}, heard).ok());
  std::string csv = readFile(folder / "log/metrics.csv");
  auto refusal = [&] {
    return train(*session, data, nullptr, options, {}, heard)
        .status()
        .message();
  };
  // What the message advises must be possible.
  EXPECT_THAT(refusal(), HasSubstr("metrics.csv: there are metrics already; "
                                   "remove them, or choose another --log-dir"));
  options.checkpointDirectory = folder / "c";
  EXPECT_THAT(refusal(), HasSubstr("already; remove them, or"));
  ASSERT_TRUE(saveCheckpoint(folder / "c/last", *session).ok());
  EXPECT_THAT(refusal(), HasSubstr("metrics.csv: there are metrics already; go "
                                   "on with --resume, or choose another"));
  EXPECT_EQ(readFile(folder / "log/metrics.csv"), csv);

  // As long as the header, but other bytes.
  writeFile(folder / "log/metrics.csv", std::string(csv.find('\n') + 1, 'x'));
  EXPECT_THAT(refusal(), HasSubstr("metrics.csv: there are metrics already"));
  writeFile(folder / "log/metrics.csv", csv.substr(0, csv.find('\n') + 1));
  EXPECT_THAT(refusal(), HasSubstr("metrics.jsonl: there are metrics already"));
}

TEST_F(TrainerLog, ResumingFromStepZeroIsResuming) {
  ASSERT_TRUE(train(*session, data, nullptr, options, {}, heard).ok());
  std::string csv = readFile(folder / "log/metrics.csv");
  auto again = train(*session, data, nullptr, options, TrainerState(), heard);
  ASSERT_TRUE(again.ok()) << again.status().message();
  // The steps are made again, so that their rows are replaced.
  std::string rows = readFile(folder / "log/metrics.csv");
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'),
            std::count(csv.begin(), csv.end(), '\n'));
}

TEST(Trainer, RefusesWhatCannotWork) {
  auto session = trainedArtifact().session();
  auto data = trainingData(*session, "train_step", 18);
  Recorder heard;
  TrainerOptions options = someOptions(4);
  options.keepBest = TrainerOptions::Best::Loss;
  EXPECT_THAT(
      train(*session, data, nullptr, options, {}, heard).status().message(),
      HasSubstr("--eval-data"));
  TrainerState other;
  other.dataRows = 19;
  EXPECT_THAT(train(*session, data, nullptr, someOptions(4), other, heard)
                  .status()
                  .message(),
              HasSubstr("trained on 19 rows, the data has 18"));
}

TEST(Trainer, StopsAtAnEvaluationThatIsNotFinite) {
  TemporaryFolder folder;
  auto session = trainedArtifact().session();
  TrainerOptions options = someOptions(8);
  options.checkpointDirectory = folder / "c";
  options.checkpointEvery = 2;
  options.logDirectory = folder / "log";
  options.keepBest = TrainerOptions::Best::Loss;
  Recorder heard;
  // The evaluation reads x[0, 0] of its batches; an epoch has four steps.
  auto summary =
      train(*session, trainingData(*session, "train_step", 18),
            trainingData(*session, "eval_step", 8, 4), options, {}, heard);
  EXPECT_THAT(summary.status().message(),
              HasSubstr("step 4: evaluation: the loss is not finite, first in "
                        "rows 4 to 7 (from 0)"));
  EXPECT_TRUE(heard.evaluationLosses.empty());
  EXPECT_FALSE(std::filesystem::exists(folder / "c/best"));
  // The training until then is sound.
  auto kept = loadCheckpoint(folder / "c", *session);
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ((*kept)->step, 4u);
  std::string lines = readFile(folder / "log/metrics.jsonl");
  EXPECT_THAT(lines,
              HasSubstr("{\"step\": 4, \"epoch\": 1, \"kind\": \"train\""));
  EXPECT_EQ(lines.find("eval"), std::string::npos);

  // Also where checkpoints are written at the end only.
  options.checkpointEvery = 0;
  options.checkpointDirectory = folder / "d";
  options.logDirectory.clear();
  auto other = trainedArtifact().session();
  ASSERT_FALSE(train(*other, trainingData(*other, "train_step", 18),
                     trainingData(*other, "eval_step", 8, 4), options, {},
                     heard)
                   .ok());
  auto atEnd = loadCheckpoint(folder / "d", *other);
  ASSERT_TRUE(atEnd.ok());
  EXPECT_EQ((*atEnd)->step, 4u);
}

TEST(Trainer, BlamesItselfForTheEvaluationOfSpoiltWeights) {
  TemporaryFolder folder;
  auto session = trainedArtifact(/*nonfiniteStep=*/1).session();
  TrainerOptions options = someOptions(8);
  options.logEvery = 100;
  options.checkpointDirectory = folder / "c";
  Recorder heard;
  auto summary =
      train(*session, trainingData(*session, "train_step", 18),
            trainingData(*session, "eval_step", 8, 4), options, {}, heard);
  // Steps are counted from 1.
  EXPECT_THAT(summary.status().message(),
              HasSubstr("step 2: the loss is not finite; try a lower --lr"));
  EXPECT_FALSE(std::filesystem::exists(folder / "c/last"));
}

TEST(Trainer, MetricsThatCannotBeWrittenEndTheRun) {
  TemporaryFolder folder;
  auto session = trainedArtifact().session();
  auto data = trainingData(*session, "train_step", 18);
  TrainerOptions options = someOptions(8);
  options.logDirectory = folder / "log";
  Recorder heard;
  ASSERT_TRUE(train(*session, data, nullptr, options, {}, heard).ok());
  std::string before = readFile(folder / "log/metrics.csv");

  // A resumed run that cannot keep the rows leaves the files as they were.
  rlimit limit, small = {16, RLIM_INFINITY};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  small.rlim_max = limit.rlim_max;
  TrainerState resume;
  resume.step = 4;
  resume.cursor = {0, 16};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  auto resumed = train(*session, data, nullptr, options, resume, heard);
  setrlimit(RLIMIT_FSIZE, &limit);
  EXPECT_THAT(resumed.status().message(), HasSubstr("metrics.csv"));
  EXPECT_THAT(resumed.status().message(), HasSubstr("cannot write"));
  EXPECT_EQ(readFile(folder / "log/metrics.csv"), before);

  // The header fits, the rows do not.
  options.logDirectory = folder / "fresh";
  small.rlim_cur = 100;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  auto fresh = train(*session, data, nullptr, options, {}, heard);
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(fresh.status().message(), HasSubstr("metrics.csv: cannot write"));
}

TEST(Trainer, ALossOfTheModelNeedsWholeBatchesToEvaluate) {
  auto session = withSetting("loss", "output").session();
  auto data = trainingData(*session, "train_step", 18);
  Recorder heard;
  EXPECT_TRUE(evaluate(*session, trainingData(*session, "eval_step", 8)).ok());
  auto ragged = trainingData(*session, "eval_step", 7);
  EXPECT_THAT(evaluate(*session, ragged).status().message(),
              HasSubstr("expected a multiple of 4 rows, got 7"));
  // Before the first step, not after an epoch.
  EXPECT_THAT(train(*session, data, ragged, someOptions(9), {}, heard)
                  .status()
                  .message(),
              HasSubstr("expected a multiple of 4 rows, got 7"));
  EXPECT_TRUE(heard.losses.empty());
  // Losses that we compute mask the padding.
  auto other = withSetting("loss", "mse").session();
  EXPECT_TRUE(evaluate(*other, ragged).ok());
}

TEST(Trainer, RefusesTheCheckpointOfAnotherProgram) {
  TemporaryFolder folder;
  TrainerOptions options = someOptions(4);
  options.checkpointDirectory = folder.path;
  Recorder heard;
  auto session = withSetting("clip_norm", "1.0").session();
  auto data = trainingData(*session, "train_step", 18);
  ASSERT_TRUE(train(*session, data, nullptr, options, {}, heard).ok());
  auto other = withSetting("clip_norm", "2.0").session();
  // Its state alone may be used.
  auto state = loadCheckpoint(folder.path, *other);
  ASSERT_TRUE(state.ok()) << state.status().message();
  ASSERT_EQ((*state)->artifact, artifactHash(session->program()));
  options.schedule.totalSteps = 8;
  std::string message =
      train(*other, data, nullptr, options, *state, heard).status().message();
  EXPECT_THAT(message, HasSubstr("belongs to another compiled program"));
  EXPECT_THAT(message, HasSubstr(artifactHash(session->program())));
  EXPECT_THAT(message, HasSubstr(artifactHash(other->program())));
  EXPECT_TRUE(train(*session, data, nullptr, options, *state, heard).ok());
}
