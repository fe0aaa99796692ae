// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From flags, the program's settings and a checkpoint to what a run does.
#pragma once

#include "Flags.h"

#include "bessemer/runtime/Trainer.h"

namespace bessemer::tool {

/// Flags win over the checkpoint (with a note on stderr when they differ, as
/// the run then is no longer the one that was interrupted), the checkpoint over
/// the program. Another seed than the checkpoint's is an error.
Expected<runtime::TrainerOptions>
trainerOptions(const Arguments &arguments, const runtime::Session &session,
               const runtime::BoundData &data,
               const std::optional<runtime::TrainerState> &resume);

} // namespace bessemer::tool
