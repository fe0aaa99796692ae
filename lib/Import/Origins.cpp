// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes' origins, and the parsing of PyTorch's stack traces.

#include "Origins.h"

using namespace bessemer::ingest;
using llvm::StringRef;

static constexpr const char *originKey = "bessemer.origin";

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

/// The op and the positional arguments of PyTorch's own node, which reads
/// `%y : [...] = call_function[target=torch.ops.aten.op](args = (%x, 0), kwargs
/// = {})`. Arguments that are lists stay in pieces: none of the ops that are
/// asked for has any. The keyword arguments of a scatter are one text at the
/// end.
static void parseTorchNode(StringRef text, NodeOrigin &origin) {
  auto [before, call] = text.split("call_function[target=torch.ops.");
  auto [op, rest] = call.split("](args = (");
  auto [arguments, after] = rest.split("), kwargs");
  if (op != "aten.embedding.default" && op != "aten.detach.default" &&
      op != "aten.embedding_bag.padding_idx" && op != "aten.scatter_reduce.two")
    return;
  origin.torchOp = op.str();
  while (!arguments.empty()) {
    auto [argument, others] = arguments.split(',');
    origin.torchArguments.push_back(argument.trim().str());
    arguments = others;
  }
  if (op == "aten.scatter_reduce.two")
    origin.torchArguments.push_back(after.trim().str());
}

/// The first output that has a name; every node that matters has one.
static StringRef firstOutput(const onnx::NodeProto &node) {
  for (const std::string &output : node.output())
    if (!output.empty())
      return output;
  return {};
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
    parseTorchNode(metadata(node, "pkg.torch.onnx.fx_node"), origin);
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
