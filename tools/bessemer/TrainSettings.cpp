// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TrainSettings.h"

#include "bessemer/Format/Hash.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace bessemer::tool {
namespace {

using namespace runtime;

/// The fewest digits that give the same double back.
std::string exact(double value) {
  char text[32];
  return {text, std::to_chars(text, std::end(text), value).ptr};
}

/// Whether two settings mean the same: numbers may be written in many ways.
bool isSameSetting(const std::string &a, const std::string &b) {
  return a == b || (parseNumber(a) && parseNumber(a) == parseNumber(b));
}

/// Chooses between flags and the checkpoint and records what was chosen.
struct Chooser {
  const Arguments &arguments;
  const std::optional<TrainerState> &resume;
  std::map<std::string, std::string> &settings;
  Status status = {};

  std::string choose(const char *key, const std::optional<std::string> &given,
                     const std::string &otherwise, bool noteOther = true) {
    std::string value = given.value_or(otherwise);
    if (resume) {
      auto saved = resume->settings.find(key);
      if (saved != resume->settings.end()) {
        if (noteOther && given && !isSameSetting(*given, saved->second))
          std::fprintf(stderr,
                       "note: --%s %s differs from the checkpoint's %s; the "
                       "losses will differ from an uninterrupted run\n",
                       key, given->c_str(), saved->second.c_str());
        value = given.value_or(saved->second);
      }
    }
    return settings[key] = value;
  }

