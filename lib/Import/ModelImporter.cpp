// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The module around the nodes: states, inputs, initializers, outputs.

#include "ModelImporter.h"
#include "GraphImporter.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/STLExtras.h"

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

static const HandlerTable &handlers() {
  static const HandlerTable table = [] {
    HandlerTable table;
    addConvHandlers(table);
    addEinsumHandler(table);
    addElementwiseHandlers(table);
    addFunctionHandlers(table);
    addLinearHandlers(table);
    addLookupHandlers(table);
    addNormHandlers(table);
    addOrderHandlers(table);
    addPieceHandlers(table);
    addRandomHandlers(table);
    addRecurrentHandlers(table);
    addReduceHandlers(table);
    addResizeHandlers(table);
    addShapeHandlers(table);
    addSpectrumHandler(table);
    addTransformerHandlers(table);
    return table;
  }();
  return table;
}

Handler ingest::handlerOf(const std::string &op) {
  return handlers().lookup(op);
}

bool ingest::isKnownOp(const std::string &op) {
  return handlers().contains(op) || isFoldable(op) || op == "If" ||
         op == "Loop" || isSequenceOp(op);
}

namespace {

class ModelImporter {
public:
  ModelImporter(MLIRContext &context, const ModelSource &source,
                const NormalizedModel &normalized,
                std::vector<InitializerInfo> &roles, const CustomOps *customOps,
                ImportDiagnostics &diagnostics)
      : source(source), normalized(normalized), roles(roles),
        diagnostics(diagnostics), builder(&context),
        nodes(
            normalized.model.graph(), normalized.origins, source.label, builder,
            state,
            [this](const std::string &name) { return importInitializer(name); },
            diagnostics) {
    state.customOps = customOps;
    state.step = [this] { return stepArgument(); };
    state.duplicateState = [this](graph::ReadOp read, const std::string &name) {
      return duplicateState(read, name);
    };
    for (const auto &[initializer, info] :
         llvm::zip_equal(source.initializers, roles))
      initializers[initializer.name] = {&initializer, &info};
    for (const auto &tensor : normalized.model.graph().initializer())
      inlined[tensor.name()] = &tensor;
  }

  FailureOr<OwningOpRef<ModuleOp>> run();

private:
  /// An initializer with the role that it was given.
  struct Known {
    const Initializer *initializer = nullptr;
    const InitializerInfo *info = nullptr;
  };

  void fail(const Twine &what) {
    diagnostics.errors.push_back((source.label + ": " + what).str());
  }

  void importInputs();
  void importOutputs();
  /// The initializer of a name, or null when there is none or after an error.
  Imported *importInitializer(const std::string &name);
  graph::StateOp createState(const Initializer &initializer,
                             const InitializerInfo &info);
  Value readState(const std::string &name, RankedTensorType type);
  Value duplicateState(graph::ReadOp read, const std::string &name);
  Value stepArgument();
  void eraseDeadOps();

  const ModelSource &source;
  const NormalizedModel &normalized;
  std::vector<InitializerInfo> &roles;
  /// Of states that are made on the way. `roles` must not grow meanwhile: what
  /// is known of initializers points into it.
  std::vector<InitializerInfo> splitRoles;
  ImportDiagnostics &diagnostics;
  OpBuilder builder;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  /// After the last read: reads and states keep the order of first use.
  Operation *lastRead = nullptr;
  ImportState state;
  std::map<std::string, Known> initializers;
  /// Those whose data is in the normalised model.
  std::map<std::string, const onnx::TensorProto *> inlined;
  /// Initializers that were asked for.
  std::map<std::string, Imported> importedInitializers;
  GraphImporter nodes;
  Value step;
};

} // namespace

/// The data in place, kept alive by the blob; a copy where its address does not
/// suit its type.
static AsmResourceBlob blobOf(const Initializer &initializer) {
  size_t alignment = elementBytes(initializer.elementType);
  ArrayRef<char> data(initializer.data.data(), initializer.data.size());
  if (reinterpret_cast<uintptr_t>(data.data()) % alignment != 0)
    return HeapAsmResourceBlob::allocateAndCopyWithAlign(
        data, alignment, /*dataIsMutable=*/false);
  return AsmResourceBlob(
      data, alignment,
      [owner = initializer.owner](void *, size_t, size_t) mutable {
        owner.reset();
      },
      /*dataIsMutable=*/false);
}

static DenseResourceElementsAttr resourceOf(const Initializer &initializer,
                                            RankedTensorType type) {
  return DenseResourceElementsAttr::get(type, initializer.name,
                                        blobOf(initializer));
}

