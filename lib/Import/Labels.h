// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The labels of ONNX's losses. Their bodies look labels up as indices, of which
// more are valid than there are classes: what they are is noted before.

#ifndef BESSEMER_LIB_IMPORT_LABELS_H
#define BESSEMER_LIB_IMPORT_LABELS_H

#include "onnx/onnx_pb.h"
#include <optional>

namespace bessemer::ingest {

struct Labels {
  int64_t classes = 0;
  /// A label that counts for nothing.
  std::optional<int64_t> ignored;
};

/// Makes all nodes of `body`, the body of the node `loss` with scores of type
/// `scores`, read labels by way of an Identity that says what they are. Leaves
/// the bodies of other ops alone.
void markLabels(onnx::FunctionProto &body, const onnx::NodeProto &loss,
                const onnx::TypeProto &scores);

/// What an Identity says of the labels that go through it.
std::optional<Labels> labelsThrough(const onnx::NodeProto &identity);

} // namespace bessemer::ingest

#endif // BESSEMER_LIB_IMPORT_LABELS_H
