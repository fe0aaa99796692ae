// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Normalisation with ONNX's own library: check, inline local functions, convert
// to the newest opset, expand composite ops, infer shapes.

#include "Normalize.h"
#include "CustomSchemas.h"
#include "Dimensions.h"
#include "ExportSignature.h"
#include "Labels.h"
#include "onnx/checker.h"
#include "onnx/defs/schema.h"
#include "onnx/inliner/inliner.h"
#include "onnx/shape_inference/implementation.h"
#include "onnx/version_converter/convert.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace bessemer;
using namespace bessemer::ingest;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::OpSchema;
using onnx::OpSchemaRegistry;

using Opsets = std::map<std::string, int64_t>;

/// "" and "ai.onnx" are two spellings of the same domain.
static std::string domainOf(const std::string &domain) {
  return domain == "ai.onnx" ? "" : domain;
}

static Opsets opsetsOf(const ModelProto &model) {
  Opsets opsets;
  for (const auto &import : model.opset_import())
    opsets[domainOf(import.domain())] = import.version();
  return opsets;
}

static int64_t newestOpset() {
  return OpSchemaRegistry::DomainToVersionRange::Instance().Map().at("").second;
}

/// The library's messages span lines and end in context that means nothing to
/// users; ours are one line.
static std::string oneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  size_t context = text.find(" ==> Context");
  if (context != std::string::npos)
    text.resize(context);
  while (!text.empty() && (text.back() == ' ' || text.back() == '.'))
    text.pop_back();
  return text;
}

static bool isFloat(int32_t elementType) {
  return elementType == onnx::TensorProto::FLOAT ||
         elementType == onnx::TensorProto::DOUBLE ||
         elementType == onnx::TensorProto::FLOAT16 ||
         elementType == onnx::TensorProto::BFLOAT16;
}

/// Puts the initializers back. Large ones become inputs of the graph: all that
/// the library may know of a weight is its type, and it never copies the data.
static void placeInitializers(ModelProto &model, const ModelSource &source,
                              std::vector<std::string> &inputs) {
  constexpr int64_t largestInline = 64;
  GraphProto &graph = *model.mutable_graph();
  graph.clear_initializer();
  std::set<std::string> names;
  for (const Initializer &initializer : source.initializers)
    names.insert(initializer.name);
  // Up to IR version 3 initializers were listed among the inputs as well.
  google::protobuf::RepeatedPtrField<onnx::ValueInfoProto> old;
  old.Swap(graph.mutable_input());
  for (auto &input : old)
    if (!names.count(input.name())) {
      inputs.push_back(input.name());
      *graph.add_input() = std::move(input);
    }
  for (const Initializer &initializer : source.initializers) {
    if (isFloat(initializer.elementType) &&
        initializer.elementCount() > largestInline) {
      onnx::ValueInfoProto &input = *graph.add_input();
      input.set_name(initializer.name);
      auto &type = *input.mutable_type()->mutable_tensor_type();
      type.set_elem_type(initializer.elementType);
      type.mutable_shape();
      for (int64_t size : initializer.shape)
        type.mutable_shape()->add_dim()->set_dim_value(size);
      continue;
    }
    onnx::TensorProto &tensor = *graph.add_initializer();
    tensor.set_name(initializer.name);
    tensor.set_data_type(initializer.elementType);
    for (int64_t size : initializer.shape)
      tensor.add_dims(size);
    tensor.set_raw_data(initializer.data.str());
  }
}

/// Visits the nodes of a list and of their subgraphs.
static void
forEachMutableNode(google::protobuf::RepeatedPtrField<NodeProto> &nodes,
                   llvm::function_ref<void(NodeProto &)> visit) {
  for (NodeProto &node : nodes) {
    visit(node);
    for (auto &attribute : *node.mutable_attribute())
      if (attribute.has_g())
        forEachMutableNode(*attribute.mutable_g()->mutable_node(), visit);
  }
}

namespace {
/// The metadata of the functions' nodes while the library converts them. It
/// erases metadata but keeps doc strings, which nothing here reads: a node's
/// says meanwhile where its metadata is.
class KeptMetadata {
public:
  explicit KeptMetadata(ModelProto &model) {
    for (auto &function : *model.mutable_functions())
      forEachMutableNode(*function.mutable_node(), [&](NodeProto &node) {
        std::string key = "bessemer.metadata." + std::to_string(byKey.size());
        node.set_doc_string(key);
        byKey[key] = node.metadata_props();
      });
  }

