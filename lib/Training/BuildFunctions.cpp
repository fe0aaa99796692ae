// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `@model` becomes `@predict`, `@eval_step` and `@train_step`.

#include "Losses/Losses.h"
#include "Support.h"
#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "bessemer/Training/Passes.h"
#include "bessemer/Training/Training.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Debug.h"
#include "llvm/Support/GlobPattern.h"

#define DEBUG_TYPE "graph-build-functions"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::training;

namespace {

enum class Mode { Inference, Training };

/// Builds the functions of one module.
class FunctionBuilder {
public:
  FunctionBuilder(ModuleOp module, func::FuncOp model,
                  const TrainingOptions &options)
      : module(module), model(model), options(options),
        builder(module.getContext()), loss(makeLoss(options)) {}

  /// All three functions.
  LogicalResult run();
  /// `@predict` only.
  LogicalResult runInference();

private:
  /// A function under construction: the model's body, cloned.
  struct Clone {
    func::FuncOp function;
    /// In the order of the model's results.
    SmallVector<Value> outputs;
    Value labels, step;
    /// Writes of running statistics, by state, to place before the return.
    llvm::MapVector<StringAttr, Value> writes;
  };

  LogicalResult findOutput();
  LogicalResult findLabelsType();
  LogicalResult parseFreezePatterns();

  FailureOr<Clone> cloneModel(StringRef name, Mode mode, bool withLabels);
  LogicalResult cloneBatchNorm(graph::BatchNormOp op, Clone &clone,
                               IRMapping &mapping);
  bool isFrozen(StringRef state) const;
  bool isVarianceUnbiased() const;

  void finish(Clone &clone, ArrayRef<std::pair<StringRef, Value>> results);
  LogicalResult buildPredict();
  LogicalResult buildEvalStep();
  LogicalResult buildTrainStep();

  /// The selected output of a clone as a scalar, for LossKind::Output.
  Value lossOutput(Clone &clone);
  /// Rows of the step's batch.
  int64_t batchSize();
  StringRef outputName(unsigned index);

  ModuleOp module;
  func::FuncOp model;
  const TrainingOptions &options;
  OpBuilder builder;
  std::unique_ptr<Loss> loss;
  unsigned output = 0;
  RankedTensorType labelsType;
  graph::InputRangeAttr labelsRange;
  SmallVector<llvm::GlobPattern> freeze;
};

} // namespace

StringRef FunctionBuilder::outputName(unsigned index) {
  auto name = model.getResultAttrOfType<StringAttr>(index, graph::kNameAttr);
  return name ? name.getValue() : StringRef();
}

LogicalResult FunctionBuilder::findOutput() {
  unsigned count = model.getNumResults();
  if (count == 0)
    return model.emitError("the model has no outputs, so nothing to train");
  if (options.outputName.empty())
    return success();
  for (output = 0; output < count; ++output)
    if (outputName(output) == options.outputName)
      return success();
  InFlightDiagnostic error = model.emitError()
                             << "the model has no output '"
                             << options.outputName << "'; its outputs are ";
  for (unsigned index = 0; index < count; ++index)
    error << (index ? ", '" : "'") << outputName(index) << "'";
  return error;
}

LogicalResult FunctionBuilder::findLabelsType() {
  auto type = dyn_cast<RankedTensorType>(model.getResultTypes()[output]);
  if (!type)
    return model.emitError()
           << "expected a tensor as output '" << outputName(output) << "'";
  if (!type.getElementType().isF32()) {
    InFlightDiagnostic error =
        model.emitError() << "output '" << outputName(output) << "' has type "
                          << type.getElementType() << ": the loss needs f32";
    if (type.getElementType().isF64())
      error << "; convert the model to float (model.float())";
    return error;
  }
  if (!loss) {
    if (type.getNumElements() != 1)
      return model.emitError()
             << "output '" << outputName(output) << "' has shape ["
             << type.getShape() << "]: a loss must be a scalar";
    return success();
  }
  for (unsigned index = 0; index < model.getNumArguments(); ++index)
    if (auto name = model.getArgAttrOfType<StringAttr>(index, graph::kNameAttr);
        name && name.getValue() == "labels")
      return model.emitError()
             << "the model has an input named 'labels', which is the name of "
                "the target of loss "
             << stringifyLoss(options.loss);
  FailureOr<RankedTensorType> labels = loss->getLabelsType(type, [&] {
    return model.emitError() << "output '" << outputName(output) << "': ";
  });
  if (failed(labels))
    return failure();
  labelsType = *labels;
  labelsRange = loss->getLabelsRange(type);
  return success();
}

