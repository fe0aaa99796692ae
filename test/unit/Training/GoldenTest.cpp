// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Training steps against PyTorch: the cases of test/Training/make_goldens.py,
// built by the stage's passes and taken by the reference evaluator.

#include "../Goldens.h"
#include "RunTraining.h"
#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "bessemer/Reference/Evaluator.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace bessemer;
using reference::Tensor;

namespace {

const llvm::json::Array &goldens() {
  static const llvm::json::Value value = test::readGoldens(TRAINING_GOLDENS);
  return *value.getAsArray();
}

/// Fills `tensor` from {"shape", "data"}; the shape must agree.
void fill(Tensor &tensor, const llvm::json::Object &golden) {
  const llvm::json::Array &data = *golden.getArray("data");
  ASSERT_EQ(static_cast<int64_t>(data.size()), tensor.size());
  const llvm::json::Array &shape = *golden.getArray("shape");
  ASSERT_EQ(shape.size(), tensor.shape().size());
  for (auto [want, have] : llvm::zip_equal(shape, tensor.shape()))
    ASSERT_EQ(*want.getAsInteger(), have);
  for (auto [i, value] : llvm::enumerate(data))
    if (tensor.isFloat())
      tensor.floats[i] = reference::roundTo(
          cast<FloatType>(tensor.type.getElementType()), *value.getAsNumber());
    else
      tensor.integers[i] = *value.getAsInteger();
}

std::optional<double> numberOr(const llvm::json::Object &object,
                               StringRef key) {
  return object.getNumber(key);
}

TrainingOptions optionsOf(const llvm::json::Object &json) {
  TrainingOptions options;
  auto fail = [](const Twine &message) { FAIL() << message.str(); };
  EXPECT_TRUE(succeeded(parseLoss(*json.getString("loss"), options, fail)));
  if (auto text = json.getString("batch_norm_variance"))
    EXPECT_TRUE(succeeded(parseBatchNormVariance(*text, options, fail)));
  if (auto value = json.getInteger("ignore_index"))
    options.ignoreIndex = *value;
  options.classAxis = json.getInteger("class_axis");
  options.labelSmoothing = json.getNumber("label_smoothing").value_or(0.0);
  options.clipNorm = json.getNumber("clip_norm");
  if (const llvm::json::Array *freeze = json.getArray("freeze"))
    for (const llvm::json::Value &pattern : *freeze)
      options.freeze.push_back(pattern.getAsString()->str());
  if (const llvm::json::Object *chosen = json.getObject("optimizer")) {
    OptimizerOptions &optimizer = options.optimizer;
    EXPECT_TRUE(
        succeeded(parseOptimizer(*chosen->getString("kind"), optimizer, fail)));
    optimizer.momentum = numberOr(*chosen, "momentum").value_or(0.0);
    optimizer.dampening = numberOr(*chosen, "dampening").value_or(0.0);
    optimizer.nesterov = chosen->getBoolean("nesterov").value_or(false);
    optimizer.beta1 = numberOr(*chosen, "beta1").value_or(0.9);
    optimizer.beta2 = numberOr(*chosen, "beta2").value_or(0.999);
    optimizer.epsilon = numberOr(*chosen, "epsilon").value_or(1e-8);
    optimizer.weightDecay = numberOr(*chosen, "weight_decay");
  }
  return options;
}

/// Constants such as momentum are f32 in the program, double in PyTorch.
void expectClose(double have, double want, const Twine &what,
                 double tolerance = 1e-6) {
  EXPECT_NEAR(have, want, tolerance * std::max(1.0, std::fabs(want)))
      << what.str();
}

class GoldenTest : public testing::TestWithParam<int> {
protected:
  const llvm::json::Object &golden() const {
    return *goldens()[GetParam()].getAsObject();
  }

  /// Builds the training functions of the case's model.
  OwningOpRef<ModuleOp> build(MLIRContext &context) const {
    OwningOpRef<ModuleOp> module =
        parseSourceString<ModuleOp>(*golden().getString("model"), &context);
    if (!module)
      return nullptr;
    TrainingOptions options = optionsOf(*golden().getObject("options"));
    if (failed(test::runTraining(*module, options)) || failed(verify(*module)))
      return nullptr;
    return module;
  }

  static std::unique_ptr<MLIRContext> makeContext() {
    DialectRegistry registry;
    registry.insert<arith::ArithDialect, func::FuncDialect, math::MathDialect,
                    tensor::TensorDialect, graph::GraphDialect>();
    graph::registerUpstreamGradients(registry);
    auto context = std::make_unique<MLIRContext>(registry);
    context->loadAllAvailableDialects();
    return context;
  }

