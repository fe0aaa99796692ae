// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The gradients of `@train_step` become an optimizer step.

#include "Optimizers.h"
#include "Support.h"
#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "bessemer/Training/Passes.h"
#include "bessemer/Training/Training.h"
#include "llvm/Support/Debug.h"
#include "llvm/Support/FormatVariadic.h"
#include <limits>

#define DEBUG_TYPE "graph-build-update"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::training;

namespace {

/// One trained parameter: its state, its value at entry and its gradient.
struct Parameter {
  graph::StateOp state;
  Value value, gradient;
  /// The indices that look it up when it is a table that is updated lazily.
  SmallVector<Value> touched;
};

class UpdateBuilder {
public:
  UpdateBuilder(ModuleOp module, func::FuncOp function,
                const TrainingOptions &options)
      : module(module), function(function), options(options),
        builder(module.getContext()), loc(function.getLoc()) {}

  LogicalResult run();

private:
  LogicalResult findParameters();
  LogicalResult findTables();
  /// Adds a state after the existing ones.
  FailureOr<graph::StateOp> addState(const Twine &name, graph::StateRole role,
                                     RankedTensorType type, int64_t init,
                                     StringRef why);
  Value read(graph::StateOp state);
  void write(graph::StateOp state, Value value);
  /// min(1, clip / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_.
  Value buildClipping();
  LogicalResult buildCounters(Value loss, Value step);

  ModuleOp module;
  func::FuncOp function;
  const TrainingOptions &options;
  OpBuilder builder;
  Location loc;
  SmallVector<Parameter> parameters;
  Value gradientNorm;
  graph::StateOp updatesState;
  Value updates;
};

} // namespace

FailureOr<graph::StateOp> UpdateBuilder::addState(const Twine &name,
                                                  graph::StateRole role,
                                                  RankedTensorType type,
                                                  int64_t init, StringRef why) {
  SmallString<64> storage;
  StringRef symbol = name.toStringRef(storage);
  if (Operation *existing = module.lookupSymbol(symbol)) {
    existing->emitError() << "the model has an initializer named '" << symbol
                          << "', which is a name of training state";
    return failure();
  }
  OpBuilder::InsertionGuard guard(builder);
  graph::StateOp last;
  for (graph::StateOp state : module.getOps<graph::StateOp>())
    last = state;
  builder.setInsertionPointAfter(last);
  Attribute element =
      isa<FloatType>(type.getElementType())
          ? Attribute(builder.getFloatAttr(type.getElementType(),
                                           static_cast<double>(init)))
          : builder.getIntegerAttr(type.getElementType(), init);
  return graph::StateOp::create(builder, loc, symbol, role,
                                /*trainable=*/false, type,
                                SplatElementsAttr::get(type, element),
                                builder.getStringAttr(why),
                                /*layout=*/nullptr);
}

Value UpdateBuilder::read(graph::StateOp state) {
  for (auto op : function.getOps<graph::ReadOp>())
    if (op.getState() == state.getSymName())
      return op.getResult();
  return graph::ReadOp::create(builder, loc, state.getType(),
                               FlatSymbolRefAttr::get(state));
}

void UpdateBuilder::write(graph::StateOp state, Value value) {
  graph::WriteOp::create(builder, loc, FlatSymbolRefAttr::get(state), value);
}

LogicalResult UpdateBuilder::findParameters() {
  auto terminator = cast<func::ReturnOp>(function.front().getTerminator());
  for (auto [index, value] : llvm::enumerate(terminator.getOperands())) {
    auto name =
        function.getResultAttrOfType<FlatSymbolRefAttr>(index, kGradientAttr);
    if (!name)
      continue;
    auto state = module.lookupSymbol<graph::StateOp>(name);
    if (!state)
      return function.emitError("expected a graph.state named ") << name;
    if (!cast<RankedTensorType>(state.getType()).getElementType().isF32())
      return state.emitError()
             << "parameter '" << state.getSymName() << "' has type "
             << state.getType() << ": only f32 parameters are trained";
    parameters.push_back({state, read(state), value, {}});
  }
  if (parameters.empty())
    return function.emitError(
        "expected @train_step to return gradients (graph-differentiate)");
  return success();
}

/// Collects the indices of the lookups whose gradients are all of `gradient`;
/// false when something else reads the table as well.
static bool collectLookups(Value gradient, SmallVectorImpl<Value> &indices) {
  Operation *op = gradient.getDefiningOp();
  if (isa_and_nonnull<arith::AddFOp>(op))
    return collectLookups(op->getOperand(0), indices) &&
           collectLookups(op->getOperand(1), indices);
  auto lookup = dyn_cast_or_null<graph::ScatterAddOp>(op);
  if (!lookup || lookup.getDim() != 0)
    return false;
  indices.push_back(lookup.getIndices());
  return true;
}