  /// Gives the nodes that came out of functions their metadata back.
  void restore(GraphProto &graph) const {
    forEachMutableNode(*graph.mutable_node(), [&](NodeProto &node) {
      auto it = byKey.find(node.doc_string());
      if (it == byKey.end())
        return;
      *node.mutable_metadata_props() = it->second;
      node.clear_doc_string();
    });
  }

private:
  std::map<std::string,
           google::protobuf::RepeatedPtrField<onnx::StringStringEntryProto>>
      byKey;
};
} // namespace

/// Replaces calls of the model's own functions by their bodies, but not of
/// those that the importer has an entry for: it does better.
static void inlineFunctions(ModelProto &model, IsKnownOp isKnown) {
  auto &functions = *model.mutable_functions();
  for (int i = functions.size(); i-- > 0;)
    if (std::string domain = domainOf(functions[i].domain());
        !domain.empty() && isKnown(domain, functions[i].name()))
      functions.DeleteSubrange(i, 1);
  if (functions.empty())
    return;
  Opsets opsets = opsetsOf(model);
  // Conversion makes the library copy constants into the body once more, so
  // it is asked for only where a function was written for another opset.
  bool convert = llvm::any_of(model.functions(), [&](const auto &function) {
    return llvm::any_of(function.opset_import(), [&](const auto &import) {
      auto it = opsets.find(domainOf(import.domain()));
      return it != opsets.end() && it->second != import.version();
    });
  });
  if (!convert) {
    onnx::inliner::InlineLocalFunctions(model, /*convert_version=*/false);
    return;
  }
  KeptMetadata metadata(model);
  onnx::inliner::InlineLocalFunctions(model, /*convert_version=*/true);
  metadata.restore(*model.mutable_graph());
}

/// The version converter refuses models that import domains it does not know,
/// or none, and IR versions in which initializers must be inputs.
static void tidyImports(ModelProto &model) {
  std::set<std::string> used;
  forEachNode(model.graph(), [&](const NodeProto &node) {
    used.insert(domainOf(node.domain()));
  });
  for (int i = model.opset_import_size(); i-- > 0;) {
    std::string domain = domainOf(model.opset_import(i).domain());
    if (!domain.empty() && !used.count(domain))
      model.mutable_opset_import()->DeleteSubrange(i, 1);
  }
  if (!opsetsOf(model).count(""))
    model.add_opset_import()->set_version(newestOpset());
  if (model.ir_version() < 4)
    model.set_ir_version(4);
}

/// Reports nodes that no stage could handle, all of them.
static void reportUnknownOps(const ModelProto &model, const Origins &origins,
                             const std::string &label, IsKnownOp isKnown,
                             ImportDiagnostics &diagnostics) {
  Opsets opsets = opsetsOf(model);
  forEachNode(model.graph(), [&](const NodeProto &node) {
    auto report = [&](const std::string &what) {
      diagnostics.errors.push_back(
          label + ": " + Origins::describe(origins.find(node)) + ": " + what);
    };
    if (std::string domain = domainOf(node.domain()); !domain.empty()) {
      if (!isKnown(domain, node.op_type()))
        report("unsupported op");
      return;
    }
    int64_t opset = opsets[""];
    const OpSchema *now = OpSchemaRegistry::Schema(
        node.op_type(), static_cast<int>(newestOpset()), "");
    const OpSchema *then =
        OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(opset), "");
    if (!then && now) {
      // PyTorch 2.13, asked for opset 26 and later, declares 18.
      report("the op exists since opset " +
             std::to_string(now->since_version()) +
             ", but the model declares opset " + std::to_string(opset) +
             ": the exporter wrote a broken model; with PyTorch, export with "
             "opset_version=20 to 25");
      return;
    }
    if (!then || (now && !isKnown("", node.op_type()) && !now->HasFunction() &&
                  !now->HasContextDependentFunction()))
      report("unsupported op");
  });
}

/// The nodes that stand for means. A mean of the updates alone is two nodes:
/// the first one clears the elements.
static std::vector<const NodeProto *> scatterMeans(const GraphProto &graph,
                                                   const Origins &origins) {
  std::vector<const NodeProto *> means;
  const NodeProto *clearing = nullptr;
  forEachNode(graph, [&](const NodeProto &node) {
    ScatterMean mean = origins.find(node).scatterMean;
    if (mean == ScatterMean::None)
      return;
    bool isSecond = clearing && node.input_size() &&
                    clearing->output(0) == node.input(0) &&
                    tracedNode(*clearing) == tracedNode(node);
    if (isSecond)
      means.pop_back();
    means.push_back(&node);
    clearing = mean == ScatterMean::OfUpdates && !isSecond ? &node : nullptr;
  });
  return means;
}

