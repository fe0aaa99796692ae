// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Means of scattered elements, which ONNX has no word for.

#ifndef BESSEMER_LIB_IMPORT_SCATTERMEANS_H
#define BESSEMER_LIB_IMPORT_SCATTERMEANS_H

#include "ModelSource.h"

namespace bessemer::ingest {

/// PyTorch's exporter writes scatter_reduce(..., "mean") as if the last update
/// of an element replaced the others. Its record of the traced node, which the
/// importer reads, tells it from a scatter that does: a warning says that other
/// runtimes compute something else. The conversion to opsets before 18 strips
/// the records; what is named after a scatter_reduce fails then.
llvm::LogicalResult checkScatterMeans(const ModelSource &source,
                                      ImportDiagnostics &diagnostics);

} // namespace bessemer::ingest

#endif // BESSEMER_LIB_IMPORT_SCATTERMEANS_H
