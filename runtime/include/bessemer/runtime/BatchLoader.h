// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Batches in an order that depends on the seed only, prepared ahead of time by
// a thread.
#pragma once

#include "bessemer/runtime/Data.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace bessemer::runtime {

/// A place in the stream of batches: the next batch starts after `position`
/// rows of epoch `epoch`.
struct Cursor {
  uint64_t epoch = 0;
  uint64_t position = 0;
  bool operator==(const Cursor &) const = default;
};

struct BatchOptions {
  enum class Mode {
    /// Epochs without end, shuffled; a ragged last batch is dropped.
    Train,
    /// One pass in order; the last batch is padded with zeros.
    Evaluate
  };
  Mode mode = Mode::Train;
  uint64_t seed = 0;
  /// Batches kept ready.
  unsigned depth = 3;
};

struct Batch {
  /// In the order of the function's inputs; aligned to 64 bytes.
  std::vector<NamedTensor> inputs;
  int64_t validRows = 0;
  /// Where this batch and the next one start.
  Cursor begin, end;
};

/// One consumer; the thread ends with the object.
class BatchLoader {
public:
  /// Training data with fewer rows than a batch is an error.
  static Expected<std::unique_ptr<BatchLoader>>
  create(std::shared_ptr<const BoundData> data, const BatchOptions &options,
         Cursor start = {});
  ~BatchLoader();

  /// The next batch, valid until the next call; null after the last one.
  Expected<const Batch *> next();

  struct Impl;

private:
  explicit BatchLoader(std::unique_ptr<Impl> implementation);
  std::unique_ptr<Impl> implementation;
};

/// The order of an epoch: a permutation of [0, rows) that depends on seed and
/// epoch only (Fisher-Yates driven by Philox4x32-10).
std::vector<int64_t> shuffledRows(int64_t rows, uint64_t seed, uint64_t epoch);

} // namespace bessemer::runtime
