// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dropout's statistics, counters, and that training mode is only in
// `@train_step`.

#include "RunTraining.h"
#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "bessemer/Reference/Evaluator.h"
#include "mlir/Parser/Parser.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace mlir;
using namespace bessemer;
using reference::Tensor;

namespace {

class StatisticsTest : public testing::Test {
protected:
  StatisticsTest() {
    DialectRegistry registry;
    registry.insert<arith::ArithDialect, func::FuncDialect, math::MathDialect,
                    tensor::TensorDialect, graph::GraphDialect>();
    graph::registerUpstreamGradients(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// A model y = dropout(x * w) with loss mse.
  OwningOpRef<ModuleOp> buildDropout(StringRef ratio) {
    std::string text = R"mlir(
      graph.state @w parameter trainable : tensor<1xf32> = dense<1.0> : tensor<1xf32>
      func.func @model(%x: tensor<100x200xf32> {graph.name = "x"}, %step: !graph.step)
          -> (tensor<100x200xf32> {graph.name = "y"}) {
        %w = graph.read @w : tensor<1xf32>
        %s = tensor.collapse_shape %w [] : tensor<1xf32> into tensor<f32>
        %b = graph.broadcast %s dims = [] : tensor<f32> -> tensor<100x200xf32>
        %p = arith.mulf %x, %b : tensor<100x200xf32>
        %y = graph.dropout %p, %step {ratio = RATIO : f64, id = 5 : i64}
            : (tensor<100x200xf32>, !graph.step) -> tensor<100x200xf32>
        return %y : tensor<100x200xf32>
      })mlir";
    text.replace(text.find("RATIO"), 5, ratio.str());
    auto module = parseSourceString<ModuleOp>(text, &context);
    TrainingOptions options;
    options.loss = LossKind::Mse;
    if (!module || failed(test::runTraining(*module, options)))
      return nullptr;
    return module;
  }

  Tensor filled(ArrayRef<int64_t> shape, double value) {
    Tensor tensor(RankedTensorType::get(shape, Float32Type::get(&context)));
    llvm::fill(tensor.floats, value);
    return tensor;
  }

  MLIRContext context;
};

// With x = 1, w = 1 and labels 0 the loss is the mean square of the mask, whose
// elements are 0 or 1 / (1 - p): it is near 1 / (1 - p), and the share of kept
// elements is (1 - p)^2 times it.
TEST_F(StatisticsTest, DropoutKeepsTheRightShare) {
  for (double ratio : {0.1, 0.5, 0.9}) {
    OwningOpRef<ModuleOp> module = buildDropout(std::to_string(ratio));
    ASSERT_TRUE(module);
    auto train = module->lookupSymbol<func::FuncOp>("train_step");
    reference::States states = *reference::initialStates(*module);
    std::vector<Tensor> inputs{filled({100, 200}, 1.0),
                               filled({100, 200}, 0.0)};
    double previous = -1.0;
    for (uint64_t step : {0, 1}) {
      auto outcome = reference::evaluate(train, inputs, states,
                                         {step, /*seed=*/1, 0.0f, 100});
      ASSERT_TRUE(succeeded(outcome));
      double loss = outcome->results[0].floats[0];
      double kept = loss * (1.0 - ratio) * (1.0 - ratio);
      // Five standard deviations of a share of 20,000.
      double sigma = std::sqrt(ratio * (1.0 - ratio) / 20000.0);
      EXPECT_NEAR(kept, 1.0 - ratio, 5.0 * sigma);
      EXPECT_NE(loss, previous) << "steps must drop different elements";
      previous = loss;
    }
    auto again =
        reference::evaluate(train, inputs, states, {1, /*seed=*/1, 0.0f, 100});
    EXPECT_EQ(again->results[0].floats[0], previous);
    auto other =
        reference::evaluate(train, inputs, states, {1, /*seed=*/2, 0.0f, 100});
    EXPECT_NE(other->results[0].floats[0], previous);
  }
}

TEST_F(StatisticsTest, DropoutIsOffInEvaluation) {
  OwningOpRef<ModuleOp> module = buildDropout("0.5");
  ASSERT_TRUE(module);
  for (const char *name : {"predict", "eval_step"}) {
    auto function = module->lookupSymbol<func::FuncOp>(name);
    function.walk([&](graph::DropoutOp op) { ADD_FAILURE() << name; });
    std::vector<Tensor> inputs(function.getNumArguments() - 1,
                               filled({100, 200}, 1.0));
    auto outcome = reference::evaluate(
        function, inputs, *reference::initialStates(*module), {0, 0, 0, 100});
    ASSERT_TRUE(succeeded(outcome));
    EXPECT_EQ(outcome->results[0].floats[0], StringRef(name) == "predict");
  }
}

TEST_F(StatisticsTest, NotesTheFirstNonfiniteStep) {
  OwningOpRef<ModuleOp> module = buildDropout("0.0");
  ASSERT_TRUE(module);
  auto train = module->lookupSymbol<func::FuncOp>("train_step");
  reference::States states = *reference::initialStates(*module);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::pair<double, int64_t> steps[] = {
      {1.0, -1}, {std::nan(""), 1}, {1.0, 1}, {infinity, 1}};
  for (auto [index, expected] : llvm::enumerate(steps)) {
    std::vector<Tensor> inputs{filled({100, 200}, expected.first),
                               filled({100, 200}, 0.0)};
    auto outcome =
        reference::evaluate(train, inputs, states, {index, 0, 0.1f, 100});
    ASSERT_TRUE(succeeded(outcome));
    for (auto &[name, tensor] : outcome->written)
      states.insert_or_assign(name, std::move(tensor));
    EXPECT_EQ(states.at("nonfinite_step").integers[0], expected.second);
    EXPECT_EQ(states.at("updates").integers[0], static_cast<int64_t>(index) + 1)
        << "in f32 nothing is skipped";
  }
}

} // namespace
