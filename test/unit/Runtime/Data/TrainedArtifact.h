// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program small enough to know by heart, with data to train it on.
#pragma once

#include "TestArtifact.h"
#include "TestFiles.h"

#include "bessemer/runtime/BatchLoader.h"

namespace bessemer::test {

inline constexpr int64_t trainedBatch = 4;

/// States: `p` f32[4x16] from ones, `seen` and `nonfinite_step` i64.
///   train_step(x f32[4x16]) -> loss = x[0, 0] * p[0, 0] at entry;
///       p -= lr * x; seen += valid rows
///   eval_step(x) -> loss_sum = x[0, 0] * p[0, 0], count = 4, correct = 3
/// So losses depend on the order of rows, the rates and the parameters.
TestArtifact trainedArtifact(double nonfiniteStep = -1);

/// Rows of 16 small numbers; row `nanRow` holds a NaN (none when negative).
std::shared_ptr<const runtime::BoundData>
trainingData(const runtime::Session &session, const std::string &function,
             int64_t rows, int64_t nanRow = -1);

} // namespace bessemer::test
