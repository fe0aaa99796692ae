// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Models: ONNX into the graph dialect.
#include "bessemer/Import/Import.h"
#include "mlir/IR/MLIRContext.h"

#include <cstdlib>

using namespace bessemer;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  ImportOptions options;
  options.path = "fuzz.onnx";
  options.bytes = llvm::StringRef(reinterpret_cast<const char *>(data), size);
  options.batch = 4;
  // External data is looked for where none is.
  options.baseDir = "/nonexistent";
  ImportDiagnostics diagnostics;
  auto imported = importOnnx(context, options, diagnostics);
  // A refusal without a reason is a fault, too.
  if (llvm::failed(imported) && diagnostics.errors.empty())
    std::abort();
  return 0;
}
