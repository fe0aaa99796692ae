// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// metrics.csv and metrics.jsonl: the same rows twice, for spreadsheets and for
// programs.
#pragma once

#include "bessemer/runtime/Trainer.h"

#include <cstdio>
#include <memory>
#include <optional>

namespace bessemer::runtime::train_detail {

class MetricsLog {
public:
  /// An error when `options.logDirectory` holds metrics that a run which does
  /// not resume would overwrite.
  static Status checkFresh(const TrainerOptions &options);
  /// Makes the directory. A run that resumes, be it from step 0, keeps the rows
  /// of the earlier one up to `resumeStep`; for another there must be none. A
  /// crash while they are sorted out loses none.
  static Expected<std::unique_ptr<MetricsLog>>
  open(const TrainerOptions &options, std::optional<uint64_t> resumeStep);
  Status add(const StepReport &report);
  Status add(uint64_t step, uint64_t epoch, const Evaluation &evaluation);

private:
  struct Close {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, Close>;
  static Expected<File> openFile(const std::string &path,
                                 const std::string &kept);
  static Status writeLine(const File &file, const std::string &path,
                          const std::string &line);

  struct Row;
  Status write(const Row &row);

  std::string csvPath, jsonPath;
  File csv, json;
};

} // namespace bessemer::runtime::train_detail