LogicalResult FunctionBuilder::parseFreezePatterns() {
  for (const std::string &pattern : options.freeze) {
    llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(pattern);
    if (!glob)
      return module.emitError() << "freeze pattern '" << pattern
                                << "': " << llvm::toString(glob.takeError());
    freeze.push_back(std::move(*glob));
  }
  return success();
}

bool FunctionBuilder::isFrozen(StringRef state) const {
  return llvm::any_of(
      freeze, [&](const llvm::GlobPattern &glob) { return glob.match(state); });
}

bool FunctionBuilder::isVarianceUnbiased() const {
  switch (options.batchNormVariance) {
  case BatchNormVariance::Biased:
    return false;
  case BatchNormVariance::Unbiased:
    return true;
  case BatchNormVariance::FromProducer: {
    auto producer = module->getAttrOfType<StringAttr>(kProducerAttr);
    return producer && producer.getValue() == "pytorch";
  }
  }
  llvm_unreachable("unknown variance");
}

int64_t FunctionBuilder::batchSize() {
  for (Type type : model.getArgumentTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type);
        tensor && tensor.getRank() > 0)
      return tensor.getDimSize(0);
  return 1;
}

/// Clones a batch norm in training mode and notes the new running statistics.
LogicalResult FunctionBuilder::cloneBatchNorm(graph::BatchNormOp op,
                                              Clone &clone,
                                              IRMapping &mapping) {
  auto mean = op.getMean().getDefiningOp<graph::ReadOp>();
  auto variance = op.getVariance().getDefiningOp<graph::ReadOp>();
  // Statistics that are not state cannot follow the batches: then the ones that
  // inference uses are used here too.
  if (!mean || !variance || isFrozen(mean.getState()) ||
      isFrozen(variance.getState())) {
    LLVM_DEBUG(llvm::dbgs() << "inference mode: " << op << "\n");
    builder.clone(*op, mapping);
    return success();
  }

  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getX().getType());
  int64_t count = type.getNumElements() / type.getDimSize(1);
  if (count < 2)
    return op.emitError("batch normalization needs more than one value per "
                        "channel to train, got input ")
           << type << "; freeze its running statistics or use a larger batch";
  auto train = graph::BatchNormTrainOp::create(
      builder, loc,
      TypeRange{type, op.getMean().getType(), op.getVariance().getType()},
      mapping.lookup(op.getX()), mapping.lookup(op.getScale()),
      mapping.lookup(op.getBias()), op.getEpsilonAttr());
  mapping.map(op.getResult(), train.getResult());

  LossBuilder b{builder, loc};
  double momentum = op.getMomentum().convertToDouble();
  auto update = [&](graph::ReadOp read, Value batch) {
    // A norm that is used twice updates its statistics twice.
    Value &written = clone.writes[read.getStateAttr().getAttr()];
    Value old = written ? written : mapping.lookup(read.getResult());
    Value kept = b.mul(old, b.splat(old, momentum));
    Value added = b.mul(batch, b.splat(batch, 1.0 - momentum));
    written = b.add(kept, added);
  };
  update(mean, train.getMean());
  Value batchVariance = train.getVariance();
  if (isVarianceUnbiased())
    batchVariance =
        b.mul(batchVariance,
              b.splat(batchVariance, static_cast<double>(count) /
                                         static_cast<double>(count - 1)));
  update(variance, batchVariance);
  return success();
}

