// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checkpoints: the input is a trainer.json, a zero byte and a
// state.safetensors.
#include "TemporaryFile.h"
#include "checkpoint/Safetensors.h"
#include "checkpoint/TrainerFile.h"

#include <algorithm>

using namespace bessemer;
using namespace bessemer::runtime;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const uint8_t *end = std::find(data, data + size, 0);
  std::string_view text(reinterpret_cast<const char *>(data),
                        size_t(end - data));
  // The hash that make_seeds.py writes.
  auto trainer = checkpoint::readTrainer("trainer.json", text, "0");
  if (trainer)
    (void)checkpoint::writeTrainer(*trainer, "0");
  if (end == data + size)
    return 0;
  fuzz::TemporaryFile file(end + 1, size_t(data + size - end - 1));
  auto tensors = checkpoint::SafetensorsFile::open(file.path());
  if (!tensors)
    return 0;
  for (const checkpoint::StoredTensor &tensor : tensors->tensors) {
    fuzz::touch(tensor.data, tensor.type.byteSize());
    (void)tensors->intact(tensor);
  }
  return 0;
}
