// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the op tables see: one ONNX node with its operands, and the builder that
// takes its place in the graph dialect. A table maps an op's name to a handler;
// there is one table per op family, in Import<Family>.cpp.

#ifndef BESSEMER_LIB_IMPORT_NODEIMPORT_H
#define BESSEMER_LIB_IMPORT_NODEIMPORT_H

#include "Attributes.h"
#include "Literal.h"
#include "Origins.h"
#include "Sizes.h"
#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "bessemer/Import/CustomOp.h"
#include "llvm/ADT/StringMap.h"
#include <memory>
#include <set>

namespace bessemer::ingest {

/// What the handlers of one model share.
struct ImportState {
  /// Ops of custom domains; may be null.
  const CustomOps *customOps = nullptr;
  /// The step block, an argument that the function gets when it is first asked
  /// for.
  std::function<mlir::Value()> step;
  /// The random ids given so far; the next op gets the next one.
  int64_t randomIds = 0;
  /// Elements of the windows of pools whose indices are asked for, so far.
  int64_t poolElements = 0;
  /// x of every value that is sigmoid(x) or softmax(x), for stable logarithms.
  llvm::DenseMap<mlir::Value, mlir::Value> sigmoidOf;
  llvm::DenseMap<mlir::Value, std::pair<mlir::Value, int64_t>> softmaxOf;
  /// Running statistics of batch norms imported so far, by state.
  std::set<std::string> usedStatistics;
  /// Makes a second state with the initial value of the first.
  std::function<mlir::Value(graph::ReadOp, const std::string &name)>
      duplicateState;
};

struct ListItem;

/// The elements of a sequence. Copies share them, also when one grows.
struct ImportedList {
  std::shared_ptr<std::vector<ListItem>> items;
  size_t itemCount = 0;

  llvm::ArrayRef<ListItem> get() const;
  void append(ListItem item);
  int64_t length() const;
};

/// A value while importing: known elements, or an SSA value, or both once the
/// elements have been asked for as a value; or a sequence of such.
struct Imported {
  std::optional<Literal> literal;
  mlir::Value value;
  mlir::RankedTensorType type;
  std::optional<ImportedList> list;

  // Within a loop of which several iterations, the lanes, are imported
  // together (see GraphImporter.h):

  /// The integers of lane k are `literal` + k `slope`; empty for 0.
  std::vector<int64_t> slope;
  /// The leading dimension is the lane.
  bool isStacked = false;
  /// The literal holds in the first lanes only; 0 for all.
  int64_t validLanes = 0;
  /// A sequence that the loop carries: what it has at the entry of an
  /// iteration, and with the element that the iteration added. Only one
  /// insertion leads from the one to the other.
  bool isGrowing = false, hasGrown = false;

  bool varies() const {
    return !slope.empty() || isStacked || validLanes || isGrowing || hasGrown;
  }
  llvm::ArrayRef<int64_t> shape() const {
    return literal ? llvm::ArrayRef<int64_t>(literal->shape) : type.getShape();
  }
};

/// One element of a sequence, or `count` elements stacked along dimension 0.
struct ListItem {
  Imported value;
  std::optional<int64_t> count;
};

class NodeImport {
public:
  NodeImport(const onnx::NodeProto &node, const NodeOrigin &origin,
             std::vector<Imported *> operands, unsigned usedOutputs,
             mlir::OpBuilder &builder, mlir::Location loc, ImportState &state)
      : node(node), origin(origin), builder(builder), loc(loc), state(state),
        operands(std::move(operands)), usedOutputs(usedOutputs) {}

  const onnx::NodeProto &node;
  const NodeOrigin &origin;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  ImportState &state;

  size_t operandCount() const { return operands.size(); }
  /// An optional operand is there.
  bool has(size_t i) const { return i < operands.size() && operands[i]; }
  mlir::RankedTensorType type(size_t i) const { return operands[i]->type; }
  llvm::ArrayRef<int64_t> shape(size_t i) const {
    return operands[i]->type.getShape();
  }
  int64_t rank(size_t i) const { return operands[i]->type.getRank(); }
  bool isFloat(size_t i) const {
    return llvm::isa<mlir::FloatType>(operands[i]->type.getElementType());
  }
  /// The operand as an SSA value; a literal becomes a constant.
  mlir::Value value(size_t i);
  /// The operand's elements when they are known.
  const Literal *literal(size_t i) const {
    return has(i) && operands[i]->literal ? &*operands[i]->literal : nullptr;
  }
  /// The one number that all elements of operand `i` are, rounded to a double:
  /// for comparisons. broadcastTo keeps all bits.
  std::optional<double> splat(size_t i) const;