FailureOr<FunctionBuilder::Clone>
FunctionBuilder::cloneModel(StringRef name, Mode mode, bool withLabels) {
  Clone clone;
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  SmallVector<Location> locations;
  Value modelStep;
  for (BlockArgument argument : model.getArguments()) {
    if (isa<graph::StepType>(argument.getType())) {
      modelStep = argument;
      continue;
    }
    types.push_back(argument.getType());
    attributes.push_back(model.getArgAttrDict(argument.getArgNumber()));
    locations.push_back(argument.getLoc());
  }
  unsigned inputs = types.size();
  if (withLabels) {
    types.push_back(labelsType);
    NamedAttrList named(namedAttr(builder, "labels"));
    if (labelsRange)
      named.append(graph::kRangesAttr, builder.getArrayAttr(labelsRange));
    attributes.push_back(named.getDictionary(builder.getContext()));
    locations.push_back(model.getLoc());
  }
  types.push_back(graph::StepType::get(builder.getContext()));
  attributes.push_back(builder.getDictionaryAttr({}));
  locations.push_back(model.getLoc());

  builder.setInsertionPoint(model);
  clone.function = func::FuncOp::create(builder, model.getLoc(), name,
                                        builder.getFunctionType(types, {}));
  clone.function.setAllArgAttrs(attributes);
  Block *body =
      builder.createBlock(&clone.function.getBody(), {}, types, locations);
  IRMapping mapping;
  unsigned next = 0;
  for (BlockArgument argument : model.getArguments())
    if (argument != modelStep)
      mapping.map(argument, body->getArgument(next++));
  if (withLabels)
    clone.labels = body->getArgument(inputs);
  clone.step = body->getArguments().back();
  if (modelStep)
    mapping.map(modelStep, clone.step);

  for (Operation &op : model.front().without_terminator()) {
    if (auto dropout = dyn_cast<graph::DropoutOp>(op);
        dropout && (mode == Mode::Inference ||
                    dropout.getRatio().convertToDouble() == 0.0)) {
      mapping.map(dropout.getResult(), mapping.lookup(dropout.getX()));
      continue;
    }
    if (auto stop = dyn_cast<graph::StopGradientOp>(op);
        stop && mode == Mode::Inference) {
      mapping.map(stop.getResult(), mapping.lookup(stop.getX()));
      continue;
    }
    if (auto attention = dyn_cast<graph::AttentionOp>(op);
        attention && attention.getStep() && mode == Mode::Inference) {
      auto copy = cast<graph::AttentionOp>(builder.clone(op, mapping));
      copy.getStepMutable().clear();
      copy.setRatio(APFloat(0.0));
      continue;
    }
    if (auto norm = dyn_cast<graph::BatchNormOp>(op);
        norm && mode == Mode::Training) {
      if (failed(cloneBatchNorm(norm, clone, mapping)))
        return failure();
      continue;
    }
    builder.clone(op, mapping);
  }
  for (Value value : model.front().getTerminator()->getOperands())
    clone.outputs.push_back(mapping.lookup(value));
  return clone;
}

/// Writes statistics, returns `results` under their names and drops what is
/// unused.
void FunctionBuilder::finish(Clone &clone,
                             ArrayRef<std::pair<StringRef, Value>> results) {
  Location loc = model.getLoc();
  for (auto &[state, value] : clone.writes)
    graph::WriteOp::create(builder, loc, FlatSymbolRefAttr::get(state), value);
  SmallVector<Value> values;
  SmallVector<Attribute> attributes;
  for (auto [name, value] : results) {
    values.push_back(value);
    attributes.push_back(namedAttr(builder, name));
  }
  func::ReturnOp::create(builder, loc, values);
  clone.function.setType(builder.getFunctionType(
      clone.function.getArgumentTypes(), TypeRange(ValueRange(values))));
  clone.function.setResAttrsAttr(builder.getArrayAttr(attributes));
  eraseDeadOps(clone.function.front());
}

