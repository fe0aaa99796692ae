// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names, and nodes that are neither control flow nor sequences.

#include "GraphImporter.h"
#include "ModelSource.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

static void countUses(const onnx::GraphProto &graph,
                      std::map<std::string, unsigned> &uses) {
  for (const auto &node : graph.node()) {
    for (const auto &input : node.input())
      ++uses[input];
    for (const auto &attribute : node.attribute())
      if (attribute.has_g())
        countUses(attribute.g(), uses);
  }
  for (const auto &output : graph.output())
    ++uses[output.name()];
}

GraphImporter::GraphImporter(
    const onnx::GraphProto &graph, const Origins &origins, std::string label,
    OpBuilder &builder, ImportState &state,
    std::function<Imported *(const std::string &)> initializer,
    ImportDiagnostics &diagnostics)
    : graph(graph), origins(origins), label(std::move(label)), builder(builder),
      state(state), initializer(std::move(initializer)),
      diagnostics(diagnostics), scopes(1) {
  countUses(graph, uses);
}

Imported &GraphImporter::define(const std::string &name) {
  return scopes.back().names[name] = {};
}

Imported *GraphImporter::lookUp(const std::string &name) {
  for (Scope &scope : llvm::reverse(scopes))
    for (Names *names : {&scope.names, scope.constants})
      if (names)
        if (auto it = names->find(name); it != names->end())
          return &it->second;
  Imported *imported = initializer(name);
  return imported;
}

void GraphImporter::report(const onnx::NodeProto &node, const Twine &what) {
  if (isAttempt)
    return;
  NodeOrigin origin = origins.find(node);
  // The user knows the op that this one is a part of.
  std::string part = node.op_type() == origin.op ? "" : node.op_type() + ": ";
  diagnostics.errors.push_back(
      (label + ": " + Origins::describe(origin) + ": " + part + what).str());
}

RankedTensorType GraphImporter::typeOf(const Literal &literal) const {
  Type element = elementTypeOf(builder.getContext(), literal.elementType);
  return element ? RankedTensorType::get(literal.shape, element)
                 : RankedTensorType();
}

bool GraphImporter::isConstant(const onnx::NodeProto &node) {
  return node.op_type() == "Constant" && node.domain().empty() &&
         node.output_size() == 1;
}

/// The most elements of a known tensor.
static constexpr int64_t largestKnown = int64_t(1) << 22;
/// What a model's folding may read and write, so that neither its time nor its
/// memory grows without bounds; sizes and axes are folded beyond it.
static constexpr int64_t mostFolded = int64_t(1) << 26;
static constexpr int64_t alwaysFolded = 1024;

int64_t GraphImporter::largestFolded() const {
  int64_t left = mostFolded - foldedElements;
  return std::clamp(left, lanes ? int64_t(0) : alwaysFolded, largestKnown);
}

std::optional<Literal>
GraphImporter::fold(const onnx::NodeProto &node,
                    llvm::ArrayRef<FoldOperand> operands) {
  int64_t most = 0;
  for (const FoldOperand &operand : operands)
    if (operand.literal)
      most = std::max(most, operand.literal->size());
  if (!isConstant(node) && foldedElements > mostFolded &&
      (lanes || most > alwaysFolded))
    return std::nullopt;
  std::optional<Literal> result = foldNode(node, operands, largestFolded());
  // The model's own elements are no more than its file has.
  if (isConstant(node))
    return result;
  foldedElements += 1 + (result ? result->size() : 0);
  // Only reductions read more than they write.
  if (llvm::StringRef(node.op_type()).starts_with("Reduce"))
    foldedElements += most;
  return result;
}

void GraphImporter::importNodes() {
  for (const onnx::NodeProto &node : graph.node())
    importNode(node);
}

/// Ops all of whose inputs are one list, where ONNX's checker lets an empty
/// name pass.
static bool takesList(llvm::StringRef op) {
  static const llvm::StringSet<> names = {
      "Concat", "Sum", "Max", "Min", "Mean", "Einsum", "SequenceConstruct"};
  return names.contains(op);
}

bool GraphImporter::importNode(const onnx::NodeProto &node) {
  Operands operands;
  for (const std::string &input : node.input()) {
    Imported *operand = nullptr;
    if (!input.empty()) {
      operand = lookUp(input);
      if (!operand)
        return false; // follows from an error that is reported already
    }
    operands.push_back(operand);
  }
  bool isList = llvm::any_of(operands, [](const Imported *operand) {
    return operand && operand->list;
  });
  bool varies = llvm::any_of(operands, [](const Imported *operand) {
    return operand && operand->varies();
  });
  const std::string &op = node.op_type();
  if (node.domain().empty() && takesList(op) &&
      llvm::is_contained(operands, nullptr)) {
    report(node, "expected a value for every input, got an empty name");
    return false;
  }
  Results results;
  if (findCustom(node)) {
    if (isList || varies)
      report(node, "unsupported on sequences and inside of loops");
    else
      results = importOp(node, operands);
  } else if (!node.domain().empty())
    report(node, "unsupported op");
  else if (op == "If")
    results = importIf(node, operands);
  else if (op == "Loop") {
    if (!importBags(node, operands, results))
      results = importLoop(node, operands);
  } else if (isList || isSequenceOp(op))
    results = importSequenceOp(node, operands);
  else if (varies)
    results = importInLanes(node, operands);
  else
    results = importOp(node, operands);
  if (!results)
    return false;
  if (loopDepth > 0)
    for (const Imported &result : *results)
      unrolledElements += result.literal ? result.literal->size() : 0;
  for (auto [result, output] : llvm::zip(*results, node.output()))
    if (!output.empty())
      define(output) = std::move(result);
  return true;
}