  /// Whether anything looks at output `i`.
  bool isOutputUsed(unsigned i) const { return usedOutputs >> i & 1; }
  void setResult(mlir::Value result) { results = {result}; }
  void setResults(llvm::ArrayRef<mlir::Value> values) {
    results.assign(values.begin(), values.end());
  }
  llvm::ArrayRef<mlir::Value> getResults() const { return results; }

  /// Keeps the first message; always fails.
  llvm::LogicalResult fail(const llvm::Twine &what);
  llvm::StringRef getError() const { return error; }

  // What the tables share.

  /// Fails unless operand `i` is a float tensor.
  llvm::LogicalResult requireFloat(size_t i);
  /// Fails unless operands `i` and `j` have one element type.
  llvm::LogicalResult requireSameType(size_t i, size_t j);
  /// The axis in [0, rank); fails otherwise.
  llvm::FailureOr<int64_t> axis(int64_t axis, int64_t rank);
  /// The attribute 'epsilon' of a norm, at least 0; fails otherwise.
  llvm::FailureOr<double> epsilon();
  /// Integers that must be known: operand `i`.
  llvm::FailureOr<std::vector<int64_t>> knownInts(size_t i,
                                                  llvm::StringRef what);
  /// Fails unless a tensor of these sizes can be made.
  llvm::LogicalResult requireSizes(llvm::ArrayRef<int64_t> shape);
  /// Notes that `indices` must be in [-size, size) at the input that they come
  /// from; not where they are computed, as what is wrong then is not known.
  void boundIndices(mlir::Value indices, int64_t size);
  /// Notes likewise that `labels` must be in [0, classes), or `ignored`.
  void boundLabels(mlir::Value labels, int64_t classes,
                   std::optional<int64_t> ignored);
  mlir::Value splatLike(mlir::Value like, double value);
  /// A reshape, from before earlier reshapes of the same value.
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  /// A transpose, from before an earlier one of the same value.
  mlir::Value transpose(mlir::Value value, llvm::ArrayRef<int64_t> permutation);
  /// `count` elements along `dim` from `begin` on.
  mlir::Value slice(mlir::Value value, int64_t dim, int64_t begin,
                    int64_t count);
  /// Every `step`-th of `count` elements along `dim` from `begin` on.
  mlir::Value strided(mlir::Value value, int64_t dim, int64_t begin,
                      int64_t count, int64_t step);
  /// What the indices `keys`, of shape `shape`, find along `dim` of `table`: a
  /// slice where they are a run, once for all where they repeat.
  mlir::Value lookUpKnown(mlir::Value table, int64_t dim,
                          llvm::ArrayRef<int64_t> keys,
                          llvm::ArrayRef<int64_t> shape);
  /// NumPy's broadcast of all operands' shapes; fails when they do not fit.
  llvm::FailureOr<llvm::SmallVector<int64_t>> broadcastShape();
  /// Operand `i` broadcast to `shape`.
  mlir::Value broadcastTo(size_t i, llvm::ArrayRef<int64_t> shape);
  mlir::Value broadcastTo(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  /// 1 / (1 + exp(-x)) and log(1 + exp(x)), without overflow in the value or
  /// in the gradient.
  mlir::Value sigmoid(mlir::Value x);
  mlir::Value softplus(mlir::Value x);

private:
  std::vector<Imported *> operands;
  unsigned usedOutputs;
  llvm::SmallVector<mlir::Value, 1> results;
  std::string error;
};

using Handler = llvm::LogicalResult (*)(NodeImport &);
using HandlerTable = llvm::StringMap<Handler>;

void addConvHandlers(HandlerTable &table);
void addEinsumHandler(HandlerTable &table);
void addElementwiseHandlers(HandlerTable &table);
void addFunctionHandlers(HandlerTable &table);
void addLinearHandlers(HandlerTable &table);
void addLookupHandlers(HandlerTable &table);
void addNormHandlers(HandlerTable &table);
void addOrderHandlers(HandlerTable &table);
void addPieceHandlers(HandlerTable &table);
void addRandomHandlers(HandlerTable &table);
void addRecurrentHandlers(HandlerTable &table);
void addReduceHandlers(HandlerTable &table);
void addResizeHandlers(HandlerTable &table);
void addShapeHandlers(HandlerTable &table);
void addSpectrumHandler(HandlerTable &table);
void addTransformerHandlers(HandlerTable &table);

/// A constant with the elements of a literal; its type must be one of ours.
mlir::Value materialize(const Literal &literal, mlir::RankedTensorType type,
                        mlir::OpBuilder &builder, mlir::Location loc);

/// The dialect's element type of an ONNX element type, or null.
mlir::Type elementTypeOf(mlir::MLIRContext *context, int32_t elementType);

/// The ONNX element type of one of the dialect's.
int32_t onnxTypeOf(mlir::Type elementType);

} // namespace bessemer::ingest

#endif // BESSEMER_LIB_IMPORT_NODEIMPORT_H
