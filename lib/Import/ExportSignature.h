// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What PyTorch's current exporter writes down of the module that it exported,
// whatever became of its tensors.

#ifndef BESSEMER_LIB_IMPORT_EXPORTSIGNATURE_H
#define BESSEMER_LIB_IMPORT_EXPORTSIGNATURE_H

#include "onnx/onnx_pb.h"
#include <set>
#include <string>
#include <vector>

namespace bessemer::ingest {

/// An input of the traced graph, or a value that it returns in its place.
struct ExportedInput {
  /// The name in the traced graph: `p_bn_weight`.
  std::string placeholder;
  /// PARAMETER, BUFFER, USER_INPUT, ...
  std::string kind;
  /// The tensor of the module, `bn.weight`; empty for inputs of the user.
  std::string target;
};

/// The lines of the signature in the graph's metadata, empty when there is
/// none.
std::vector<ExportedInput> exportedInputs(const onnx::GraphProto &graph);

/// The text of the traced node that `node` is part of, empty when unknown:
/// `%y : [...] = call_function[target=torch.ops.aten.op](args = (%x, 0), kwargs
/// = {})`.
std::string tracedNode(const onnx::NodeProto &node);

/// The values that a traced node reads, without the percent signs.
std::set<std::string> tracedOperands(const std::string &tracedNode);

} // namespace bessemer::ingest

#endif // BESSEMER_LIB_IMPORT_EXPORTSIGNATURE_H
