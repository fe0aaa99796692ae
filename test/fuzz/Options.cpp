// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The compiler's options: JSON into CompileOptions.
#include "bessemer/Pipelines/CompileOptions.h"

#include <cstddef>
#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string error;
  (void)bessemer::parseCompileOptions(
      std::string(reinterpret_cast<const char *>(data), size), error);
  return 0;
}
