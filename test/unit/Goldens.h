// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads files of golden cases, which a script beside them wrote.

#ifndef BESSEMER_TEST_UNIT_GOLDENS_H
#define BESSEMER_TEST_UNIT_GOLDENS_H

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

namespace bessemer::test {

/// The cases in the file at `path`: a JSON array.
inline llvm::json::Value readGoldens(const char *path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    llvm::report_fatal_error(llvm::Twine("cannot read ") + path);
  return llvm::cantFail(llvm::json::parse((*file)->getBuffer()));
}

} // namespace bessemer::test

#endif // BESSEMER_TEST_UNIT_GOLDENS_H
