// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walk over the nodes of a graph and its subgraphs: folds what is known,
// asks the op tables for the rest, runs control flow. Conditions, trip counts
// and the lengths of sequences are known while importing, so that nothing of
// them is left in the graph dialect.
//
// Iterations of a loop that do the same with different elements are imported
// together, as *lanes*: integers are affine in the lane, tensors have the lane
// as a leading dimension. A thousand bags of an EmbeddingBag become one
// reduction; a loop whose iterations need each other is unrolled.

#ifndef BESSEMER_LIB_IMPORT_GRAPHIMPORTER_H
#define BESSEMER_LIB_IMPORT_GRAPHIMPORTER_H

#include "NodeImport.h"
#include "Origins.h"
#include "bessemer/Import/Import.h"
#include <list>

namespace bessemer::ingest {

class GraphImporter {
public:
  /// `initializer` imports the initializer of a name, or returns null when
  /// there is none or after an error.
  GraphImporter(const onnx::GraphProto &graph, const Origins &origins,
                std::string label, mlir::OpBuilder &builder, ImportState &state,
                std::function<Imported *(const std::string &)> initializer,
                ImportDiagnostics &diagnostics);

  /// Defines a name in the innermost graph.
  Imported &define(const std::string &name);
  /// The value of a name, or null after an error that made it unknown.
  Imported *lookUp(const std::string &name);
  /// Imports all nodes, also after one that failed.
  void importNodes();

private:
  using Operands = std::vector<Imported *>;
  /// What a node makes, by output; nothing after an error, which is reported.
  using Results = std::optional<std::vector<Imported>>;
  using Names = std::map<std::string, Imported>;

  // GraphImporter.cpp
  bool importNode(const onnx::NodeProto &node);
  Results importOp(const onnx::NodeProto &node, const Operands &operands);
  /// The entry of the node's op among those of custom domains, or null.
  const CustomOp *findCustom(const onnx::NodeProto &node) const {
    return state.customOps
               ? state.customOps->find(node.domain(), node.op_type())
               : nullptr;
  }
  void report(const onnx::NodeProto &node, const llvm::Twine &what);
  /// Folds a node within what is left of the model's budget.
  std::optional<Literal> fold(const onnx::NodeProto &node,
                              llvm::ArrayRef<FoldOperand> operands);
  static bool isConstant(const onnx::NodeProto &node);
  /// Null where a tensor of the program cannot have the elements' type.
  mlir::RankedTensorType typeOf(const Literal &literal) const;
  /// The most elements that a known tensor may have now.
  int64_t largestFolded() const;
  mlir::Location locationOf(const NodeOrigin &origin);
  /// Imports an op that stands for a part of `node`.
  std::optional<Imported>
  emit(const onnx::NodeProto &node, const char *op, const Operands &operands,
       std::initializer_list<std::pair<const char *, int64_t>> attributes = {});
  std::optional<Imported> reshaped(const onnx::NodeProto &node, Imported &value,
                                   std::vector<int64_t> shape);

  // ImportControlFlow.cpp
  Results importIf(const onnx::NodeProto &node, const Operands &operands);
  Results importLoop(const onnx::NodeProto &node, const Operands &operands);
  struct LoopRun;
  bool runIterations(const onnx::NodeProto &node, LoopRun &run, int64_t count);
  bool probeLoop(const onnx::NodeProto &node, LoopRun &run);
  /// Imports the nodes of a subgraph, up to one that fails.
  bool importSubgraph(const onnx::GraphProto &graph);
  /// What a subgraph's initializers and Constant nodes are: the same in every
  /// iteration.
  Names &constantsOf(const onnx::GraphProto &graph);
  /// Whether the iterations so far are more than a module can hold.
  bool unrollsTooMuch() const;

