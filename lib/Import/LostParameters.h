// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What PyTorch's exporters lose of a module that is to be trained.

#ifndef BESSEMER_LIB_IMPORT_LOSTPARAMETERS_H
#define BESSEMER_LIB_IMPORT_LOSTPARAMETERS_H

#include "ModelSource.h"
#include "llvm/ADT/ArrayRef.h"

namespace bessemer::ingest {

/// Warns, once and with the export call that loses nothing, when the exporter
/// folded, merged or dropped parameters, BatchNorm layers or `detach()`.
void warnOfLostParameters(const ModelSource &source,
                          llvm::ArrayRef<InitializerInfo> roles,
                          ImportDiagnostics &diagnostics);

} // namespace bessemer::ingest

#endif // BESSEMER_LIB_IMPORT_LOSTPARAMETERS_H