/// What is wrong with an element type that elementTypeOf does not know. Only
/// some ops compute in double: it is not what to convert a model to.
static std::string unsupportedType(int32_t elementType) {
  bool isFloat = elementType == onnx::TensorProto::FLOAT16 ||
                 elementType == onnx::TensorProto::BFLOAT16;
  return elementTypeName(elementType) +
         "; expected float, double, int64, int32, int8 or bool" +
         (isFloat ? ": convert the model to float (model.float())" : "");
}

void ModelImporter::importInputs() {
  SmallVector<Type> types;
  SmallVector<StringRef> names;
  for (const auto &input : normalized.model.graph().input()) {
    if (!llvm::is_contained(normalized.inputs, input.name()))
      continue; // stands for an initializer
    const auto &tensor = input.type().tensor_type();
    Type element = elementTypeOf(builder.getContext(), tensor.elem_type());
    if (!element) {
      fail("input '" + Twine(input.name()) + "' has element type " +
           unsupportedType(tensor.elem_type()));
      continue;
    }
    SmallVector<int64_t> shape;
    for (const auto &dimension : tensor.shape().dim())
      shape.push_back(dimension.dim_value());
    if (std::string problem = sizeProblem(shape); !problem.empty()) {
      fail("input '" + Twine(input.name()) + "': " + problem);
      continue;
    }
    types.push_back(RankedTensorType::get(shape, element));
    names.push_back(input.name());
  }
  Location loc = builder.getUnknownLoc();
  function = func::FuncOp::create(builder, loc, "model",
                                  builder.getFunctionType(types, {}));
  Block *body = function.addEntryBlock();
  for (auto [i, name] : llvm::enumerate(names)) {
    function.setArgAttr(i, graph::kNameAttr, builder.getStringAttr(name));
    if (llvm::is_contained(normalized.batchInputs, name))
      function.setArgAttr(i, graph::kBatchAttr, builder.getUnitAttr());
    Imported &value = nodes.define(name.str());
    value.value = body->getArgument(i);
    value.type = cast<RankedTensorType>(types[i]);
  }
  builder.setInsertionPointToEnd(body);
}

Value ModelImporter::stepArgument() {
  if (!step)
    step = function.getBody().front().addArgument(
        graph::StepType::get(builder.getContext()), builder.getUnknownLoc());
  return step;
}

graph::StateOp ModelImporter::createState(const Initializer &initializer,
                                          const InitializerInfo &info) {
  auto type = RankedTensorType::get(
      initializer.shape,
      elementTypeOf(builder.getContext(), initializer.elementType));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(function);
  return graph::StateOp::create(
      builder, builder.getUnknownLoc(), info.name,
      info.role == "statistic" ? graph::StateRole::Statistic
                               : graph::StateRole::Parameter,
      info.trainable, type, resourceOf(initializer, type),
      builder.getStringAttr(info.why), /*layout=*/nullptr);
}

Value ModelImporter::readState(const std::string &name, RankedTensorType type) {
  OpBuilder::InsertionGuard guard(builder);
  if (lastRead)
    builder.setInsertionPointAfter(lastRead);
  else
    builder.setInsertionPointToStart(&function.getBody().front());
  lastRead =
      graph::ReadOp::create(builder, builder.getUnknownLoc(), type,
                            FlatSymbolRefAttr::get(builder.getContext(), name));
  return lastRead->getResult(0);
}

Value ModelImporter::duplicateState(graph::ReadOp read,
                                    const std::string &name) {
  Known known = initializers[read.getState().str()];
  Initializer copy = *known.initializer;
  InitializerInfo info = *known.info;
  copy.name = info.name = name;
  info.why += ", split from '" + known.info->name + "'";
  createState(copy, info);
  splitRoles.push_back(info);
  return readState(name, cast<RankedTensorType>(read.getType()));
}

Imported *ModelImporter::importInitializer(const std::string &name) {
  if (auto it = importedInitializers.find(name);
      it != importedInitializers.end())
    return &it->second;
  auto found = initializers.find(name);
  if (found == initializers.end())
    return nullptr;
  const Known &known = found->second;
  const Initializer &initializer = *known.initializer;
  Imported &imported = importedInitializers[name];
  Type element = elementTypeOf(builder.getContext(), initializer.elementType);
  if (element)
    imported.type = RankedTensorType::get(initializer.shape, element);

  bool isState =
      known.info->role == "parameter" || known.info->role == "statistic";
  if (!isState) {
    // Small constants and all integers are known while importing.
    if (auto it = inlined.find(name); it != inlined.end())
      imported.literal = literalOf(*it->second);
    if (imported.literal)
      return &imported;
  }
  if (!element) {
    fail("initializer '" + name + "' has element type " +
         unsupportedType(initializer.elementType));
    importedInitializers.erase(name);
    return nullptr;
  }
  if (std::string problem = sizeProblem(initializer.shape); !problem.empty()) {
    fail("initializer '" + name + "': " + problem);
    importedInitializers.erase(name);
    return nullptr;
  }
  if (isState) {
    imported.value = readState(name, imported.type);
    return &imported;
  }
  OpBuilder::InsertionGuard guard(builder);
  if (lastRead)
    builder.setInsertionPointAfter(lastRead);
  else
    builder.setInsertionPointToStart(&function.getBody().front());
  lastRead =
      arith::ConstantOp::create(builder, builder.getUnknownLoc(), imported.type,
                                resourceOf(initializer, imported.type));
  imported.value = lastRead->getResult(0);
  return &imported;
}

