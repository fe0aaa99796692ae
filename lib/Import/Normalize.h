// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From any valid ONNX model to one form: the newest opset, no functions, only
// ops that the importer's tables know, static shapes at the inputs.

#ifndef BESSEMER_LIB_IMPORT_NORMALIZE_H
#define BESSEMER_LIB_IMPORT_NORMALIZE_H

#include "ModelSource.h"
#include "Origins.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <set>

namespace bessemer::ingest {

struct NormalizedModel {
  onnx::ModelProto model;
  Origins origins;
  /// The user's inputs in order; the graph's other inputs stand for large
  /// initializers, whose data is not in `model`.
  std::vector<std::string> inputs;
  std::map<std::string, int64_t> dims;
  /// The inputs that accumulation splits.
  std::vector<std::string> batchInputs;
};

using IsKnownOp =
    llvm::function_ref<bool(const std::string &domain, const std::string &op)>;

/// Checks, inlines, converts and expands. `isKnown` says which ops (by domain
/// and name) the importer has an entry for: they are never expanded.
llvm::FailureOr<NormalizedModel> normalize(const ModelSource &source,
                                           const ImportOptions &options,
                                           IsKnownOp isKnown,
                                           ImportDiagnostics &diagnostics);

} // namespace bessemer::ingest

#endif // BESSEMER_LIB_IMPORT_NORMALIZE_H
