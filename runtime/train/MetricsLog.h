// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// metrics.csv and metrics.jsonl: the same rows twice, for spreadsheets and for
// programs.
#pragma once

#include "bessemer/runtime/Trainer.h"

#include <cstdio>
#include <memory>

namespace bessemer::runtime::train_detail {

class MetricsLog {
public:
  /// An error when the directory holds metrics that a run from step 0 would
  /// overwrite.
  static Status checkFresh(const std::string &directory);
  /// Makes the directory. Rows of an earlier run stay up to `resumeStep`; when
  /// it is 0 there must be none. A crash while they are sorted out loses none.
  static Expected<std::unique_ptr<MetricsLog>>
  open(const std::string &directory, uint64_t resumeStep);
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
