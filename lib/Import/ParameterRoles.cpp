// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Roles of initializers, from the exporter's marks, their use in the graph and
// the user's patterns.

#include "ParameterRoles.h"
#include "ExportSignature.h"
#include "Literal.h"
#include "WaveTables.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/GlobPattern.h"
#include <cstring>

using namespace bessemer;
using namespace bessemer::ingest;
using llvm::StringRef;

static constexpr const char *kindKey =
    "pkg.torch.export.graph_signature.InputSpec.kind";

namespace {

/// Where an initializer is used, Identity looked through.
struct Uses {
  bool any = false;
  bool runningStatistic = false;
  /// All uses are places where ONNX wants an option, not data.
  bool onlyOptions = true;
  /// Some use is the weight or bias of a layer.
  bool layer = false;
};

} // namespace

static bool isOption(const onnx::NodeProto &node, int operand) {
  return llvm::StringSwitch<bool>(node.op_type())
      .Cases({"Clip", "Dropout", "Resize", "Range"}, operand >= 1)
      .Cases({"Pad", "OneHot"}, operand == 2)
      .Case("CastLike", operand == 1)
      .Case("Shape", true)
      .Default(false);
}

static bool isLayerOperand(const onnx::NodeProto &node, int operand) {
  return llvm::StringSwitch<bool>(node.op_type())
      .Cases({"Conv", "ConvTranspose", "Gemm", "BatchNormalization",
              "InstanceNormalization", "LayerNormalization",
              "GroupNormalization", "RMSNormalization", "PRelu", "LSTM", "GRU",
              "RNN"},
             operand >= 1)
      .Default(false);
}

namespace {

/// Collects the uses of all names in a graph and its subgraphs, where a name
/// means the same as outside.
class UseCollector {
public:
  void visit(const onnx::GraphProto &graph) {
    for (const onnx::NodeProto &node : graph.node()) {
      if (node.op_type() == "Identity" && node.input_size() == 1) {
        std::string source = resolve(node.input(0));
        aliasOf[node.output(0)] = source;
        continue;
      }
      for (int i = 0; i < node.input_size(); ++i) {
        Uses &entry = uses[resolve(node.input(i))];
        bool option = isOption(node, i);
        // Only the shape of a weight that is used nowhere else may be asked
        // for.
        entry.any |= !option || node.op_type() != "Shape";
        entry.onlyOptions &= option;
        entry.layer |= isLayerOperand(node, i);
        entry.runningStatistic |=
            node.op_type() == "BatchNormalization" && (i == 3 || i == 4);
      }
      for (const onnx::AttributeProto &attribute : node.attribute())
        if (attribute.has_g())
          visit(attribute.g());
    }
    for (const auto &output : graph.output()) {
      Uses &entry = uses[resolve(output.name())];
      entry.any = true;
      entry.onlyOptions = false;
    }
  }

  std::map<std::string, Uses> uses;

private:
  std::string resolve(const std::string &name) const {
    auto it = aliasOf.find(name);
    return it == aliasOf.end() ? name : it->second;
  }

  std::map<std::string, std::string> aliasOf;
};

} // namespace

static std::map<std::string, Uses> usesOf(const onnx::GraphProto &graph) {
  UseCollector collector;
  collector.visit(graph);
  return std::move(collector.uses);
}

/// The exporter's marks: PARAMETER, BUFFER, ... by value name. Its optimizer
/// drops the mark of a tensor that it changed; the signature still has it.
static std::map<std::string, std::string>
marksOf(const onnx::GraphProto &graph) {
  std::map<std::string, std::string> marks;
  auto collect = [&](const auto &values) {
    for (const auto &value : values)
      if (StringRef kind = metadata(value, kindKey); !kind.empty())
        marks[value.name()] = kind.str();
  };
  collect(graph.value_info());
  collect(graph.input());
  collect(graph.initializer());
  for (ExportedInput &input : exportedInputs(graph))
    if (input.kind == "PARAMETER" || input.kind == "BUFFER")
      marks.try_emplace(std::move(input.target), input.kind);
  return marks;
}

static bool isFloat(int32_t type) {
  return type == onnx::TensorProto::FLOAT ||
         type == onnx::TensorProto::DOUBLE ||
         type == onnx::TensorProto::FLOAT16 ||
         type == onnx::TensorProto::BFLOAT16;
}

bool ingest::looksLikeMask(const Initializer &initializer) {
  if (initializer.elementType != onnx::TensorProto::FLOAT ||
      (initializer.elementCount() < 4 && !initializer.shape.empty()))
    return false;
  bool zero = false, one = false, low = false;
  for (size_t i = 0; i + 4 <= initializer.data.size(); i += 4) {
    float value;
    std::memcpy(&value, initializer.data.data() + i, 4);
    if (value == 0)
      zero = true;
    else if (value == 1)
      one = true;
    else if (value <= -1e4f)
      low = true;
    else
      return false;
  }
  return low || (zero && one && StringRef(initializer.name).contains("mask"));
}

bool ingest::isGeneratedName(StringRef name) {
  return name.contains("Constant") || name.starts_with("onnx::") ||
         name.starts_with("val_") || name.starts_with("_val_") ||
         name.find_first_not_of("0123456789") == StringRef::npos;
}