  /// What the text means; remembers the first that means nothing.
  template <typename T>
  T read(const char *key, const std::optional<T> &meaning,
         const std::string &expected) {
    if (meaning)
      return *meaning;
    std::string got =
        ": expected " + expected + ", got '" + settings[key] + "'";
    if (status.ok())
      status = arguments.has(key)
                   ? Status::usage(arguments.origin(key) + got)
                   : Status::invalidInput("the checkpoint's trainer.json: "
                                          "setting '" +
                                          std::string(key) + "'" + got);
    return T();
  }
};

/// A number of steps.
std::optional<uint64_t> countFrom(const std::string &text, int64_t least) {
  std::optional<int64_t> value = parseInteger(text);
  return value && *value >= least && *value <= int64_t(mostSteps)
             ? std::optional<uint64_t>(*value)
             : std::nullopt;
}

std::optional<double> rateFrom(const std::string &text) {
  std::optional<double> value = parseNumber(text);
  return value && *value >= 0 ? value : std::nullopt;
}

/// A hash of some rows as the model gets them: other data, other columns and
/// other numbers made of them are seen, without reading all of a large file.
Expected<std::string> sampleOf(const BoundData &data) {
  constexpr int64_t most = 16;
  const int64_t last = data.rows() - 1, count = std::min(last, most - 1);
  uint64_t hash = 0;
  for (size_t input = 0; input < data.inputs().size(); ++input) {
    std::vector<std::byte> row(data.rowBytes(input));
    for (int64_t i = 0; i <= count; ++i) {
      int64_t place = count ? last / count * i + last % count * i / count : 0;
      BESSEMER_RETURN_IF_ERROR(data.copyRow(input, place, row.data()));
      hash = format::hash64(row.data(), row.size(), hash);
    }
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016lx", static_cast<unsigned long>(hash));
  return std::string(text);
}

void noteDifference(const char *what, const std::string &saved,
                    const std::string &now) {
  if (saved != now)
    std::fprintf(stderr,
                 "note: the checkpoint was made with %s '%s', this run has "
                 "'%s'; it may not be bit-exact\n",
                 what, saved.c_str(), now.c_str());
}

} // namespace

Expected<TrainerOptions>
trainerOptions(const Arguments &arguments, const Session &session,
               const BoundData &data,
               const std::optional<TrainerState> &resume) {
  if (arguments.has("epochs") && arguments.has("steps"))
    return Status::usage(arguments.origin("epochs") +
                         ": give --epochs or --steps, not both");
  TrainerOptions options;
  Chooser chooser{arguments, resume, options.settings};

  uint64_t batches = static_cast<uint64_t>(data.rows() / data.batch());
  if (batches == 0)
    return Status::invalidInput("the data has " + std::to_string(data.rows()) +
                                " rows, fewer than one batch of " +
                                std::to_string(data.batch()));
  std::optional<std::string> steps;
  if (arguments.has("steps"))
    steps = std::to_string(*arguments.integer("steps"));
  else if (arguments.has("epochs")) {
    int64_t epochs = *arguments.integer("epochs");
    const auto most = static_cast<int64_t>(mostSteps / batches);
    if (epochs > most)
      return Status::usage(arguments.origin("epochs") + ": expected at most " +
                           std::to_string(most) + " epochs of " +
                           std::to_string(batches) + " steps, got " +
                           std::to_string(epochs));
    steps = std::to_string(static_cast<uint64_t>(epochs) * batches);
  }
  Schedule &schedule = options.schedule;
  schedule.kind =
      chooser.read("schedule",
                   scheduleFromName(chooser.choose(
                       "schedule", arguments.text("schedule"), "constant")),
                   "constant or cosine");
  // More steps only go on, unless the schedule depends on their number.
  bool cosine = schedule.kind == ScheduleKind::Cosine;
  schedule.totalSteps = chooser.read(
      "steps",
      countFrom(chooser.choose("steps", steps, std::to_string(batches), cosine),
                1),
      "a whole number from 1 to " + std::to_string(mostSteps));

  std::optional<std::string> rate;
  if (arguments.has("lr"))
    rate = exact(*arguments.number("lr"));
  std::optional<std::string_view> compiled = session.program().setting("lr");
  schedule.learningRate = chooser.read(
      "lr",
      rateFrom(chooser.choose(
          "lr", rate,
          exact(
              parseNumber(std::string(compiled.value_or(""))).value_or(1e-3)))),
      "a number of at least 0");
  schedule.warmupSteps = chooser.read(
      "warmup-steps",
      countFrom(
          chooser.choose("warmup-steps", arguments.text("warmup-steps"), "0"),
          0),
      "a whole number from 0 to " + std::to_string(mostSteps));
  BESSEMER_RETURN_IF_ERROR(chooser.status);
  if (schedule.warmupSteps > schedule.totalSteps)
    return Status::usage(
        (arguments.has("warmup-steps") ? arguments.origin("warmup-steps")
                                       : "the checkpoint's warmup-steps") +
        " " + std::to_string(schedule.warmupSteps) + ": the run has only " +
        std::to_string(schedule.totalSteps) + " steps");

  Expected<std::string> sample = sampleOf(data);
  if (!sample)
    return sample.status();
  options.settings["data"] = *sample;
  if (resume && resume->settings.contains("data") &&
      resume->settings.at("data") != *sample)
    std::fprintf(stderr, "note: the rows, or what --map, --scale, --mean and "
                         "--std make of them, differ from the checkpoint's; "
                         "the losses will differ from an uninterrupted run\n");

  options.seed = static_cast<uint64_t>(arguments.integer("seed", 0));
  if (resume) {
    if (arguments.has("seed") && options.seed != resume->seed)
      return Status::usage(arguments.origin("seed") +
                           ": the checkpoint has seed " +
                           std::to_string(resume->seed) + ", got " +
                           std::to_string(options.seed));
    options.seed = resume->seed;
    noteDifference("target", resume->target, std::string(session.target()));
    if (mayComputeOtherBits(*resume, session.program()))
      noteDifference("artifact", resume->artifact,
                     artifactHash(session.program()));
    noteDifference("library", resume->library, std::string(session.library()));
    // Generated code gives the same bits for any number of threads.
    if (!session.library().empty())
      noteDifference("threads", std::to_string(resume->threads),
                     std::to_string(session.threads()));
  }

  options.logEvery = static_cast<uint64_t>(arguments.integer("log-every", 100));
  options.checkpointDirectory = arguments.text("checkpoint-dir", "");
  options.checkpointEvery =
      static_cast<uint64_t>(arguments.integer("checkpoint-every", 0));
  options.logDirectory = arguments.text("log-dir", "");
  std::string best = arguments.text("keep-best", "");
  if (best == "loss")
    options.keepBest = TrainerOptions::Best::Loss;
  else if (best == "accuracy")
    options.keepBest = TrainerOptions::Best::Accuracy;
  if (options.checkpointEvery && options.checkpointDirectory.empty())
    return Status::usage(arguments.origin("checkpoint-every") +
                         " needs --checkpoint-dir");
  for (const char *needed : {"eval-data", "checkpoint-dir"})
    if (arguments.has("keep-best") && !arguments.has(needed))
      return Status::usage(arguments.origin("keep-best") + " needs --" +
                           needed);
  return options;
}

} // namespace bessemer::tool