Value FunctionBuilder::lossOutput(Clone &clone) {
  return graph::buildReshape(builder, model.getLoc(), clone.outputs[output],
                             {});
}

LogicalResult FunctionBuilder::buildPredict() {
  FailureOr<Clone> clone = cloneModel("predict", Mode::Inference, false);
  if (failed(clone))
    return failure();
  SmallVector<std::pair<StringRef, Value>> results;
  for (auto [index, value] : llvm::enumerate(clone->outputs))
    results.emplace_back(outputName(index), value);
  finish(*clone, results);
  return success();
}

LogicalResult FunctionBuilder::buildEvalStep() {
  FailureOr<Clone> clone =
      cloneModel("eval_step", Mode::Inference, loss != nullptr);
  if (failed(clone))
    return failure();
  Location loc = model.getLoc();
  LossBuilder b{builder, loc};
  if (!loss) {
    Value value = lossOutput(*clone);
    Value count = b.splat(value, static_cast<double>(batchSize()));
    finish(*clone, {{"loss_sum", b.mul(value, count)}, {"count", count}});
    return success();
  }

  ElementLoss elements = loss->build(builder, loc, clone->outputs[output],
                                     clone->labels, /*withCorrect=*/true);
  // Which elements belong to the batch's valid rows.
  auto predictionType =
      cast<RankedTensorType>(clone->outputs[output].getType());
  auto lossType = cast<RankedTensorType>(elements.loss.getType());
  int64_t batch = predictionType.getDimSize(0);
  auto rowType = RankedTensorType::get(
      {batch, lossType.getNumElements() / batch}, builder.getI64Type());
  Value rows = graph::IotaOp::create(builder, loc, rowType, 0);
  Value limit = graph::StepValueOp::create(
      builder, loc, RankedTensorType::get({}, builder.getI64Type()),
      graph::StepField::ValidRows, clone->step);
  Value valid =
      b.compare(arith::CmpIPredicate::slt, rows, b.broadcast(limit, rows, {}));
  valid = graph::buildReshape(builder, loc, valid, lossType.getShape());

  auto masked = [&](Value value) {
    return b.select(valid, value, b.splat(value, 0.0));
  };
  Value counted =
      elements.counted ? b.indicator(elements.counted) : b.splatF32(valid, 1.0);
  SmallVector<std::pair<StringRef, Value>> results = {
      {"loss_sum", b.sumAll(masked(elements.loss))},
      {"count", b.sumAll(masked(counted))}};
  if (elements.correct) {
    Value correct = b.indicator(elements.correct);
    if (elements.counted)
      correct = b.select(elements.counted, correct, b.splat(correct, 0.0));
    results.emplace_back("correct", b.sumAll(masked(correct)));
  }
  finish(*clone, results);
  return success();
}

LogicalResult FunctionBuilder::buildTrainStep() {
  FailureOr<Clone> clone =
      cloneModel("train_step", Mode::Training, loss != nullptr);
  if (failed(clone))
    return failure();
  Location loc = model.getLoc();
  LossBuilder b{builder, loc};
  Value sum, count;
  if (!loss) {
    // Its mean over micro-batches is the best that can be said of it.
    sum = lossOutput(*clone);
    count = b.splat(sum, 1.0);
  } else {
    ElementLoss elements = loss->build(builder, loc, clone->outputs[output],
                                       clone->labels, /*withCorrect=*/false);
    sum = b.sumAll(elements.loss);
    int64_t size =
        cast<RankedTensorType>(elements.loss.getType()).getNumElements();
    count = elements.counted ? b.sumAll(b.indicator(elements.counted))
                             : b.splat(sum, static_cast<double>(size));
  }
  bool isWhole = options.accumulate == 1;
  Value result = !loss && isWhole ? sum : b.div(sum, count);
  if (isWhole) {
    finish(*clone, {{"loss", result}});
    return success();
  }
  finish(*clone, {{"loss", result}, {"count", count}});
  clone->function.setResultAttr(1, kLossCountAttr, builder.getUnitAttr());
  return success();
}