  // ImportSegments.cpp
  struct Segments;
  /// Imports a loop over bags whose sizes are not known, if `node` is one.
  bool importBags(const onnx::NodeProto &node, const Operands &operands,
                  Results &results);
  std::optional<Segments> matchSegments(const onnx::NodeProto &node);
  std::optional<Segments> matchTracedBags(const onnx::GraphProto &body);
  std::optional<Segments> matchExportedBags(const NodeOrigin &origin,
                                            const onnx::GraphProto &body);
  Results importSegments(const onnx::NodeProto &node, const Operands &operands,
                         Segments segments);

  // ImportSequence.cpp
  Results importSequenceOp(const onnx::NodeProto &node,
                           const Operands &operands);
  Results concatFromSequence(const onnx::NodeProto &node,
                             const ImportedList &list);
  Results splitToSequence(const onnx::NodeProto &node,
                          const Operands &operands);
  std::optional<Imported> elementOf(const onnx::NodeProto &node,
                                    const ImportedList &list, int64_t index);
  /// The elements of a list along a new leading dimension.
  std::optional<Imported> stackOf(const onnx::NodeProto &node,
                                  const ImportedList &list);

  // ImportLanes.cpp
  Results importInLanes(const onnx::NodeProto &node, const Operands &operands);
  Results foldInLanes(const onnx::NodeProto &node, const Operands &operands);
  Results sliceInLanes(const onnx::NodeProto &node, const Operands &operands);
  Results gatherInLanes(const onnx::NodeProto &node, const Operands &operands);
  Results reduceInLanes(const onnx::NodeProto &node, const Operands &operands);
  Results elementwiseInLanes(const onnx::NodeProto &node,
                             const Operands &operands);
  /// The value with the lanes as leading dimension, whatever it is now.
  std::optional<Imported> stacked(const onnx::NodeProto &node,
                                  const Imported &value);
  /// Gives up: the most lanes that could go together, 0 for none.
  std::nullopt_t narrow(int64_t lanes) {
    laneLimit = std::min(laneLimit, lanes);
    return std::nullopt;
  }

  const onnx::GraphProto &graph;
  const Origins &origins;
  std::string label;
  mlir::OpBuilder &builder;
  ImportState &state;
  std::function<Imported *(const std::string &)> initializer;
  ImportDiagnostics &diagnostics;
  /// How many nodes read a name.
  std::map<std::string, unsigned> uses;
  /// Names by graph, the outermost first.
  struct Scope {
    Names names;
    Names *constants = nullptr;
  };
  std::list<Scope> scopes;
  std::map<const onnx::GraphProto *, Names> subgraphConstants;
  /// Iterations imported together; 0 outside of lanes.
  int64_t lanes = 0;
  int64_t laneLimit = 0;
  /// Errors are not reported but end the attempt.
  bool isAttempt = false;
  /// Loops around the current node.
  int64_t loopDepth = 0;
  /// Nodes of loops' bodies so far, counted in every iteration, and elements of
  /// what is known in them.
  int64_t unrolledNodes = 0, unrolledElements = 0;
  bool hasReportedUnrolling = false;
  /// Elements that folding has read and written.
  int64_t foldedElements = 0;
};

/// The concatenation of `chunks` along dimension 0 as one computation, where
/// neighbours are the same computation of neighbouring slices of one tensor;
/// what cannot be joined stays as it is.
std::vector<mlir::Value> joinChunks(std::vector<mlir::Value> chunks,
                                    mlir::OpBuilder &builder);

/// An integer that grows by `slope` with every lane. It wraps, as the sums that
/// it stands for do.
int64_t affineAt(int64_t first, int64_t slope, int64_t lane);

/// Whether an op makes or reads sequences.
bool isSequenceOp(const std::string &op);

/// Whether an op works element by element, with NumPy's broadcasts.
bool isElementwise(const std::string &op);

/// The entry of an op in the importer's tables, or null.
Handler handlerOf(const std::string &op);

} // namespace bessemer::ingest

#endif // BESSEMER_LIB_IMPORT_GRAPHIMPORTER_H
