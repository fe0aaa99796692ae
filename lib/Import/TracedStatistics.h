// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Running statistics that the exporter's tracing has touched.

#ifndef BESSEMER_LIB_IMPORT_TRACEDSTATISTICS_H
#define BESSEMER_LIB_IMPORT_TRACEDSTATISTICS_H

#include "ModelSource.h"

namespace bessemer::ingest {

/// PyTorch's TorchScript exporter runs the module once; in training mode that
/// run updates the running statistics with the example batch, and the file has
/// the result. Where all statistics of a model are what one batch leaves of
/// mean 0 and variance 1 (every running variance is at least the momentum),
/// they say nothing about the data: they are set back to 0 and 1, with a
/// warning. Statistics of a trained model, among which smaller variances
/// occur, stay as they are.
void resetTracedStatistics(ModelSource &source, ImportDiagnostics &diagnostics);

} // namespace bessemer::ingest

#endif // BESSEMER_LIB_IMPORT_TRACEDSTATISTICS_H
