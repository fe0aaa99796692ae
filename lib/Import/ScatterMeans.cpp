// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Means of scattered elements, which ONNX has no word for.

#include "ScatterMeans.h"
#include "Attributes.h"
#include "Origins.h"
#include "llvm/ADT/STLExtras.h"

using namespace bessemer;
using namespace bessemer::ingest;

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

namespace {
/// The nodes that stand for means, and those that cannot be told from means.
struct Means {
  std::vector<const onnx::NodeProto *> known, unknown;

  void collect(const Nodes &nodes);
};
} // namespace

static llvm::StringRef tracedNode(const onnx::NodeProto &node) {
  return metadata(node, "pkg.torch.onnx.fx_node");
}

/// The exporter names nodes and values after the traced node. Other reductions
/// of a scatter_reduce are in ONNX.
static bool isNamedScatterReduce(const onnx::NodeProto &node) {
  return llvm::StringRef(node.name()).contains("scatter_reduce") ||
         (node.output_size() &&
          llvm::StringRef(node.output(0)).contains("scatter_reduce"));
}

void Means::collect(const Nodes &nodes) {
  for (const onnx::NodeProto &node : nodes) {
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        collect(attribute.g().node());
    if (node.op_type() != "ScatterElements" ||
        stringAttribute(node, "reduction", "none") != "none")
      continue;
    llvm::StringRef traced = tracedNode(node);
    if (traced.empty() && isNamedScatterReduce(node))
      unknown.push_back(&node);
    if (!traced.contains("torch.ops.aten.scatter_reduce.two](") ||
        !traced.contains(", mean)"))
      continue;
    // A mean without the data is two nodes: the first one clears the elements.
    if (!known.empty() && tracedNode(*known.back()) == traced)
      known.pop_back();
    known.push_back(&node);
  }
}

llvm::LogicalResult ingest::checkScatterMeans(const ModelSource &source,
                                              ImportDiagnostics &diagnostics) {
  const onnx::ModelProto &model = source.model;
  if (model.producer_name() != "pytorch")
    return llvm::success();
  Means means;
  means.collect(model.graph().node());
  for (const onnx::FunctionProto &function : model.functions())
    means.collect(function.node());
  std::map<std::string, int64_t> opsets;
  for (const onnx::OperatorSetIdProto &import : model.opset_import())
    opsets[import.domain() == "ai.onnx" ? "" : import.domain()] =
        import.version();
  auto describe = [&](const onnx::NodeProto *node) {
    onnx::GraphProto alone;
    *alone.add_node() = *node;
    Origins origins;
    origins.record(alone, opsets);
    return source.label + ": " + Origins::describe(origins.find(*node)) + ": ";
  };
  for (const onnx::NodeProto *node : means.known)
    diagnostics.warnings.push_back(
        describe(node) +
        "PyTorch's scatter_reduce with 'mean', which ONNX lacks: it is "
        "computed "
        "as such here, but what the file says, and the trained .onnx, is that "
        "the last update replaces the others, as other runtimes compute it");
  for (const onnx::NodeProto *node : means.unknown)
    diagnostics.errors.push_back(
        describe(node) +
        "PyTorch's scatter_reduce, expected a record of its reduction, as a "
        "mean is written as a scatter that replaces: export with "
        "opset_version=18 or later");
  return llvm::success(means.unknown.empty());
}
