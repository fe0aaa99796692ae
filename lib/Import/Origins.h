// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where nodes come from: their name, op and opset in the user's file and the
// Python line that PyTorch's exporter wrote down. Kept apart by value name,
// because ONNX's version converter erases all metadata.

#ifndef BESSEMER_LIB_IMPORT_ORIGINS_H
#define BESSEMER_LIB_IMPORT_ORIGINS_H

#include "onnx/onnx_pb.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <map>
#include <string>
#include <vector>

namespace bessemer::ingest {

/// What a ScatterElements that replaces elements stands for: ONNX has no mean,
/// and PyTorch's exporter writes scatter_reduce(..., "mean") as if the last
/// update of an element replaced the others.
enum class ScatterMean {
  None,
  /// The mean of the updates, without or with the element that was there.
  OfUpdates,
  WithData,
  /// Named after a scatter_reduce, but there is no record of its reduction:
  /// PyTorch's conversion to opsets before 18 strips the records.
  Unknown
};

struct NodeOrigin {
  /// The node's name, or its first output's when it has none.
  std::string name;
  std::string op;
  int64_t opset = 0;
  /// The user's own Python line; empty when unknown.
  std::string file;
  unsigned line = 0;
  /// PyTorch's op that the node stands for ("aten.embedding.default") and its
  /// arguments as text; empty when unknown.
  std::string torchOp;
  std::vector<std::string> torchArguments;
  ScatterMean scatterMean = ScatterMean::None;
};

class Origins {
public:
  /// Remembers the nodes of a graph and its subgraphs.
  void record(const onnx::GraphProto &graph,
              const std::map<std::string, int64_t> &opsets);

  /// Makes `node`, part of the expansion of `call`, count as `call`.
  void inherit(onnx::NodeProto &node, const onnx::NodeProto &call) const;

  /// The origin of a node as it is now; one made up from the node itself when
  /// it came with the version conversion.
  NodeOrigin find(const onnx::NodeProto &node) const;

  /// `node 'conv1' (Conv, opset 21), model.py:41`
  static std::string describe(const NodeOrigin &origin);

private:
  std::map<std::string, NodeOrigin> byOutput;
};

/// Visits the nodes of a graph and of the graphs in their attributes, each
/// before what is in it.
void forEachNode(const onnx::GraphProto &graph,
                 llvm::function_ref<void(const onnx::NodeProto &)> visit);

/// The value of a metadata entry, or "".
template <typename Proto>
llvm::StringRef metadata(const Proto &proto, llvm::StringRef key) {
  for (const auto &entry : proto.metadata_props())
    if (entry.key() == key)
      return entry.value();
  return {};
}

} // namespace bessemer::ingest

#endif // BESSEMER_LIB_IMPORT_ORIGINS_H
