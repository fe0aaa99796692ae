// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "train/MetricsLog.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace bessemer::runtime::train_detail {
namespace {

constexpr const char *csvHeader = "step,epoch,kind,loss,learning_rate,"
                                  "grad_norm,samples_per_second,accuracy\n";
constexpr const char *jsonStart = "{\"step\": ";

/// Nine digits give an f32 back exactly.
std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

/// The whole lines of a file that begin with `prefix` and a step up to `step`.
std::string linesUpTo(const std::string &path, const std::string &prefix,
                      uint64_t step) {
  std::ifstream file(path);
  std::string kept, line;
  while (std::getline(file, line) && !file.eof())
    if (line.starts_with(prefix) && std::isdigit(line[prefix.size()]) &&
        std::strtoull(line.c_str() + prefix.size(), nullptr, 10) <= step)
      kept += line + "\n";
  return kept;
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
  File file(std::fopen(path.c_str(), "w"));
  if (!file)
    return Status::invalidInput(path +
                                ": cannot create: " + std::strerror(errno));
  std::fputs(kept.c_str(), file.get());
  return file;
}

Expected<std::unique_ptr<MetricsLog>>
MetricsLog::open(const std::string &directory, uint64_t resumeStep) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return Status::invalidInput(directory +
                                ": cannot create: " + error.message());
  std::string csv = directory + "/metrics.csv";
  std::string json = directory + "/metrics.jsonl";
  std::string keptCsv = csvHeader, keptJson;
  if (resumeStep > 0) {
    keptCsv += linesUpTo(csv, "", resumeStep);
    keptJson += linesUpTo(json, jsonStart, resumeStep);
  }
  auto log = std::make_unique<MetricsLog>();
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

void MetricsLog::write(const Row &row) {
  std::string line = std::to_string(row.step) + "," +
                     std::to_string(row.epoch) + "," + row.kind + "," +
                     number(row.loss);
  std::string object = jsonStart + std::to_string(row.step) +
                       ", \"epoch\": " + std::to_string(row.epoch) +
                       ", \"kind\": \"" + row.kind +
                       "\", \"loss\": " + number(row.loss);
  auto add = [&](const char *key, const std::optional<double> &value) {
    line += ",";
    if (!value)
      return;
    line += number(*value);
    object += std::string(", \"") + key + "\": " + number(*value);
  };
  add("learning_rate", row.learningRate);
  add("grad_norm", row.gradNorm);
  add("samples_per_second", row.samplesPerSecond);
  add("accuracy", row.accuracy);
  std::fprintf(csv.get(), "%s\n", line.c_str());
  std::fprintf(json.get(), "%s}\n", object.c_str());
  // A person may be following the file.
  std::fflush(csv.get());
  std::fflush(json.get());
}

void MetricsLog::add(const StepReport &report) {
  write({report.step, report.epoch, "train", report.loss, report.learningRate,
         report.gradNorm, report.samplesPerSecond, std::nullopt});
}

void MetricsLog::add(uint64_t step, uint64_t epoch,
                     const Evaluation &evaluation) {
  write({step, epoch, "eval", evaluation.loss, std::nullopt, std::nullopt,
         std::nullopt, evaluation.accuracy});
}

} // namespace bessemer::runtime::train_detail
