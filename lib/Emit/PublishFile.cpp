// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Write beside, sync, rename.

#include "PublishFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <fcntl.h>
#include <unistd.h>

using namespace llvm;

static Error failure(StringRef path, std::error_code code) {
  return createStringError(code, "%s: %s", path.str().c_str(),
                           code.message().c_str());
}

static std::error_code lastError() {
  return std::error_code(errno, std::generic_category());
}

/// Makes the renaming itself durable. Some file systems cannot; the content is
/// safe by then.
static void syncDirectory(StringRef path) {
  StringRef parent = sys::path::parent_path(path);
  int directory = open(parent.empty() ? "." : parent.str().c_str(),
                       O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0)
    return;
  fsync(directory);
  close(directory);
}

Error bessemer::publishFile(StringRef path,
                            function_ref<void(raw_ostream &)> write) {
  int file = -1;
  SmallString<128> beside;
  if (std::error_code code = sys::fs::createUniqueFile(
          path + ".%%%%%%%%.partial", file, beside, sys::fs::OF_None, 0666))
    return failure(path, code);
  std::error_code code;
  {
    raw_fd_ostream stream(file, /*shouldClose=*/false);
    write(stream);
    stream.flush();
    code = stream.error();
    stream.clear_error();
  }
  if (!code && fsync(file) != 0)
    code = lastError();
  if (close(file) != 0 && !code)
    code = lastError();
  if (!code)
    code = sys::fs::rename(beside, path);
  if (code) {
    sys::fs::remove(beside);
    return failure(path, code);
  }
  syncDirectory(path);
  return Error::success();
}