LogicalResult UpdateBuilder::findTables() {
  bool found = false;
  for (Parameter &parameter : parameters) {
    if (collectLookups(parameter.gradient, parameter.touched))
      found = true;
    else
      parameter.touched.clear();
  }
  if (!found)
    return function.emitError("lazy_embeddings: expected a trained table that "
                              "is only looked up by index, found none");
  return success();
}

Value UpdateBuilder::buildClipping() {
  auto scalar = RankedTensorType::get({}, builder.getF32Type());
  auto constant = [&](double value) {
    return graph::buildSplat(builder, loc, scalar, value);
  };
  if (!options.clipNorm)
    return constant(1.0);
  SmallVector<Value> gradients;
  for (const Parameter &parameter : parameters)
    gradients.push_back(parameter.gradient);
  Value squares = graph::SquareSumOp::create(builder, loc, scalar, gradients);
  gradientNorm = math::SqrtOp::create(builder, loc, squares);
  Value divisor =
      arith::AddFOp::create(builder, loc, gradientNorm, constant(1e-6));
  Value scale =
      arith::DivFOp::create(builder, loc, constant(*options.clipNorm), divisor);
  return arith::MinimumFOp::create(builder, loc, scale, constant(1.0));
}

/// Counts the update, and notes the first step whose loss is not finite.
LogicalResult UpdateBuilder::buildCounters(Value loss, Value step) {
  auto integer = RankedTensorType::get({}, builder.getI64Type());
  auto constant = [&](int64_t value) {
    return graph::buildSplat(builder, loc, integer, static_cast<double>(value));
  };
  FailureOr<graph::StateOp> nonfinite =
      addState("nonfinite_step", graph::StateRole::Counter, integer, -1,
               "first step whose loss was not finite, or -1");
  if (failed(nonfinite))
    return failure();
  write(updatesState,
        arith::AddIOp::create(builder, loc, updates, constant(1)));

  Value magnitude = math::AbsFOp::create(builder, loc, loss);
  Value infinity =
      graph::buildSplat(builder, loc, cast<RankedTensorType>(loss.getType()),
                        std::numeric_limits<double>::infinity());
  Value isFinite = arith::CmpFOp::create(
      builder, loc, arith::CmpFPredicate::OLT, magnitude, infinity);
  Value old = read(*nonfinite);
  Value isSet = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                                      old, constant(0));
  Value now = graph::StepValueOp::create(builder, loc, integer,
                                         graph::StepField::Step, step);
  Value noted = arith::SelectOp::create(builder, loc, isFinite, old, now);
  write(*nonfinite, arith::SelectOp::create(builder, loc, isSet, old, noted));
  return success();
}

LogicalResult UpdateBuilder::run() {
  Block &block = function.front();
  auto terminator = cast<func::ReturnOp>(block.getTerminator());
  builder.setInsertionPoint(terminator);
  Value step = block.getNumArguments() ? block.getArguments().back() : Value();
  if (!step || !isa<graph::StepType>(step.getType()))
    return function.emitError(
        "expected the step block as last argument of @train_step");
  if (failed(findParameters()) ||
      (options.optimizer.lazyEmbeddings && failed(findTables())))
    return failure();

  std::unique_ptr<Optimizer> optimizer =
      options.optimizer.kind == OptimizerOptions::Kind::Sgd
          ? makeSgd(options.optimizer)
          : makeAdamW(options.optimizer);

  // Moments first, so that the counters end the list of states.
  SmallVector<SmallVector<graph::StateOp>> moments(parameters.size());
  for (StringRef prefix : optimizer->getMoments())
    for (auto [index, parameter] : llvm::enumerate(parameters)) {
      FailureOr<graph::StateOp> state = addState(
          prefix + "/" + parameter.state.getSymName(), graph::StateRole::Moment,
          cast<RankedTensorType>(parameter.state.getType()), 0,
          "kept by the optimizer");
      if (failed(state))
        return failure();
      moments[index].push_back(*state);
    }
  FailureOr<graph::StateOp> counter =
      addState("updates", graph::StateRole::Counter,
               RankedTensorType::get({}, builder.getI64Type()), 0,
               "number of applied updates");
  if (failed(counter))
    return failure();
  updatesState = *counter;
  updates = read(updatesState);

  UpdateScalars scalars;
  scalars.gradientScale = buildClipping();
  scalars.learningRate = graph::StepValueOp::create(
      builder, loc, RankedTensorType::get({}, builder.getF32Type()),
      graph::StepField::LearningRate, step);
  scalars.updates = updates;
  optimizer->begin(builder, loc, scalars);
  for (auto [index, parameter] : llvm::enumerate(parameters)) {
    LLVM_DEBUG(llvm::dbgs()
               << "update of " << parameter.state.getSymName() << "\n");
    SmallVector<Value> old;
    for (graph::StateOp state : moments[index])
      old.push_back(read(state));
    SmallVector<Value> updated =
        optimizer->build(builder, loc, parameter.value, parameter.gradient, old,
                         parameter.touched);
    write(parameter.state, updated.front());
    for (auto [state, value] :
         llvm::zip_equal(moments[index], ArrayRef(updated).drop_front()))
      write(state, value);
  }
  Value loss = terminator.getOperand(0);
  if (failed(buildCounters(loss, step)))
    return failure();

  // The loss (and the norm) instead of the gradients.
  SmallVector<Value> results{loss};
  SmallVector<Attribute> attributes{namedAttr(builder, "loss")};
  if (gradientNorm) {
    results.push_back(gradientNorm);
    attributes.push_back(namedAttr(builder, "grad_norm"));
  }
  terminator->setOperands(results);
  function.setType(builder.getFunctionType(function.getArgumentTypes(),
                                           TypeRange(ValueRange(results))));
  function.setResAttrsAttr(builder.getArrayAttr(attributes));
  return success();
}