/// A mean is computed, which is not what other runtimes do with the file; what
/// cannot be told from a mean is an error.
static void reportScatterMeans(const ModelProto &model, const Origins &origins,
                               const std::string &label,
                               ImportDiagnostics &diagnostics) {
  for (const NodeProto *node : scatterMeans(model.graph(), origins)) {
    NodeOrigin origin = origins.find(*node);
    std::string where =
        label + ": " + Origins::describe(origin) + ": PyTorch's scatter_reduce";
    if (origin.scatterMean != ScatterMean::Unknown)
      diagnostics.warnings.push_back(
          where +
          " with 'mean', which ONNX lacks: it is computed as such here, but "
          "what the file says, and the trained .onnx, is that the last update "
          "replaces the others, as other runtimes compute it");
    else if (model.producer_name() == "pytorch")
      diagnostics.errors.push_back(
          where + ", expected a record of its reduction, as a mean is written "
                  "as a scatter that replaces: export with opset_version=18 or "
                  "later");
  }
}

/// Types that do not fit are left to the op tables, which know the node.
static void inferShapes(ModelProto &model, const CustomSchemas &schemas) {
  onnx::shape_inference::InferShapes(
      model, &schemas,
      onnx::ShapeInferenceOptions(/*check_type=*/false, /*error_mode=*/0,
                                  /*data_prop=*/true));
}

/// Shapes in the file may be those of the example that it was exported with.
static void forgetShapes(GraphProto &graph) {
  graph.clear_value_info();
  for (auto &output : *graph.mutable_output())
    if (output.type().has_tensor_type())
      output.mutable_type()->mutable_tensor_type()->clear_shape();
}

//===----------------------------------------------------------------------===//
// Composite ops
//===----------------------------------------------------------------------===//

namespace {

/// Expands composite ops without an entry in the importer's tables by the
/// bodies that ONNX defines for them.
class Expander {
public:
  Expander(NormalizedModel &normalized, IsKnownOp isKnown,
           const CustomSchemas &schemas)
      : model(normalized.model), origins(normalized.origins), isKnown(isKnown),
        schemas(schemas) {}

  void run() {
    while (expand(*model.mutable_graph(), {})) {
      auto *import = model.add_opset_import();
      import->set_domain(domain);
      import->set_version(1);
      onnx::inliner::InlineLocalFunctions(model, /*convert_version=*/false);
      model.mutable_opset_import()->RemoveLast();
      inferShapes(model, schemas);
    }
  }

private:
  using Types = std::map<std::string, onnx::TypeProto>;
  static constexpr const char *domain = "bessemer.expand";

  static void collectTypes(const GraphProto &graph, Types &types) {
    for (const auto *list :
         {&graph.input(), &graph.output(), &graph.value_info()})
      for (const auto &value : *list)
        types[value.name()] = value.type();
    for (const auto &tensor : graph.initializer()) {
      auto &type = *types[tensor.name()].mutable_tensor_type();
      type.set_elem_type(tensor.data_type());
      type.mutable_shape()->clear_dim();
      for (int64_t size : tensor.dims())
        type.mutable_shape()->add_dim()->set_dim_value(size);
    }
  }

  std::optional<onnx::FunctionProto> bodyOf(const NodeProto &node,
                                            const OpSchema &schema,
                                            Types &types, int opset) {
    onnx::FunctionProto body;
    if (schema.HasFunction()) {
      const onnx::FunctionProto *function = schema.GetFunction(opset);
      if (!function)
        return std::nullopt;
      body = *function;
    } else if (schema.HasContextDependentFunction()) {
      std::vector<onnx::TypeProto> inputs;
      for (const std::string &input : node.input())
        inputs.push_back(types[input]);
      onnx::FunctionBodyBuildContextImpl context(node, inputs);
      if (!schema.BuildContextDependentFunction(context, body, opset))
        return std::nullopt;
    } else {
      return std::nullopt;
    }
    return body;
  }

  /// Turns each composite node into a call of a function of the model that
  /// holds its body, which the library's inliner then renames and places. (Its
  /// own expansion knows no types of initializers and no attribute defaults.)
  /// Returns whether there was any.
  bool expand(GraphProto &graph, Types types) {
    collectTypes(graph, types);
    bool changed = false;
    int opset = static_cast<int>(opsetsOf(model)[""]);
    for (NodeProto &node : *graph.mutable_node()) {
      for (auto &attribute : *node.mutable_attribute())
        if (attribute.has_g())
          changed |= expand(*attribute.mutable_g(), types);
      if (!domainOf(node.domain()).empty() || isKnown("", node.op_type()))
        continue;
      const OpSchema *schema =
          OpSchemaRegistry::Schema(node.op_type(), opset, "");
      if (!schema)
        continue;
      auto body = bodyOf(node, *schema, types, opset);
      if (!body)
        continue;
      changed = true;
      // GetFunction's contract: the body is valid for the opset asked for.
      for (auto &import : *body->mutable_opset_import())
        if (import.domain().empty())
          import.set_version(opset);
      body->set_domain(domain);
      body->set_name(node.op_type() + "_" + std::to_string(calls++));
      for (NodeProto &inner : *body->mutable_node())
        origins.inherit(inner, node);
      if (node.input_size())
        markLabels(*body, node, types[node.input(0)]);
      for (const auto &[name, attribute] : schema->attributes()) {
        bool given =
            llvm::any_of(node.attribute(), [&, &name = name](const auto &a) {
              return a.name() == name;
            });
        if (!given && !attribute.required && attribute.default_value.has_name())
          *node.add_attribute() = attribute.default_value;
      }
      node.set_domain(domain);
      node.set_op_type(body->name());
      *model.add_functions() = std::move(*body);
    }
    return changed;
  }

