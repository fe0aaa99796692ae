// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a normalised ONNX graph to a module of the graph dialect.

#ifndef BESSEMER_LIB_IMPORT_MODELIMPORTER_H
#define BESSEMER_LIB_IMPORT_MODELIMPORTER_H

#include "Normalize.h"
#include "ParameterRoles.h"

namespace bessemer::ingest {

/// Whether the importer has an entry for an op of ONNX's domain, in its tables
/// or as something that only folding removes.
bool isKnownOp(const std::string &op);

/// Builds the module: states, `@model`, errors for all nodes that cannot be
/// imported. Adds states that it had to make to `roles`. `customOps` may be
/// null.
llvm::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
buildModule(mlir::MLIRContext &context, const ModelSource &source,
            const NormalizedModel &normalized,
            std::vector<InitializerInfo> &roles, const CustomOps *customOps,
            ImportDiagnostics &diagnostics);

} // namespace bessemer::ingest

#endif // BESSEMER_LIB_IMPORT_MODELIMPORTER_H
