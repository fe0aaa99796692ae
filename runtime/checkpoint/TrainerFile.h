// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// trainer.json as text.
#pragma once

#include "bessemer/runtime/Checkpoint.h"

namespace bessemer::runtime::checkpoint {

/// `states`, a hash of the state file's header, ties the file to it.
std::string writeTrainer(const TrainerState &state, const std::string &states);

/// Errors name the file and the key.
Expected<TrainerState> readTrainer(const std::string &path,
                                   std::string_view text,
                                   const std::string &states);

} // namespace bessemer::runtime::checkpoint
