// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every differentiable op against central differences in float64.

#include "GradientTable.h"
#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "bessemer/Dialect/Kern/IR/Kern.h"
#include "bessemer/Reference/Evaluator.h"
#include "bessemer/Training/Training.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace bessemer;
using namespace bessemer::test;

namespace {

std::unique_ptr<MLIRContext> makeContext() {
  DialectRegistry registry;
  registry.insert<arith::ArithDialect, func::FuncDialect, math::MathDialect,
                  tensor::TensorDialect, graph::GraphDialect>();
  graph::registerUpstreamGradients(registry);
  auto context = std::make_unique<MLIRContext>(registry);
  context->loadAllAvailableDialects();
  return context;
}

std::string typeOf(const Variable &variable) {
  std::string shape = variable.shape;
  return "tensor<" + shape + (shape.empty() ? "" : "x") + "f64>";
}

/// `@train_step` that returns the sum of outputs times weights; variables are
/// trainable states, weights other states.
std::string makeModule(const GradientCase &c) {
  std::string states, body;
  for (const Variable &variable : c.variables) {
    std::string name = variable.name, type = typeOf(variable);
    states += "graph.state @" + name + " parameter trainable : " + type +
              " = dense<0.0> : " + type + "\n";
    body += "%" + name + " = graph.read @" + name + " : " + type + "\n";
  }
  body += c.body;
  body += "\n%total0 = arith.constant dense<0.0> : tensor<f64>\n";
  unsigned index = 0;
  for (auto [value, type] : c.outputs) {
    std::string n = std::to_string(index), next = std::to_string(++index);
    std::string t = type, wide = t;
    wide.replace(wide.size() - 4, 4, "f64>");
    std::string output = value;
    if (t != wide) {
      body += "%wide" + n + " = arith.extf " + value + " : " + t + " to " +
              wide + "\n";
      output = "%wide" + n;
    }
    states += "graph.state @weight" + n + " statistic : " + wide +
              " = dense<0.0> : " + wide + "\n";
    body += "%weight" + n + " = graph.read @weight" + n + " : " + wide + "\n";
    body += "%product" + n + " = arith.mulf " + output + ", %weight" + n +
            " : " + wide + "\n";
    std::string dims;
    for (char character : wide)
      if (character == 'x')
        dims += (dims.empty() ? "" : ", ") +
                std::to_string(dims.empty() ? 0 : (dims.size() + 2) / 3);
    if (dims.empty())
      body += "%sum" + n + " = arith.addf %product" + n + ", %total" + n +
              " : tensor<f64>\n%total" + next + " = arith.mulf %sum" + n +
              ", %one : tensor<f64>\n";
    else
      body += "%sum" + n + " = graph.reduce sum %product" + n + " dims = [" +
              dims + "] : " + wide + " -> tensor<f64>\n%total" + next +
              " = arith.addf %total" + n + ", %sum" + n + " : tensor<f64>\n";
  }
  return states +
         "func.func @train_step(%step: !graph.step) -> tensor<f64> {\n"
         "%one = arith.constant dense<1.0> : tensor<f64>\n" +
         body + "return %total" + std::to_string(index) + " : tensor<f64>\n}\n";
}

class GradientTest : public testing::TestWithParam<GradientCase> {};

TEST_P(GradientTest, MatchesCentralDifferences) {
  const GradientCase &c = GetParam();
  std::unique_ptr<MLIRContext> context = makeContext();
  std::string text = makeModule(c);
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, context.get());
  ASSERT_TRUE(module) << text;
  bool usesOp = false;
  module->walk(
      [&](Operation *op) { usesOp |= op->getName().getStringRef() == c.op; });
  ASSERT_TRUE(usesOp) << "the case does not use " << c.op;

  std::mt19937_64 engine(17);
  auto uniform = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(engine() >> 11) * 0x1p-53;
  };
  reference::States states;
  for (auto state : module->getOps<graph::StateOp>()) {
    reference::Tensor tensor(cast<RankedTensorType>(state.getType()));
    double low = -1.0, high = 1.0;
    for (const Variable &variable : c.variables)
      if (state.getSymName() == variable.name)
        std::tie(low, high) = std::pair(variable.low, variable.high);
    for (double &value : tensor.floats)
      value = uniform(low, high);
    states.emplace(state.getSymName().str(), std::move(tensor));
  }
  reference::StepBlock step{3, 11, 0.0f, 0};

  OwningOpRef<ModuleOp> forward = module->clone();
  ASSERT_TRUE(succeeded(differentiate(*module))) << text;
  ASSERT_TRUE(succeeded(verify(*module)));
  auto gradientFunction = module->lookupSymbol<func::FuncOp>("train_step");
  auto gradients = reference::evaluate(gradientFunction, {}, states, step);
  ASSERT_TRUE(succeeded(gradients));
  auto function = forward->lookupSymbol<func::FuncOp>("train_step");
  auto lossAt = [&](const std::string &name, size_t i, double value) {
    double old = states.at(name).floats[i];
    states.at(name).floats[i] = value;
    auto outcome = reference::evaluate(function, {}, states, step);
    states.at(name).floats[i] = old;
    return outcome->results[0].floats[0];
  };

  ASSERT_EQ(gradients->results.size(), 1 + c.variables.size());
  for (unsigned index = 1; index < gradients->results.size(); ++index) {
    std::string name =
        gradientFunction
            .getResultAttrOfType<FlatSymbolRefAttr>(index, kGradientAttr)
            .getValue()
            .str();
    for (size_t i = 0; i < states.at(name).floats.size(); ++i) {
      double x = states.at(name).floats[i];
      double numeric =
          (lossAt(name, i, x + c.step) - lossAt(name, i, x - c.step)) /
          (2.0 * c.step);
      double analytic = gradients->results[index].floats[i];
      EXPECT_NEAR(analytic, numeric,
                  c.tolerance * std::max(1.0, std::fabs(numeric)))
          << name << "[" << i << "] at " << x << " in\n"
          << text;
    }
  }
}

