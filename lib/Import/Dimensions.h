// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Binding the symbolic dimensions of a model's inputs to numbers.

#ifndef BESSEMER_LIB_IMPORT_DIMENSIONS_H
#define BESSEMER_LIB_IMPORT_DIMENSIONS_H

#include "bessemer/Import/Import.h"
#include "onnx/onnx_pb.h"

namespace bessemer::ingest {

/// How to export a model so that the compiler keeps its freedom.
inline constexpr const char *exportAdvice =
    "torch.onnx.export(model.train(), args, \"model.onnx\", dynamo=True, "
    "optimize=False, dynamic_shapes=...)";

struct BoundDimensions {
  /// The symbols with their values.
  std::map<std::string, int64_t> values;
  /// The inputs whose dimension 0 is the batch.
  std::vector<std::string> batchInputs;
};

/// Gives every dimension of the graph's inputs named in `inputs` a value, in
/// place. Reports symbols without one, names that are no symbol, a batch other
/// than the exported one, and one that accumulation cannot split.
llvm::FailureOr<BoundDimensions>
bindDimensions(onnx::GraphProto &graph, const std::vector<std::string> &inputs,
               const ImportOptions &options, const std::string &label,
               ImportDiagnostics &diagnostics);

} // namespace bessemer::ingest

#endif // BESSEMER_LIB_IMPORT_DIMENSIONS_H