void ModelImporter::importOutputs() {
  SmallVector<Value> results;
  SmallVector<Attribute> names;
  for (const auto &output : normalized.model.graph().output()) {
    Imported *value = nodes.lookUp(output.name());
    if (!value)
      continue; // follows from an error that is reported already
    if (value->list) {
      fail("output '" + output.name() + "' is a sequence; expected a tensor");
      continue;
    }
    if (!value->type) {
      fail("output '" + output.name() + "' has the unsupported element type " +
           elementTypeName(value->literal->elementType));
      continue;
    }
    if (std::string problem = sizeProblem(value->type.getShape());
        !problem.empty()) {
      fail("output '" + output.name() + "': " + problem);
      continue;
    }
    if (!value->value)
      value->value = materialize(*value->literal, value->type, builder,
                                 builder.getUnknownLoc());
    results.push_back(value->value);
    names.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
        graph::kNameAttr, builder.getStringAttr(output.name()))));
  }
  func::ReturnOp::create(builder, builder.getUnknownLoc(), results);
  Block &body = function.getBody().front();
  auto argumentAttributes = function.getAllArgAttrs();
  function.setFunctionType(builder.getFunctionType(
      body.getArgumentTypes(), ValueRange(results).getTypes()));
  SmallVector<Attribute> attributes;
  if (argumentAttributes)
    llvm::append_range(attributes, argumentAttributes);
  attributes.resize(body.getNumArguments(), builder.getDictionaryAttr({}));
  function.setAllArgAttrs(builder.getArrayAttr(attributes));
  function.setAllResultAttrs(builder.getArrayAttr(names));
}

void ModelImporter::eraseDeadOps() {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

FailureOr<OwningOpRef<ModuleOp>> ModelImporter::run() {
  size_t errors = diagnostics.errors.size();
  module = ModuleOp::create(builder,
                            NameLoc::get(builder.getStringAttr(source.label)));
  // Training needs it: frameworks differ in how running variances are updated.
  if (const std::string &producer = source.model.producer_name();
      !producer.empty())
    (*module)->setAttr("graph.producer", builder.getStringAttr(producer));
  builder.setInsertionPointToEnd(module->getBody());
  importInputs();
  if (diagnostics.errors.size() != errors)
    return failure(); // the nodes would only repeat it
  // States in the order of the file.
  for (auto [initializer, info] : llvm::zip_equal(source.initializers, roles)) {
    if (info.role == "constant")
      continue;
    if (llvm::is_contained({"model", "predict", "eval_step", "train_step",
                            "updates", "nonfinite_step"},
                           info.name)) {
      fail("initializer '" + info.name +
           "' has a name that the compiler needs; rename it");
      continue;
    }
    std::string problem = sizeProblem(initializer.shape);
    if (!problem.empty())
      fail("initializer '" + info.name + "': " + problem);
    else if (elementTypeOf(builder.getContext(), initializer.elementType))
      createState(initializer, info);
    else
      fail("initializer '" + info.name + "' has element type " +
           info.elementType + "; expected float or double");
  }
  if (diagnostics.errors.size() != errors)
    return failure();
  nodes.importNodes();
  importOutputs();
  if (diagnostics.errors.size() != errors)
    return failure();
  llvm::append_range(roles, splitRoles);
  eraseDeadOps();
  if (failed(verify(*module))) {
    fail("internal error: the imported module is not valid");
    return failure();
  }
  return std::move(module);
}

FailureOr<OwningOpRef<ModuleOp>> ingest::buildModule(
    MLIRContext &context, const ModelSource &source,
    const NormalizedModel &normalized, std::vector<InitializerInfo> &roles,
    const CustomOps *customOps, ImportDiagnostics &diagnostics) {
  return ModelImporter(context, source, normalized, roles, customOps,
                       diagnostics)
      .run();
}