LogicalResult bessemer::buildUpdate(ModuleOp module,
                                    const TrainingOptions &options) {
  auto function = module.lookupSymbol<func::FuncOp>("train_step");
  if (!function || !function.getBody().hasOneBlock())
    return module.emitError("expected a function @train_step");
  return UpdateBuilder(module, function, options).run();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace bessemer {
#define GEN_PASS_DEF_GRAPHBUILDUPDATE
#include "bessemer/Training/Passes.h.inc"
} // namespace bessemer

namespace {
struct GraphBuildUpdate
    : bessemer::impl::GraphBuildUpdateBase<GraphBuildUpdate> {
  using Base::Base;

  GraphBuildUpdate() = default;
  /// Options that were parsed before; the textual ones are for printing.
  explicit GraphBuildUpdate(const TrainingOptions &options) : given(options) {
    const OptimizerOptions &chosen = options.optimizer;
    optimizer = stringifyOptimizer(chosen.kind).str();
    momentum = chosen.momentum;
    dampening = chosen.dampening;
    nesterov = chosen.nesterov;
    beta1 = chosen.beta1;
    beta2 = chosen.beta2;
    epsilon = chosen.epsilon;
    lazyEmbeddings = chosen.lazyEmbeddings;
    if (chosen.weightDecay)
      weightDecay = llvm::formatv("{0:e16}", *chosen.weightDecay).str();
    if (options.clipNorm)
      clipNorm = llvm::formatv("{0:e16}", *options.clipNorm).str();
  }

  void runOnOperation() override {
    if (given) {
      if (failed(buildUpdate(getOperation(), *given)))
        signalPassFailure();
      return;
    }
    TrainingOptions options;
    OptimizerOptions &chosen = options.optimizer;
    auto report = [&](const Twine &message) {
      getOperation().emitError(message);
    };
    auto parseNumber = [&](StringRef flag, StringRef text,
                           std::optional<double> &value) -> LogicalResult {
      double number;
      if (text.empty())
        return success();
      if (text.getAsDouble(number)) {
        report("expected a number as " + flag + ", got '" + text + "'");
        return failure();
      }
      value = number;
      return success();
    };
    chosen.momentum = momentum;
    chosen.dampening = dampening;
    chosen.nesterov = nesterov;
    chosen.beta1 = beta1;
    chosen.beta2 = beta2;
    chosen.epsilon = epsilon;
    chosen.lazyEmbeddings = lazyEmbeddings;
    if (failed(parseOptimizer(optimizer, chosen, report)) ||
        failed(parseNumber("weight-decay", weightDecay, chosen.weightDecay)) ||
        failed(parseNumber("clip-norm", clipNorm, options.clipNorm)) ||
        failed(verifyOptions(options, report)) ||
        failed(buildUpdate(getOperation(), options)))
      signalPassFailure();
  }

  std::optional<TrainingOptions> given;
};
} // namespace

std::unique_ptr<Pass>
bessemer::createGraphBuildUpdate(const TrainingOptions &options) {
  return std::make_unique<GraphBuildUpdate>(options);
}