  ModelProto &model;
  const Origins &origins;
  IsKnownOp isKnown;
  const CustomSchemas &schemas;
  int calls = 0;
};

} // namespace

/// Whether every term of an Einsum equation is letters and at most one
/// ellipsis. ONNX's shape inference does not come back from others.
static bool isEinsumEquation(llvm::StringRef equation) {
  std::string packed;
  for (char c : equation)
    if (c != ' ')
      packed.push_back(c);
  auto [inputs, output] = llvm::StringRef(packed).split("->");
  llvm::SmallVector<llvm::StringRef> terms;
  inputs.split(terms, ',');
  terms.push_back(output);
  return llvm::all_of(terms, [](llvm::StringRef term) {
    auto [before, after] = term.split("...");
    return llvm::all_of(before, llvm::isAlpha) &&
           llvm::all_of(after, llvm::isAlpha);
  });
}

/// What is wrong with an Einsum of `graph`; empty when nothing is.
static std::string einsumProblem(const GraphProto &graph) {
  std::string problem;
  forEachNode(graph, [&](const NodeProto &node) {
    if (node.op_type() != "Einsum" || !domainOf(node.domain()).empty())
      return;
    for (const auto &attribute : node.attribute())
      if (attribute.name() == "equation" && !isEinsumEquation(attribute.s()))
        problem = "node '" + node.name() +
                  "' (Einsum): expected terms of letters and at most one "
                  "ellipsis, got '" +
                  attribute.s() + "'";
  });
  return problem;
}

llvm::FailureOr<NormalizedModel>
ingest::normalize(const ModelSource &source, const ImportOptions &options,
                  IsKnownOp isKnown, ImportDiagnostics &diagnostics) {
  NormalizedModel normalized;
  ModelProto &model = normalized.model;
  model = source.model;
  size_t errors = diagnostics.errors.size();
  auto fail = [&](const std::string &what) {
    diagnostics.errors.push_back(source.label + ": " + oneLine(what));
    return llvm::failure();
  };

  for (auto &[domain, opset] : opsetsOf(model))
    if (domain.empty() && (opset < 1 || opset > newestOpset()))
      return fail("declares opset " + std::to_string(opset) +
                  "; expected 1 to " + std::to_string(newestOpset()));
  placeInitializers(model, source, normalized.inputs);
  try {
    inlineFunctions(model, isKnown);
    tidyImports(model);
    normalized.origins.record(model.graph(), opsetsOf(model));
    reportScatterMeans(model, normalized.origins, source.label, diagnostics);
    reportUnknownOps(model, normalized.origins, source.label, isKnown,
                     diagnostics);
    if (diagnostics.errors.size() != errors)
      return llvm::failure();
    onnx::checker::check_model(model);
    if (std::string problem = einsumProblem(model.graph()); !problem.empty())
      return fail(problem);
  } catch (const std::exception &e) {
    return fail(std::string("is not a valid model: ") + e.what());
  }

  auto dims = bindDimensions(*model.mutable_graph(), normalized.inputs, options,
                             source.label, diagnostics);
  if (llvm::failed(dims))
    return llvm::failure();
  normalized.dims = std::move(dims->values);
  if (options.accumulate > 1)
    normalized.batchInputs = std::move(dims->batchInputs);

  int64_t opset = opsetsOf(model)[""];
  forgetShapes(*model.mutable_graph());
  try {
    if (opset < newestOpset())
      model = onnx::version_conversion::ConvertVersion(
          model, static_cast<int>(newestOpset()));
  } catch (const std::exception &e) {
    return fail("cannot be converted from opset " + std::to_string(opset) +
                " to " + std::to_string(newestOpset()) + ": " + e.what());
  }
  try {
    CustomSchemas schemas(options.customOps);
    inferShapes(model, schemas);
    Expander(normalized, isKnown, schemas).run();
  } catch (const std::exception &e) {
    return fail(std::string("shapes or types do not fit: ") + e.what());
  }
  return normalized;
}