LogicalResult FunctionBuilder::run() {
  if (failed(findOutput()) || failed(findLabelsType()) ||
      failed(parseFreezePatterns()) || failed(buildPredict()) ||
      failed(buildEvalStep()) || failed(buildTrainStep()))
    return failure();
  model.erase();
  return success();
}

LogicalResult FunctionBuilder::runInference() {
  if (failed(buildPredict()))
    return failure();
  model.erase();
  return success();
}

static FailureOr<func::FuncOp> findModel(ModuleOp module) {
  auto model = module.lookupSymbol<func::FuncOp>("model");
  if (!model || !model.getBody().hasOneBlock())
    return module.emitError("expected a function @model");
  return model;
}

LogicalResult bessemer::buildFunctions(ModuleOp module,
                                       const TrainingOptions &options) {
  FailureOr<func::FuncOp> model = findModel(module);
  if (failed(model))
    return failure();
  return FunctionBuilder(module, *model, options).run();
}

LogicalResult bessemer::buildInferenceFunctions(ModuleOp module) {
  FailureOr<func::FuncOp> model = findModel(module);
  if (failed(model) ||
      failed(FunctionBuilder(module, *model, TrainingOptions()).runInference()))
    return failure();
  return verifyGraphLevel(module);
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace bessemer {
#define GEN_PASS_DEF_GRAPHBUILDFUNCTIONS
#include "bessemer/Training/Passes.h.inc"
} // namespace bessemer

namespace {
struct GraphBuildFunctions
    : bessemer::impl::GraphBuildFunctionsBase<GraphBuildFunctions> {
  using Base::Base;

  GraphBuildFunctions() = default;
  /// Options that were parsed before; the textual ones are for printing.
  explicit GraphBuildFunctions(const TrainingOptions &options)
      : given(options) {
    loss = stringifyLoss(options.loss).str();
    outputName = options.outputName;
    if (options.classAxis)
      classAxis = std::to_string(*options.classAxis);
    ignoreIndex = options.ignoreIndex;
    labelSmoothing = options.labelSmoothing;
    freeze = options.freeze;
    if (options.batchNormVariance != BatchNormVariance::FromProducer)
      batchNormVariance = options.batchNormVariance == BatchNormVariance::Biased
                              ? "biased"
                              : "unbiased";
  }

  void runOnOperation() override {
    if (inference) {
      if (failed(buildInferenceFunctions(getOperation())))
        signalPassFailure();
      return;
    }
    if (given) {
      auto report = [&](const Twine &message) {
        getOperation().emitError(message);
      };
      if (failed(verifyOptions(*given, report)) ||
          failed(buildFunctions(getOperation(), *given)))
        signalPassFailure();
      return;
    }
    TrainingOptions options;
    options.outputName = outputName;
    options.ignoreIndex = ignoreIndex;
    options.labelSmoothing = labelSmoothing;
    options.accumulate = accumulate;
    options.freeze.assign(freeze.begin(), freeze.end());
    auto report = [&](const Twine &message) {
      getOperation().emitError(message);
    };
    if (!classAxis.empty()) {
      int64_t axis;
      if (StringRef(classAxis).getAsInteger(10, axis)) {
        report("expected an integer class-axis, got '" + classAxis + "'");
        return signalPassFailure();
      }
      options.classAxis = axis;
    }
    if (failed(parseLoss(loss, options, report)) ||
        failed(parseBatchNormVariance(batchNormVariance, options, report)) ||
        failed(verifyOptions(options, report)) ||
        failed(buildFunctions(getOperation(), options)))
      signalPassFailure();
  }

  std::optional<TrainingOptions> given;
};
} // namespace

std::unique_ptr<Pass>
bessemer::createGraphBuildFunctions(const TrainingOptions &options) {
  return std::make_unique<GraphBuildFunctions>(options);
}
