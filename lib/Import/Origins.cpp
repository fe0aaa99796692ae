// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes' origins, and the parsing of PyTorch's stack traces.

#include "Origins.h"
#include "Attributes.h"
#include "ExportSignature.h"
#include <tuple>

using namespace bessemer::ingest;
using llvm::StringRef;

static constexpr const char *originKey = "bessemer.origin";

void bessemer::ingest::forEachNode(
    const onnx::GraphProto &graph,
    llvm::function_ref<void(const onnx::NodeProto &)> visit) {
  for (const onnx::NodeProto &node : graph.node()) {
    visit(node);
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        forEachNode(attribute.g(), visit);
  }
}

/// The first output that has a name; every node that matters has one.
static StringRef firstOutput(const onnx::NodeProto &node) {
  for (const std::string &output : node.output())
    if (!output.empty())
      return output;
  return {};
}

/// Picks the frame that the user wrote: the innermost one outside PyTorch.
/// Frames read `File "model.py", line 41, in forward`, outermost first.
static void parseStackTrace(StringRef trace, NodeOrigin &origin) {
  while (true) {
    size_t start = trace.find("File \"");
    if (start == StringRef::npos)
      return;
    trace = trace.drop_front(start + strlen("File \""));
    auto [file, rest] = trace.split('"');
    trace = rest;
    unsigned line = 0;
    if (!rest.consume_front(", line ") || rest.consumeInteger(10, line))
      continue;
    bool inTorch =
        file.contains("site-packages/torch/") || file.contains("/torch/nn/");
    if (inTorch && !origin.file.empty())
      continue;
    origin.file = file.str();
    origin.line = line;
  }
}

namespace {
/// PyTorch's own node, which reads `%y : [...] =
/// call_function[target=torch.ops.aten.op](args = (%x, 0), kwargs = {a: b})`.
struct TorchCall {
  StringRef op, arguments, keywords;

  explicit TorchCall(StringRef record) {
    auto [before, call] = record.split("call_function[target=torch.ops.");
    auto [name, rest] = call.split("](args = (");
    op = name;
    std::tie(arguments, keywords) = rest.split("), kwargs");
  }
};
} // namespace

/// Keeps the op and the positional arguments. Arguments that are lists stay in
/// pieces: none of the ops that are asked for has any.
static void keepTorchCall(TorchCall call, NodeOrigin &origin) {
  if (call.op != "aten.embedding.default" && call.op != "aten.detach.default" &&
      call.op != "aten.embedding_bag.padding_idx")
    return;
  origin.torchOp = call.op.str();
  while (!call.arguments.empty()) {
    auto [argument, others] = call.arguments.split(',');
    origin.torchArguments.push_back(argument.trim().str());
    call.arguments = others;
  }
}

/// The exporter names nodes and values after the traced node.
static bool isNamedScatterReduce(const onnx::NodeProto &node) {
  return StringRef(node.name()).contains("scatter_reduce") ||
         firstOutput(node).contains("scatter_reduce");
}

static ScatterMean scatterMeanOf(const onnx::NodeProto &node,
                                 StringRef record) {
  // Other reductions of a scatter_reduce are in ONNX.
  if (stringAttribute(node, "reduction", "none") != "none")
    return ScatterMean::None;
  if (record.empty())
    return isNamedScatterReduce(node) ? ScatterMean::Unknown
                                      : ScatterMean::None;
  TorchCall call(record);
  if (call.op != "aten.scatter_reduce.two" ||
      call.arguments.rsplit(',').second.trim() != "mean")
    return ScatterMean::None;
  return call.keywords.contains("include_self: False") ? ScatterMean::OfUpdates
                                                       : ScatterMean::WithData;
}

void Origins::record(const onnx::GraphProto &graph,
                     const std::map<std::string, int64_t> &opsets) {
  for (const onnx::NodeProto &node : graph.node()) {
    NodeOrigin origin;
    origin.name = node.name().empty() ? firstOutput(node).str() : node.name();
    std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
    origin.op = domain.empty() ? node.op_type() : domain + "." + node.op_type();
    auto opset = opsets.find(domain);
    origin.opset = opset == opsets.end() ? 0 : opset->second;
    parseStackTrace(metadata(node, "pkg.torch.onnx.stack_trace"), origin);
    std::string traced = tracedNode(node);
    keepTorchCall(TorchCall(traced), origin);
    if (origin.op == "ScatterElements")
      origin.scatterMean = scatterMeanOf(node, traced);
    for (const std::string &output : node.output())
      if (!output.empty())
        byOutput.try_emplace(output, origin);
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        record(attribute.g(), opsets);
  }
}

void Origins::inherit(onnx::NodeProto &node,
                      const onnx::NodeProto &call) const {
  StringRef key = metadata(call, originKey);
  if (key.empty())
    key = firstOutput(call);
  std::string value = key.str();
  node.clear_metadata_props();
  auto *entry = node.add_metadata_props();
  entry->set_key(originKey);
  entry->set_value(value);
}

NodeOrigin Origins::find(const onnx::NodeProto &node) const {
  if (StringRef key = metadata(node, originKey); !key.empty())
    if (auto it = byOutput.find(key.str()); it != byOutput.end())
      return it->second;
  for (const std::string &output : node.output())
    if (auto it = byOutput.find(output); it != byOutput.end())
      return it->second;
  NodeOrigin origin;
  origin.name = node.name().empty() ? firstOutput(node).str() : node.name();
  origin.op = node.op_type();
  return origin;
}

std::string Origins::describe(const NodeOrigin &origin) {
  std::string text = "node '" + origin.name + "' (" + origin.op;
  if (origin.opset)
    text += ", opset " + std::to_string(origin.opset);
  text += ")";
  if (!origin.file.empty())
    text += ", " + origin.file + ":" + std::to_string(origin.line);
  return text;
}
