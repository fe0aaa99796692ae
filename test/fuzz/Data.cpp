// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Data files: .npy, .npz, IDX, and gzips of them.
#include "bessemer/runtime/Data.h"
#include "TemporaryFile.h"

using namespace bessemer;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::TemporaryFile file(data, size);
  auto arrays = runtime::readArrays(file.path());
  if (!arrays)
    return 0;
  for (const runtime::NamedArray &array : *arrays)
    fuzz::touch(array.array.data, array.array.type.byteSize());
  return 0;
}
