// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which initializers are trained, which are running statistics, which are
// constants, and why.

#ifndef BESSEMER_LIB_IMPORT_PARAMETERROLES_H
#define BESSEMER_LIB_IMPORT_PARAMETERROLES_H

#include "Normalize.h"
#include "llvm/ADT/ArrayRef.h"

namespace bessemer::ingest {

/// One entry per initializer of the source, in its order: DESIGN.md, "What is
/// trained". Reports patterns that match nothing.
llvm::FailureOr<std::vector<InitializerInfo>>
assignRoles(const ModelSource &source, const NormalizedModel &normalized,
            const ImportOptions &options, ImportDiagnostics &diagnostics);

/// Masks are tensors of 0 (or 1) and minus infinity, or of both 0 and 1, or
/// the one low number that stands for what is masked.
bool looksLikeMask(const Initializer &initializer);

/// Names that exporters make up for constants.
bool isGeneratedName(llvm::StringRef name);

} // namespace bessemer::ingest

#endif // BESSEMER_LIB_IMPORT_PARAMETERROLES_H
