// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random inputs of a function, the same at every run.
#pragma once

#include "bessemer/runtime/Program.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace bessemer::tool {

class SyntheticInputs {
public:
  SyntheticInputs() = default;
  /// Floats are normal, or in [0, 1) for `labels`; whole numbers are in
  /// [0, below), and where the input has ranges in all of these.
  SyntheticInputs(const runtime::FunctionInfo &function,
                  std::optional<int64_t> below);

  /// Points into this object and into the function.
  std::span<const runtime::NamedTensor> tensors() const { return views; }

private:
  std::vector<std::vector<std::byte>> buffers;
  std::vector<runtime::NamedTensor> views;
};

} // namespace bessemer::tool
