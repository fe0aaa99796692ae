// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "train/MetricsLog.h"

#include "bessemer/runtime/Files.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace bessemer::runtime::train_detail {
namespace {

constexpr std::string_view csvHeader =
    "step,epoch,kind,loss,learning_rate,"
    "grad_norm,samples_per_second,accuracy\n";
constexpr const char *jsonStart = "{\"step\": ";

/// Nine digits give an f32 back exactly.
std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

/// JSON has no NaN and no infinity.
std::string jsonNumber(double value) {
  return std::isfinite(value) ? number(value) : "null";
}

/// The whole lines of a file that begin with `prefix` and a step up to `step`.
Expected<std::string> linesUpTo(const std::string &path,
                                const std::string &prefix, uint64_t step) {
  std::string kept, line;
  std::error_code error;
  // There is nothing to keep in a pipe or a device.
  if (!std::filesystem::is_regular_file(path, error))
    return kept;
  std::ifstream file(path);
  if (!file)
    return Status::invalidInput(
        path + ": cannot open to keep its rows: " + std::strerror(errno));
  while (std::getline(file, line) && !file.eof())
    if (line.starts_with(prefix) && std::isdigit(line[prefix.size()]) &&
        std::strtoull(line.c_str() + prefix.size(), nullptr, 10) <= step)
      kept += line + "\n";
  return kept;
}

/// Whether the file holds more than a run that ended before its first report
/// leaves. An old log may be long, so that only as much as a header is read.
Expected<bool> holdsRows(const std::string &path) {
  std::error_code error;
  // A pipe or a device keeps nothing.
  if (!std::filesystem::is_regular_file(path, error))
    return false;
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return Status::invalidInput(
        path + ": cannot open to look for rows: " + std::strerror(errno));
  std::string start(csvHeader.size() + 1, '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<size_t>(file.gcount()));
  return !start.empty() && start != csvHeader;
}

} // namespace

/// One row; what is not known is left out.
struct MetricsLog::Row {
  uint64_t step, epoch;
  const char *kind;
  double loss;
  std::optional<double> learningRate, gradNorm, samplesPerSecond, accuracy;
};

Expected<MetricsLog::File> MetricsLog::openFile(const std::string &path,
                                                const std::string &kept) {
  BESSEMER_RETURN_IF_ERROR(writeFileAtomically(path, kept));
  File file(std::fopen(path.c_str(), "a"));
  if (!file)
    return Status::invalidInput(path +
                                ": cannot open: " + std::strerror(errno));
  return file;
}

Status MetricsLog::checkFresh(const TrainerOptions &options) {
  for (const char *name : {"/metrics.csv", "/metrics.jsonl"}) {
    std::string path = options.logDirectory + name;
    Expected<bool> rows = holdsRows(path);
    if (!rows)
      return rows.status();
    if (!*rows)
      continue;
    // Only a checkpoint can be gone on from.
    bool canResume = false;
    if (!options.checkpointDirectory.empty()) {
      auto checkpoint = findCheckpoint(options.checkpointDirectory + "/last");
      canResume = checkpoint && *checkpoint;
    }
    return Status::invalidInput(
        path + ": there are metrics already; " +
        (canResume ? "go on with --resume" : "remove them") +
        ", or choose another --log-dir");
  }
  return {};
}

Expected<std::unique_ptr<MetricsLog>>
MetricsLog::open(const TrainerOptions &options,
                 std::optional<uint64_t> resumeStep) {
  if (!resumeStep)
    BESSEMER_RETURN_IF_ERROR(checkFresh(options));
  const std::string &directory = options.logDirectory;
  BESSEMER_RETURN_IF_ERROR(createDirectories(directory));
  auto log = std::make_unique<MetricsLog>();
  const std::string &csv = log->csvPath = directory + "/metrics.csv";
  const std::string &json = log->jsonPath = directory + "/metrics.jsonl";
  std::string keptCsv(csvHeader), keptJson;
  if (resumeStep) {
    Expected<std::string> csvLines = linesUpTo(csv, "", *resumeStep);
    if (!csvLines)
      return csvLines.status();
    Expected<std::string> jsonLines = linesUpTo(json, jsonStart, *resumeStep);
    if (!jsonLines)
      return jsonLines.status();
    keptCsv += *csvLines;
    keptJson += *jsonLines;
  }
  Expected<File> csvFile = openFile(csv, keptCsv);
  if (!csvFile)
    return csvFile.status();
  Expected<File> jsonFile = openFile(json, keptJson);
  if (!jsonFile)
    return jsonFile.status();
  log->csv = *std::move(csvFile);
  log->json = *std::move(jsonFile);
  return log;
}

Status MetricsLog::writeLine(const File &file, const std::string &path,
                             const std::string &line) {
  // Flushed at once: a person may be following the file.
  if (std::fputs(line.c_str(), file.get()) < 0 || std::fflush(file.get()) != 0)
    return Status::invalidInput(path +
                                ": cannot write: " + std::strerror(errno));
  return {};
}

Status MetricsLog::write(const Row &row) {
  std::string line = std::to_string(row.step) + "," +
                     std::to_string(row.epoch) + "," + row.kind + "," +
                     number(row.loss);
  std::string object = jsonStart + std::to_string(row.step) +
                       ", \"epoch\": " + std::to_string(row.epoch) +
                       ", \"kind\": \"" + row.kind +
                       "\", \"loss\": " + jsonNumber(row.loss);
  auto add = [&](const char *key, const std::optional<double> &value) {
    line += ",";
    if (!value)
      return;
    line += number(*value);
    object += std::string(", \"") + key + "\": " + jsonNumber(*value);
  };
  add("learning_rate", row.learningRate);
  add("grad_norm", row.gradNorm);
  add("samples_per_second", row.samplesPerSecond);
  add("accuracy", row.accuracy);
  BESSEMER_RETURN_IF_ERROR(writeLine(csv, csvPath, line + "\n"));
  return writeLine(json, jsonPath, object + "}\n");
}

Status MetricsLog::add(const StepReport &report) {
  return write({report.step, report.epoch, "train", report.loss,
                report.learningRate, report.gradNorm, report.samplesPerSecond,
                std::nullopt});
}

Status MetricsLog::add(uint64_t step, uint64_t epoch,
                       const Evaluation &evaluation) {
  return write({step, epoch, "eval", evaluation.loss, std::nullopt,
                std::nullopt, std::nullopt, evaluation.accuracy});
}

} // namespace bessemer::runtime::train_detail
