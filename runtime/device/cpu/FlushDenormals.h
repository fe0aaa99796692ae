// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Denormal floats count as zero while a function runs.
#pragma once

#include <span>

namespace bessemer::runtime {

/// Sets flush-to-zero and denormals-are-zero in the calling thread, or in each
/// thread of OpenMP's pool, and gives each its old mode back at the end. One
/// scope per run rather than per launch, because the vendor library's regions
/// need it too.
class FlushDenormals {
public:
  /// `saved` has a place for each of the threads; one place is the caller's.
  explicit FlushDenormals(std::span<unsigned> saved);
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals &) = delete;
  FlushDenormals &operator=(const FlushDenormals &) = delete;

  /// The same without an end.
  static void setForThread();

private:
  std::span<unsigned> saved;
};

} // namespace bessemer::runtime
