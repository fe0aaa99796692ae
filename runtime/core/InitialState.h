// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The value that a state starts with.
#pragma once

#include "core/ProgramImpl.h"

namespace bessemer::runtime {

/// Writes the initial value of a state: a blob, or one number everywhere.
Status writeInitialState(const Program::Impl &program, size_t state,
                         std::byte *target);

} // namespace bessemer::runtime