GraphImporter::Results GraphImporter::importOp(const onnx::NodeProto &node,
                                               const Operands &operands) {
  auto fail = [&](const Twine &what) -> Results {
    report(node, what);
    return std::nullopt;
  };
  std::vector<FoldOperand> foldOperands;
  for (Imported *operand : operands) {
    FoldOperand foldOperand;
    if (operand) {
      foldOperand.present = true;
      foldOperand.literal = operand->literal ? &*operand->literal : nullptr;
      foldOperand.elementType =
          operand->literal ? operand->literal->elementType
                           : onnxTypeOf(operand->type.getElementType());
      foldOperand.shape = operand->shape();
    }
    foldOperands.push_back(foldOperand);
  }
  const CustomOp *custom = findCustom(node);
  std::optional<Literal> literal;
  if (!custom)
    literal = fold(node, foldOperands);
  if (literal) {
    Imported result;
    result.type = typeOf(*literal);
    result.literal = std::move(*literal);
    return std::vector{std::move(result)};
  }
  Handler handler = handlerOf(node.op_type());
  if (!handler && !custom) {
    bool isKnown = llvm::all_of(operands, [](const Imported *operand) {
      return !operand || operand->literal;
    });
    return fail(!isFoldable(node.op_type()) ? "unsupported op"
                : isKnown && largestFolded() < largestKnown
                    ? "cannot be computed when compiling: the model's known "
                      "values take more than " +
                          Twine(mostFolded) + " elements"
                : isKnown ? "cannot be computed: its inputs, attributes or the "
                            "size of its result are not valid"
                          : "unsupported on values that are only known when "
                            "running");
  }
  for (auto [i, operand] : llvm::enumerate(operands))
    if (operand && !operand->type)
      return fail("input '" + Twine(node.input(i)) +
                  "' has the unsupported element type " +
                  elementTypeName(operand->literal->elementType));
  // Lists of axes and sizes may be empty, and parts of a concatenation; what is
  // computed with may not.
  for (auto [i, operand] : llvm::enumerate(operands))
    if (operand && !(operand->literal && operand->literal->size() == 0 &&
                     (node.op_type() == "Concat" ||
                      (!operand->literal->isFloat() &&
                       operand->literal->shape == std::vector<int64_t>{0}))))
      if (std::string problem = sizeProblem(operand->type.getShape());
          !problem.empty())
        return fail("input '" + Twine(node.input(i)) + "': " + problem);

  unsigned used = 0;
  for (auto [i, output] : llvm::enumerate(node.output()))
    if (!output.empty() && uses.count(output) && i < 32)
      used |= 1u << i;
  NodeOrigin origin = origins.find(node);
  NodeImport context(node, origin, operands, used, builder, locationOf(origin),
                     state);
  CustomNode customNode(context);
  if (failed(custom ? custom->import(customNode) : handler(context)))
    return fail(context.getError());
  std::vector<Imported> results;
  for (Value value : context.getResults()) {
    Imported &result = results.emplace_back();
    result.value = value;
    result.type = cast<RankedTensorType>(value.getType());
    if (std::string problem = sizeProblem(result.type.getShape());
        !problem.empty())
      return fail(problem);
  }
  return results;
}

std::optional<Imported> GraphImporter::emit(
    const onnx::NodeProto &node, const char *op, const Operands &operands,
    std::initializer_list<std::pair<const char *, int64_t>> attributes) {
  onnx::NodeProto part;
  part.set_op_type(op);
  origins.inherit(part, node);
  for (size_t i = 0; i < operands.size(); ++i)
    part.add_input("");
  part.add_output(node.output(0));
  for (auto [name, value] : attributes) {
    onnx::AttributeProto &attribute = *part.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(value);
  }
  Results results = importOp(part, operands);
  if (!results)
    return std::nullopt;
  return std::move(results->front());
}

std::optional<Imported> GraphImporter::reshaped(const onnx::NodeProto &node,
                                                Imported &value,
                                                std::vector<int64_t> shape) {
  if (value.shape() == ArrayRef(shape))
    return value;
  Imported target;
  int64_t rank = shape.size();
  target.literal = Literal::ofInts(std::move(shape), {rank});
  target.type = RankedTensorType::get({rank}, builder.getI64Type());
  return emit(node, "Reshape", {&value, &target}, {{"allowzero", 1}});
}

Location GraphImporter::locationOf(const NodeOrigin &origin) {
  Location line = origin.file.empty()
                      ? Location(UnknownLoc::get(builder.getContext()))
                      : Location(FileLineColLoc::get(
                            builder.getContext(), origin.file, origin.line, 0));
  return NameLoc::get(builder.getStringAttr(origin.name), line);
}
