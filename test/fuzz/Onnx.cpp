// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Models: ONNX into the graph dialect.
#include "../unit/MutateProtobuf.h"
#include "bessemer/Import/Import.h"
#include "mlir/IR/MLIRContext.h"

#include <cstdlib>
#include <cstring>

using namespace bessemer;
using namespace bessemer::test;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

static std::string_view textOf(const uint8_t *data, size_t size) {
  return {reinterpret_cast<const char *>(data), size};
}

/// Writes the mutated fields; 0 when they are none or too many bytes.
static size_t writeMutant(Fields model, Fields donor, Random &random,
                          uint8_t *out, size_t most) {
  for (size_t i = 0, end = 1 + below(random, 4); i < end; ++i)
    mutateFields(model, donor, random);
  std::string mutant = writeFields(model);
  if (mutant.size() > most)
    return 0;
  std::memcpy(out, mutant.data(), mutant.size());
  return mutant.size();
}

/// Mostly fields, as few messages with a wrong byte are still messages.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t most, unsigned seed) {
  Random random(seed);
  Fields model = readFields(textOf(data, size));
  if (!model.empty() && below(random, 5))
    if (size_t written = writeMutant(model, model, random, data, most))
      return written;
  return LLVMFuzzerMutate(data, size, most);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size,
                                            const uint8_t *other,
                                            size_t otherSize, uint8_t *out,
                                            size_t most, unsigned seed) {
  Random random(seed);
  Fields model = readFields(textOf(data, size)),
         donor = readFields(textOf(other, otherSize));
  return model.empty() || donor.empty()
             ? 0
             : writeMutant(model, donor, random, out, most);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  ImportOptions options;
  options.path = "fuzz.onnx";
  options.bytes = llvm::StringRef(reinterpret_cast<const char *>(data), size);
  // External data is looked for where none is.
  options.baseDir = "/nonexistent";
  ImportDiagnostics diagnostics;
  auto imported = importOnnx(context, options, diagnostics);
  if (llvm::failed(imported) && diagnostics.errors.size() == 1 &&
      llvm::StringRef(diagnostics.errors[0]).contains("--batch N")) {
    diagnostics = {};
    options.batch = 4;
    imported = importOnnx(context, options, diagnostics);
  }
  // A refusal without a reason is a fault, too.
  if (llvm::failed(imported) && diagnostics.errors.empty())
    std::abort();
  return 0;
}
