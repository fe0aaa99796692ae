// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Putting a finished directory in the place of an old one.
#pragma once

#include "bessemer/runtime/Status.h"

#include <string>

namespace bessemer::runtime::checkpoint {

/// An error when saving to `directory` would replace something else than a
/// checkpoint, under its own name or one that saving needs beside it.
Status checkReplaceable(const std::string &directory);

/// The directory to fill for `directory`: empty, beside it.
Expected<std::string> prepareBeside(const std::string &directory);

/// Removes a prepared directory that could not be filled.
void discard(const std::string &prepared);

/// Puts the prepared directory, whose files are synced, in place of
/// `directory`. renameat2 with RENAME_EXCHANGE swaps the two in one step, so
/// there is a whole checkpoint under the name at every moment. On a file
/// system without it (some network ones) the old one is first renamed to
/// "NAME.old", where `directoryToRead` finds it after a crash.
Status publish(const std::string &prepared, const std::string &directory);

/// `directory`, or "NAME.old" when a crash left only that.
std::string directoryToRead(const std::string &directory);

} // namespace bessemer::runtime::checkpoint
