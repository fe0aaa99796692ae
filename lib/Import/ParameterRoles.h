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

/// Warns when the exporter seems to have folded parameters away: BatchNorm
/// into convolutions, or transposed copies in place of weights.
void warnOfFoldedParameters(const ModelSource &source,
                            const NormalizedModel &normalized,
                            llvm::ArrayRef<InitializerInfo> roles,
                            ImportDiagnostics &diagnostics);

} // namespace bessemer::ingest

#endif // BESSEMER_LIB_IMPORT_PARAMETERROLES_H
