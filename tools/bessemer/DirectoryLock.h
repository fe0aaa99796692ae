// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One writer at a time.
#pragma once

#include "bessemer/runtime/Status.h"

#include <string>

namespace bessemer::tool {

/// Keeps other runs from writing into a directory for as long as it lives; the
/// system takes it from a process that dies. File systems without locks grant
/// it to everybody.
class DirectoryLock {
public:
  /// `flag` is the one that chose the directory; an error advises another.
  static runtime::Expected<DirectoryLock> acquire(const std::string &directory,
                                                  const char *flag);

  DirectoryLock() = default;
  DirectoryLock(DirectoryLock &&other) noexcept;
  DirectoryLock &operator=(DirectoryLock &&other) noexcept;
  ~DirectoryLock();

private:
  explicit DirectoryLock(int descriptor) : descriptor(descriptor) {}

  int descriptor = -1;
};

} // namespace bessemer::tool