namespace {

/// The user's patterns of one option, each of which must match something.
class Patterns {
public:
  Patterns(const std::vector<std::string> &texts, StringRef option,
           StringRef label, ImportDiagnostics &diagnostics)
      : texts(texts), used(texts.size(), false), option(option), label(label),
        diagnostics(diagnostics) {
    for (const std::string &text : texts) {
      auto pattern = llvm::GlobPattern::create(text);
      if (!pattern) {
        diagnostics.errors.push_back(
            (label + ": the " + option + " pattern '" + text +
             "' is not valid: " + llvm::toString(pattern.takeError()))
                .str());
        continue;
      }
      patterns.push_back(std::move(*pattern));
    }
    valid = patterns.size() == texts.size();
  }

  /// The text of the first pattern that matches, or null.
  const std::string *match(StringRef name) {
    const std::string *found = nullptr;
    for (size_t i = 0; valid && i < patterns.size(); ++i)
      if (patterns[i].match(name)) {
        used[i] = true;
        if (!found)
          found = &texts[i];
      }
    return found;
  }

  void reportUnused() {
    for (size_t i = 0; valid && i < texts.size(); ++i)
      if (!used[i])
        diagnostics.errors.push_back((label + ": the " + option + " pattern '" +
                                      texts[i] +
                                      "' matches no float initializer")
                                         .str());
  }

private:
  const std::vector<std::string> &texts;
  std::vector<llvm::GlobPattern> patterns;
  std::vector<bool> used;
  StringRef option, label;
  ImportDiagnostics &diagnostics;
  bool valid = true;
};

} // namespace

/// The role that an initializer has before the user's patterns.
static void assignDefault(const Initializer &initializer, const Uses &uses,
                          StringRef mark, bool hasMarks, bool isFromPyTorch,
                          InitializerInfo &info) {
  auto constant = [&](const std::string &why) {
    info.role = "constant";
    info.why = why;
  };
  if (!isFloat(initializer.elementType))
    return constant("is not a float tensor");
  if (!uses.any)
    return constant("nothing uses it");
  if (uses.runningStatistic) {
    info.role = "statistic";
    info.why = "running statistic of a BatchNormalization";
    return;
  }
  if (hasMarks && mark != "PARAMETER")
    return constant(mark.empty() ? "the exporter did not mark it as a parameter"
                                 : "marked " + mark.str() + " by the exporter");
  if (!hasMarks) {
    if (uses.onlyOptions)
      return constant("is an option of the ops that use it");
    // PyTorch's TorchScript exporter names what belongs to a module, such as a
    // learned temperature, and makes up names for the constants of its code.
    bool isOfModule = isFromPyTorch && !isGeneratedName(initializer.name);
    if (!uses.layer && !isOfModule &&
        (initializer.shape.empty() || (initializer.elementCount() == 1 &&
                                       isGeneratedName(initializer.name))))
      return constant("is a scalar constant");
    if (looksLikeMask(initializer))
      return constant("looks like a mask");
    if (isWaveTable(initializer))
      return constant("is a table of sines or of their frequencies");
  }
  info.role = "parameter";
  info.trainable = true;
  info.why =
      hasMarks ? "marked PARAMETER by the exporter" : "is a float initializer";
}

llvm::FailureOr<std::vector<InitializerInfo>> ingest::assignRoles(
    const ModelSource &source, const NormalizedModel &normalized,
    const ImportOptions &options, ImportDiagnostics &diagnostics) {
  size_t errors = diagnostics.errors.size();
  auto uses = usesOf(normalized.model.graph());
  auto marks = marksOf(source.model.graph());
  bool hasMarks = llvm::any_of(
      marks, [](const auto &entry) { return entry.second == "PARAMETER"; });
  bool isFromPyTorch = source.model.producer_name() == "pytorch";
  Patterns train(options.train, "train", source.label, diagnostics);
  Patterns freeze(options.freeze, "freeze", source.label, diagnostics);

  std::vector<InitializerInfo> roles;
  for (const Initializer &initializer : source.initializers) {
    InitializerInfo info;
    info.name = initializer.name;
    info.shape = initializer.shape;
    info.elementType = elementTypeName(initializer.elementType);
    assignDefault(initializer, uses[initializer.name], marks[initializer.name],
                  hasMarks, isFromPyTorch, info);
    bool isTensorOfFloats =
        isFloat(initializer.elementType) && uses[initializer.name].any;
    if (!options.train.empty() && isTensorOfFloats) {
      const std::string *pattern = train.match(info.name);
      if (pattern && info.role != "statistic") {
        info.role = "parameter";
        info.trainable = true;
        info.why = "selected by the train pattern '" + *pattern + "'";
      } else if (!pattern && info.trainable) {
        info.trainable = false;
        info.why = "selected by no train pattern";
      }
    }
    if (isTensorOfFloats)
      if (const std::string *pattern = freeze.match(info.name)) {
        if (info.role != "constant") {
          info.trainable = false;
          info.why = "frozen by the pattern '" + *pattern + "'";
        }
      }
    roles.push_back(std::move(info));
  }
  train.reportUnused();
  freeze.reportUnused();
  if (diagnostics.errors.size() != errors)
    return llvm::failure();
  return roles;
}
