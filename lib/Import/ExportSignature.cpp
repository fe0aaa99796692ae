// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsing of the texts that PyTorch's current exporter leaves as metadata.

#include "ExportSignature.h"
#include "Origins.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace bessemer;
using namespace bessemer::ingest;
using llvm::StringRef;

/// Lines read `b_bn_running_mean: BUFFER target='bn.running_mean'
/// persistent=True`, and `x: USER_INPUT`.
std::vector<ExportedInput>
ingest::exportedInputs(const onnx::GraphProto &graph) {
  StringRef signature =
      metadata(graph, "pkg.torch.export.ExportedProgram.graph_signature");
  llvm::SmallVector<StringRef> lines;
  signature.split(lines, '\n');
  std::vector<ExportedInput> inputs;
  for (StringRef line : lines) {
    auto [placeholder, rest] = line.split(": ");
    if (rest.empty())
      continue;
    auto [kind, options] = rest.split(' ');
    StringRef target;
    if (options.consume_front("target='"))
      target = options.take_until([](char c) { return c == '\''; });
    inputs.push_back({placeholder.str(), kind.str(), target.str()});
  }
  return inputs;
}

std::string ingest::tracedNode(const onnx::NodeProto &node) {
  return metadata(node, "pkg.torch.onnx.fx_node").str();
}

std::set<std::string> ingest::tracedOperands(const std::string &tracedNode) {
  std::set<std::string> names;
  StringRef rest = StringRef(tracedNode).split("](args = ").second;
  while (!rest.empty()) {
    rest = rest.split('%').second;
    StringRef name =
        rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (!name.empty())
      names.insert(name.str());
  }
  return names;
}
