// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What labels must be, for artifacts that do not say it themselves.
#pragma once

#include "core/ProgramImpl.h"

namespace bessemer::runtime {

/// Gives the input `labels` its classes, as the settings say: an artifact of
/// format 1.2 or earlier has no ranges, and its users checked labels so.
void addLabelRange(Program::Impl &impl);

} // namespace bessemer::runtime