std::string nameOf(const testing::TestParamInfo<GradientCase> &info) {
  std::string name = info.param.op;
  std::replace(name.begin(), name.end(), '.', '_');
  return name + "_" + std::to_string(info.index);
}

INSTANTIATE_TEST_SUITE_P(Ops, GradientTest,
                         testing::ValuesIn(gradientTable().begin(),
                                           gradientTable().end()),
                         nameOf);

/// An op that gains the interface must gain a case.
TEST(GradientTableTest, HoldsEveryDifferentiableOp) {
  // They have the interface to say that there is no second derivative, or none
  // at all.
  llvm::StringSet<> known = {"graph.max_pool_grad", "graph.stop_gradient"};
  for (const GradientCase &c : gradientTable())
    known.insert(c.op);
  std::unique_ptr<MLIRContext> context = makeContext();
  unsigned count = 0;
  for (RegisteredOperationName name : context->getRegisteredOperations()) {
    if (!name.hasInterface<graph::DifferentiableOpInterface>())
      continue;
    ++count;
    EXPECT_TRUE(known.contains(name.getStringRef()))
        << name.getStringRef().str() << " is not in the gradient table";
  }
  EXPECT_GE(count, known.size());
}

/// The gradients at one point of relu, of its neighbours and of absf.
struct Kink {
  const char *name, *body;
  double x, gradient;
};
class KinkTest : public testing::TestWithParam<Kink> {};

TEST_P(KinkTest, HasPyTorchsGradient) {
  std::unique_ptr<MLIRContext> context = makeContext();
  GradientCase c{"", {{"x", "1"}}, GetParam().body, {{"%y", "tensor<1xf64>"}}};
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(makeModule(c), context.get());
  ASSERT_TRUE(module);
  ASSERT_TRUE(succeeded(differentiate(*module)));
  reference::States states = *reference::initialStates(*module);
  states.at("x").floats[0] = GetParam().x;
  states.at("weight0").floats[0] = 1.0;
  auto outcome = reference::evaluate(
      module->lookupSymbol<func::FuncOp>("train_step"), {}, states);
  ASSERT_TRUE(succeeded(outcome));
  EXPECT_EQ(outcome->results[1].floats[0], GetParam().gradient);
}

#define ZERO "%c = arith.constant dense<0.0> : tensor<1xf64>\n"
INSTANTIATE_TEST_SUITE_P(
    Kinks, KinkTest,
    testing::Values(
        // x times x.detach().
        Kink{"stop_gradient",
             "%s = graph.stop_gradient %x : tensor<1xf64>\n"
             "%y = arith.mulf %x, %s : tensor<1xf64>",
             3.0, 3.0},
        // torch.relu: 0 at 0.
        Kink{"relu", ZERO "%y = arith.maximumf %x, %c : tensor<1xf64>", 0.0,
             0.0},
        Kink{"relu_swapped", ZERO "%y = arith.maximumf %c, %x : tensor<1xf64>",
             0.0, 0.0},
        Kink{"relu_negative", ZERO "%y = arith.maximumf %x, %c : tensor<1xf64>",
             -1e-300, 0.0},
        Kink{"relu_positive", ZERO "%y = arith.maximumf %x, %c : tensor<1xf64>",
             1e-300, 1.0},
        // torch.nn.functional.hardtanh: 0 at its bounds.
        Kink{"clip", ZERO "%y = arith.minimumf %x, %c : tensor<1xf64>", 0.0,
             0.0},
        // torch.maximum(x, x * 1): halves on a tie, 1 in all.
        Kink{"tie",
             "%o = arith.constant dense<1.0> : tensor<1xf64>\n"
             "%z = arith.mulf %x, %o : tensor<1xf64>\n"
             "%y = arith.maximumf %x, %z : tensor<1xf64>",
             0.5, 1.0},
        Kink{"abs", "%y = math.absf %x : tensor<1xf64>", 0.0, 0.0},
        Kink{"power",
             "%t = arith.constant dense<2.0> : tensor<1xf64>\n"
             "%y = math.powf %x, %t : tensor<1xf64>",
             0.0, 0.0}),
    [](const auto &info) { return info.param.name; });
#undef ZERO

} // namespace
