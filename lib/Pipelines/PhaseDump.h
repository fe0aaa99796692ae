// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `--dump-dir`: a numbered file per phase.

#ifndef BESSEMER_LIB_PIPELINES_PHASEDUMP_H
#define BESSEMER_LIB_PIPELINES_PHASEDUMP_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace bessemer {

class PhaseDump {
public:
  /// An empty directory turns dumping off.
  explicit PhaseDump(std::string directory) : directory(std::move(directory)) {}

  bool enabled() const { return !directory.empty(); }

  /// Writes NN-PHASE.EXTENSION by `print`, which is also told the file's path.
  /// Returns false and sets `error` when the file cannot be written.
  bool
  write(llvm::StringRef phase, llvm::StringRef extension,
        llvm::function_ref<void(llvm::raw_ostream &, llvm::StringRef)> print,
        std::string &error) {
    if (!enabled())
      return true;
    llvm::SmallString<128> path(directory);
    std::string number = std::to_string(count++);
    llvm::sys::path::append(path, (number.size() < 2 ? "0" : "") + number +
                                      "-" + phase + extension);
    std::error_code code = llvm::sys::fs::create_directories(directory);
    if (!code) {
      llvm::raw_fd_ostream os(path, code);
      if (!code) {
        print(os, path);
        os.close();
        code = os.error();
        os.clear_error();
      }
    }
    if (code)
      error = std::string(path) + ": cannot write: " + code.message();
    return !code;
  }

private:
  std::string directory;
  unsigned count = 0;
};

} // namespace bessemer

#endif // BESSEMER_LIB_PIPELINES_PHASEDUMP_H
