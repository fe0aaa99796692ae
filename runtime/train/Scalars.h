// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scalar results and states of a session.
#pragma once

#include "bessemer/runtime/Session.h"

#include <optional>

namespace bessemer::runtime::train_detail {

/// Whether the function has this result.
bool hasOutput(const Session &session, std::string_view function,
               std::string_view name);
/// Reads an f32 scalar result of the function's last run.
Expected<double> readScalar(const Session &session, std::string_view function,
                            std::string_view name);
/// The first step (counted from 0) whose loss was not finite, if the program
/// records it and there was one.
Expected<std::optional<uint64_t>> nonfiniteStep(const Session &session);

} // namespace bessemer::runtime::train_detail