  /// The inputs of one step, by the function's arguments.
  static std::vector<Tensor> inputsOf(func::FuncOp function,
                                      const llvm::json::Array &step) {
    std::vector<Tensor> inputs;
    for (auto [value, type] :
         llvm::zip(step, function.getArgumentTypes().drop_back())) {
      inputs.emplace_back(cast<RankedTensorType>(type));
      fill(inputs.back(), *value.getAsObject());
    }
    return inputs;
  }
};

TEST_P(GoldenTest, TakesPyTorchsSteps) {
  std::unique_ptr<MLIRContext> context = makeContext();
  OwningOpRef<ModuleOp> module = build(*context);
  ASSERT_TRUE(module);
  auto trainStep = module->lookupSymbol<func::FuncOp>("train_step");
  auto evalStep = module->lookupSymbol<func::FuncOp>("eval_step");
  reference::States states = *reference::initialStates(*module);
  reference::StepBlock block;
  block.learningRate = static_cast<float>(*golden().getNumber("learning_rate"));
  const llvm::json::Array &norms = *golden().getArray("grad_norms");
  const llvm::json::Array *evaluations = golden().getArray("evaluations");

  for (auto [index, step] : llvm::enumerate(*golden().getArray("steps"))) {
    std::vector<Tensor> inputs = inputsOf(trainStep, *step.getAsArray());
    if (HasFatalFailure())
      return;
    block.step = index;
    if (evaluations) {
      const llvm::json::Object &want = *(*evaluations)[index].getAsObject();
      block.validRows = *want.getInteger("valid_rows");
      auto outcome = reference::evaluate(evalStep, inputs, states, block);
      ASSERT_TRUE(succeeded(outcome));
      EXPECT_TRUE(outcome->written.empty());
      expectClose(outcome->results[0].floats[0], *want.getNumber("loss_sum"),
                  "loss_sum of step " + Twine(index));
      EXPECT_EQ(outcome->results[1].floats[0], *want.getNumber("count"));
      auto correct = want.getNumber("correct");
      ASSERT_EQ(outcome->results.size(), correct ? 3u : 2u);
      if (correct)
        EXPECT_EQ(outcome->results[2].floats[0], *correct);
    }
    auto outcome = reference::evaluate(trainStep, inputs, states, block);
    ASSERT_TRUE(succeeded(outcome));
    expectClose(outcome->results[0].floats[0],
                *(*golden().getArray("losses"))[index].getAsNumber(),
                "loss of step " + Twine(index));
    ASSERT_EQ(outcome->results.size(), norms.empty() ? 1u : 2u);
    if (!norms.empty())
      expectClose(outcome->results[1].floats[0], *norms[index].getAsNumber(),
                  "gradient norm of step " + Twine(index));
    for (auto &[name, tensor] : outcome->written)
      states.insert_or_assign(name, std::move(tensor));
  }

  for (const auto &[name, value] : *golden().getObject("states")) {
    auto state = states.find(name.str());
    ASSERT_NE(state, states.end()) << name.str();
    const llvm::json::Array &data = *value.getAsObject()->getArray("data");
    ASSERT_EQ(static_cast<int64_t>(data.size()), state->second.size());
    for (auto [i, want] : llvm::enumerate(data)) {
      double have = state->second.isFloat()
                        ? state->second.floats[i]
                        : static_cast<double>(state->second.integers[i]);
      expectClose(have, *want.getAsNumber(),
                  "state " + name.str() + "[" + Twine(i) + "]");
    }
  }
  // No state beyond PyTorch's but the counters, where moments are listed.
  if (golden().getObject("states")->get("updates"))
    EXPECT_EQ(states.size(), golden().getObject("states")->size());
}

TEST_P(GoldenTest, PredictsWithoutEffects) {
  std::unique_ptr<MLIRContext> context = makeContext();
  OwningOpRef<ModuleOp> module = build(*context);
  ASSERT_TRUE(module);
  auto predict = module->lookupSymbol<func::FuncOp>("predict");
  const llvm::json::Array &first =
      *(*golden().getArray("steps"))[0].getAsArray();
  std::vector<Tensor> inputs = inputsOf(predict, first);
  inputs.resize(predict.getNumArguments() - 1,
                Tensor(RankedTensorType::get({}, Float64Type::get(&*context))));
  auto outcome =
      reference::evaluate(predict, inputs, *reference::initialStates(*module));
  ASSERT_TRUE(succeeded(outcome));
  EXPECT_EQ(outcome->results.size(), 1u);
  EXPECT_TRUE(outcome->written.empty());
}

INSTANTIATE_TEST_SUITE_P(
    PyTorch, GoldenTest, testing::Range(0, static_cast<int>(goldens().size())),
    [](const testing::TestParamInfo<int> &info) {
      return goldens()[info.param].getAsObject()->getString("name")->str();
    });

} // namespace
