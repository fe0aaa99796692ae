// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Traces of what PyTorch's exporters lost. The current one optimizes for
// inference unless told not to: it folds what it can compute, merges tensors
// of equal values and removes zero biases and `detach()`. Its metadata still
// has the module's signature, the traced node that each node is part of, and
// the values that a constant was folded from.

#include "LostParameters.h"
#include "Dimensions.h"
#include "ExportSignature.h"
#include "Origins.h"
#include "ParameterRoles.h"
#include "WaveTables.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace bessemer;
using namespace bessemer::ingest;
using llvm::StringRef;
using Names = std::set<std::string>;

static constexpr const char *foldedFromKey =
    "pkg.onnxscript.optimizer.folded_from";

/// The first few names.
static std::string quoted(const Names &names) {
  constexpr int most = 3;
  std::string text;
  for (auto [i, name] : llvm::enumerate(names)) {
    text += i ? ", " : "";
    if (i == most)
      return text + "...";
    text += "'" + name + "'";
  }
  return text;
}

/// `1 layer`, `2 layers`.
static std::string counted(size_t count, const std::string &noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

static std::string they(const Names &names) {
  return names.size() == 1 ? "it" : "they";
}

static bool isRunningStatistic(StringRef target) {
  return target.ends_with("running_mean") || target.ends_with("running_var");
}

/// Whether a constant may be what a parameter was folded into: not what models
/// compute once.
static bool isSuspicious(const Initializer &constant) {
  return !looksLikeMask(constant) && !isWaveTable(constant);
}

/// The same of a Constant node.
static bool isSuspicious(const onnx::NodeProto &node) {
  if (node.op_type() != "Constant" || node.attribute_size() != 1 ||
      node.output_size() != 1)
    return false;
  const onnx::TensorProto &tensor = node.attribute(0).t();
  Initializer constant;
  constant.name = node.output(0);
  constant.elementType = tensor.data_type();
  constant.shape.assign(tensor.dims().begin(), tensor.dims().end());
  auto data = tensorData(tensor, constant.owner);
  if (constant.elementType != onnx::TensorProto::FLOAT || !data)
    return false;
  constant.data = *data;
  return isSuspicious(constant);
}

static bool hasWeight(const onnx::NodeProto &node) {
  return llvm::is_contained(
      {"Conv", "ConvTranspose", "Gemm", "MatMul", "LSTM", "GRU", "RNN"},
      StringRef(node.op_type()));
}

namespace {

/// A node as traced, which became one node or several.
struct TracedOp {
  Names operands, inputs, outputs;
  /// The first of its nodes.
  std::string node;
};

/// What the current exporter lost.
class Losses {
public:
  Losses(const ModelSource &source, llvm::ArrayRef<InitializerInfo> roles);

  /// What to say of it, a clause each.
  std::vector<std::string> describe() const;

private:
  void collectOps();
  void findFolded();
  void findUsed();
  void findBatchNorms();
  void findDetached();
  void findUnknown();
  bool isConstantOrInput(const std::string &name) const;

  const onnx::GraphProto &graph;
  const ModelSource &source;
  llvm::ArrayRef<InitializerInfo> roles;
  /// By name.
  std::map<std::string, const Initializer *> initializers;
  /// By placeholder: all, and those whose tensor is not in the file.
  std::map<std::string, ExportedInput> inputs, missing;
  /// By the text of the traced node.
  std::map<std::string, TracedOp> ops;
  Names inputNames, constantNames;
  /// The module's parameters, and all that traced nodes read.
  Names parameters, operands;

  Names batchNorms, folded, foldedInto, used, detached, unknown, unknownInto;
};

} // namespace

Losses::Losses(const ModelSource &source, llvm::ArrayRef<InitializerInfo> roles)
    : graph(source.model.graph()), source(source), roles(roles) {
  for (const Initializer &initializer : source.initializers)
    initializers[initializer.name] = &initializer;
  for (const auto &input : graph.input())
    inputNames.insert(input.name());
  for (ExportedInput &input : exportedInputs(graph)) {
    bool isOfModule = input.kind == "PARAMETER" || input.kind == "BUFFER";
    if (isOfModule && !initializers.count(input.target) &&
        !initializers.count(input.placeholder))
      missing[input.placeholder] = input;
    if (input.kind == "PARAMETER")
      parameters.insert(input.target);
    inputs[input.placeholder] = std::move(input);
  }
  collectOps();
  findBatchNorms();
  if (parameters.empty())
    return;
  findFolded();
  findUsed();
  findDetached();
  findUnknown();
}

void Losses::collectOps() {
  forEachNode(graph, [&](const onnx::NodeProto &node) {
    if (node.op_type() == "Constant")
      constantNames.insert(node.output().begin(), node.output().end());
    std::string text = tracedNode(node);
    if (text.empty())
      return;
    TracedOp &op = ops[text];
    if (op.outputs.empty()) {
      op.node = node.name();
      op.operands = tracedOperands(text);
      operands.insert(op.operands.begin(), op.operands.end());
    }
    op.inputs.insert(node.input().begin(), node.input().end());
    op.outputs.insert(node.output().begin(), node.output().end());
  });
}

/// A running mean that is not there was folded with its layer, unless a
/// BatchNormalization still wants it (it was merged) or nothing does (the layer
/// is not used). Older exporters do not say what a folded node was.
void Losses::findBatchNorms() {
  Names kept;
  bool untraced = ops.empty();
  forEachNode(graph, [&](const onnx::NodeProto &node) {
    auto op = ops.find(tracedNode(node));
    if (op == ops.end())
      untraced |= hasWeight(node);
    else if (node.op_type() == "BatchNormalization")
      kept.insert(op->second.operands.begin(), op->second.operands.end());
  });
  for (const auto &[placeholder, input] : missing)
    if (StringRef(input.target).ends_with("running_mean") &&
        (untraced || operands.count(placeholder)) && !kept.count(placeholder))
      batchNorms.insert(input.target);
}

/// Constants that the exporter says to have computed of parameters. Nothing but
/// the shape may have been asked for where the constant is zero.
void Losses::findFolded() {
  for (const onnx::ValueInfoProto &value : graph.value_info()) {
    StringRef from = metadata(value, foldedFromKey);
    auto it = initializers.find(value.name());
    if (from.empty() || it == initializers.end() ||
        it->second->elementType != onnx::TensorProto::FLOAT)
      continue;
    bool isZero = llvm::all_of(it->second->data, [](char c) { return !c; });
    for (const std::string &parameter : parameters)
      if (from.contains("'" + parameter + "'") &&
          !(isZero && initializers.count(parameter))) {
        folded.insert(parameter);
        foldedInto.insert(value.name());
      }
  }
}

/// Tensors that traced nodes read and that are not in the file. Buffers are of
/// interest as statistics, and where a parameter stands for them.
void Losses::findUsed() {
  auto isOfFoldedLayer = [&](const std::string &target) {
    std::string layer = target.substr(0, target.rfind('.') + 1);
    return batchNorms.count(layer + "running_mean") != 0;
  };
  auto readsOther = [&](const TracedOp &op) {
    return llvm::any_of(inputs, [&](const auto &entry) {
      return entry.second.kind == "PARAMETER" &&
             op.inputs.count(entry.second.target) &&
             !op.operands.count(entry.first);
    });
  };
  for (const auto &[text, op] : ops)
    for (const std::string &operand : op.operands) {
      auto it = missing.find(operand);
      if (it == missing.end())
        continue;
      const std::string &target = it->second.target;
      if (!folded.count(target) && !isOfFoldedLayer(target) &&
          (it->second.kind == "PARAMETER" || isRunningStatistic(target) ||
           readsOther(op)))
        used.insert(target);
    }
}

bool Losses::isConstantOrInput(const std::string &name) const {
  return name.empty() || inputNames.count(name) || constantNames.count(name) ||
         (initializers.count(name) && !parameters.count(name));
}

/// Nodes read `%detach_1` that no node makes. No gradient is lost where the
/// value in its place is an input of the model or a constant.
void Losses::findDetached() {
  Names made;
  for (const auto &[text, op] : ops)
    made.insert(StringRef(text).ltrim('%').split(' ').first.str());
  for (const auto &[text, op] : ops) {
    Names unexplained;
    for (const std::string &name : op.inputs)
      if (!op.outputs.count(name) && !op.operands.count(name) &&
          llvm::none_of(op.operands, [&](const std::string &operand) {
            auto it = inputs.find(operand);
            return it != inputs.end() && it->second.target == name;
          }))
        unexplained.insert(name);
    if (!unexplained.empty() &&
        llvm::all_of(unexplained,
                     [&](const auto &name) { return isConstantOrInput(name); }))
      continue;
    for (const std::string &operand : op.operands) {
      StringRef number = operand;
      if (number.consume_front("detach") &&
          (number.empty() || number.consume_front("_")) &&
          llvm::all_of(number, llvm::isDigit) && !made.count(operand) &&
          !inputs.count(operand) && !initializers.count(operand))
        detached.insert(op.node);
    }
  }
}

/// Without the exporter's word on what it folded, constants beside parameters
/// that are not there are suspicious: weights, those of several elements, and
/// numbers that stand for a traced node.
void Losses::findUnknown() {
  bool says = llvm::any_of(graph.value_info(), [](const auto &value) {
    return !metadata(value, foldedFromKey).empty();
  });
  if (says || !batchNorms.empty())
    return;
  Names weights;
  forEachNode(graph, [&](const onnx::NodeProto &node) {
    if (hasWeight(node))
      weights.insert(node.input().begin(), node.input().end());
    if (isSuspicious(node) && tracedNode(node).empty() &&
        operands.count(node.output(0)))
      unknownInto.insert(node.output(0));
  });
  bool isWeightLost = false;
  for (auto [info, initializer] : llvm::zip_equal(roles, source.initializers)) {
    if (info.role != "constant" ||
        !StringRef(info.why).starts_with("the exporter did not mark"))
      continue;
    bool isWeight = info.shape.size() >= 2 && weights.count(info.name);
    bool isComputed =
        initializer.elementCount() > 1 || operands.count(info.name);
    if (isWeight || (isComputed && isSuspicious(initializer)))
      unknownInto.insert(info.name);
    isWeightLost |= isWeight;
  }
  for (const auto &[placeholder, input] : missing)
    if (input.kind == "PARAMETER" && !used.count(input.target))
      unknown.insert(input.target);
  if (unknown.empty() && !isWeightLost)
    unknownInto.clear();
}

std::vector<std::string> Losses::describe() const {
  std::vector<std::string> clauses;
  if (!batchNorms.empty())
    clauses.push_back("the exporter folded " +
                      counted(batchNorms.size(), "BatchNorm layer") +
                      " away (" + quoted(batchNorms) +
                      "): " + they(batchNorms) + " will not be trained");
  if (!folded.empty())
    clauses.push_back("the exporter folded " +
                      counted(folded.size(), "parameter") + " (" +
                      quoted(folded) + ") into constants (" +
                      quoted(foldedInto) + "), which will not be trained");
  if (!used.empty())
    clauses.push_back(
        "the exporter merged with equal ones, folded or dropped " +
        counted(used.size(), "tensor") + " of the module (" + quoted(used) +
        "): " + they(used) + " will not be trained on " +
        (used.size() == 1 ? "its" : "their") + " own");
  if (!unknownInto.empty() && !unknown.empty())
    clauses.push_back(counted(unknown.size(), "parameter") +
                      " of the module (" + quoted(unknown) +
                      (unknown.size() == 1 ? ") is" : ") are") +
                      " not in the file, which has constants of unknown "
                      "origin (" +
                      quoted(unknownInto) + "): " + they(unknown) +
                      " will not be trained, unless unused or tied to another");
  else if (!unknownInto.empty() && used.empty())
    clauses.push_back(
        "the file has weights that are not marked as parameters (" +
        quoted(unknownInto) + "): they will not be trained");
  if (!detached.empty())
    clauses.push_back("the exporter removed detach() before " +
                      counted(detached.size(), "node") + " (" +
                      quoted(detached) + "): gradients will pass there");
  return clauses;
}

/// The older exporter names what it folds after the op: onnx::Conv_42.
static Names legacyBatchNorms(const onnx::GraphProto &graph) {
  Names names;
  for (const onnx::NodeProto &node : graph.node())
    if (node.op_type() == "Conv" && node.input_size() == 3 &&
        StringRef(node.input(1)).starts_with("onnx::Conv_") &&
        StringRef(node.input(2)).starts_with("onnx::Conv_"))
      names.insert(node.name());
  return names;
}

/// Names that are read, but not as the statistics of a BatchNormalization.
static Names readAsData(const onnx::GraphProto &graph) {
  Names names;
  forEachNode(graph, [&](const onnx::NodeProto &node) {
    for (int i = 0; i < node.input_size(); ++i)
      if (node.op_type() != "Identity" &&
          (node.op_type() != "BatchNormalization" || i < 3))
        names.insert(node.input(i));
  });
  return names;
}

/// The older exporter keeps the names of the tensors that it merged, as
/// Identity of the one that is left. A tensor that the module itself shares has
/// one name only. Statistics that were merged are told apart again.
static Names legacyMerged(const ModelSource &source,
                          llvm::ArrayRef<InitializerInfo> roles) {
  std::map<std::string, const InitializerInfo *> infos;
  for (const InitializerInfo &info : roles)
    infos[info.name] = &info;
  Names data = readAsData(source.model.graph()), results, names;
  for (const auto &output : source.model.graph().output())
    results.insert(output.name());
  for (const onnx::NodeProto &node : source.model.graph().node()) {
    if (node.op_type() != "Identity" || node.input_size() != 1 ||
        isGeneratedName(node.output(0)) ||
        StringRef(node.output(0)).starts_with("/") ||
        results.count(node.output(0)))
      continue;
    auto it = infos.find(node.input(0));
    if (it == infos.end())
      continue;
    bool isShared = data.count(node.input(0)) || data.count(node.output(0));
    if (it->second->trainable || (it->second->role == "statistic" && isShared))
      names.insert(node.output(0));
  }
  return names;
}

static std::vector<std::string>
legacyLosses(const ModelSource &source, llvm::ArrayRef<InitializerInfo> roles) {
  std::vector<std::string> clauses;
  if (Names names = legacyBatchNorms(source.model.graph()); !names.empty())
    clauses.push_back("the exporter folded " +
                      counted(names.size(), "BatchNorm layer") + " away (" +
                      quoted(names) + "): " + they(names) +
                      " will not be trained");
  if (Names names = legacyMerged(source, roles); !names.empty())
    clauses.push_back("the exporter merged " + counted(names.size(), "tensor") +
                      " with equal ones (" + quoted(names) +
                      "): " + they(names) + " will not be trained on " +
                      (names.size() == 1 ? "its" : "their") + " own");
  return clauses;
}

void ingest::warnOfLostParameters(const ModelSource &source,
                                  llvm::ArrayRef<InitializerInfo> roles,
                                  ImportDiagnostics &diagnostics) {
  if (source.model.producer_name() != "pytorch")
    return;
  std::vector<std::string> clauses =
      exportedInputs(source.model.graph()).empty()
          ? legacyLosses(source, roles)
          : Losses(source, roles).describe();
  if (!clauses.empty())
    diagnostics.warnings.push_back(source.label + ": " +
                                   llvm::join(clauses, "; ") +
                                   "; export with " + exportAdvice);
}
