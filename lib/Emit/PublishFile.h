// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes a file so that its path holds the old or the new content, whole.

#ifndef BESSEMER_LIB_EMIT_PUBLISHFILE_H
#define BESSEMER_LIB_EMIT_PUBLISHFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace bessemer {

/// Calls `write` with a stream to a file beside `path`, syncs it, renames it to
/// `path` and syncs the directory. When the system fails, `path` is as it was
/// and nothing is left beside it; the error is `PATH: REASON`.
llvm::Error publishFile(llvm::StringRef path,
                        llvm::function_ref<void(llvm::raw_ostream &)> write);

} // namespace bessemer

#endif // BESSEMER_LIB_EMIT_PUBLISHFILE_H
