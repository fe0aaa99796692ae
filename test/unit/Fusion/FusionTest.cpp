// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fusion stage keeps what functions compute: the reference evaluator gives
// the same before and after. Before, composites are computed by their formula;
// after, kernels by their expansion, so decompositions, conversion, fusion and
// expansions are all on trial.

#include "bessemer/Fusion/Passes.h"
#include "bessemer/Reference/Evaluator.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace bessemer;

namespace {

/// A function body by name, so that failures say which one.
struct Case {
  const char *name;
  const char *text;
  /// Kernels (ops of kern) that the function may have afterwards.
  unsigned kernels;
};

void PrintTo(const Case &c, std::ostream *os) { *os << c.name; }

class FusionTest : public testing::TestWithParam<Case> {
protected:
  FusionTest() {
    context.loadDialect<graph::GraphDialect, kern::KernDialect,
                        func::FuncDialect, arith::ArithDialect,
                        math::MathDialect, tensor::TensorDialect>();
  }
  MLIRContext context;
};

/// Random values: floats in [-2, 2), small positive where a square root or
/// logarithm is taken of an argument (attribute test.positive), integers in
/// [0, 3), one in eight -100 for labels.
reference::Tensor randomTensor(RankedTensorType type, bool positive,
                               std::mt19937 &random) {
  reference::Tensor tensor(type);
  for (double &value : tensor.floats)
    value = positive ? 0.1 + (random() % 1000) / 1000.0
                     : (random() % 4000) / 1000.0 - 2.0;
  for (int64_t &value : tensor.integers)
    value = type.getElementType().isInteger(1) ? random() % 2
            : random() % 8 == 0                ? -100
                                               : random() % 3;
  return tensor;
}

void expectEqual(ArrayRef<reference::Tensor> expected,
                 ArrayRef<reference::Tensor> got) {
  ASSERT_EQ(expected.size(), got.size());
  for (auto [a, b] : llvm::zip_equal(expected, got)) {
    EXPECT_EQ(a.integers, b.integers);
    ASSERT_EQ(a.floats.size(), b.floats.size());
    double largest = 0;
    for (double value : a.floats)
      largest = std::max(largest, std::abs(value));
    // Everything is computed in double; constants (epsilon, beta) are rounded
    // to f32 by one side only: 2^-24 relative, amplified a little.
    for (auto [x, y] : llvm::zip_equal(a.floats, b.floats))
      EXPECT_NEAR(x, y, 2e-6 * largest + 1e-12);
  }
}

TEST_P(FusionTest, KeepsResults) {
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(GetParam().text, &context);
  ASSERT_TRUE(module);
  auto function = *module->getOps<func::FuncOp>().begin();
  std::mt19937 random(7);
  std::vector<reference::Tensor> inputs;
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      inputs.push_back(randomTensor(
          tensor, !!function.getArgAttr(index, "test.positive"), random));
  reference::StepBlock step{5, 123456789, 0.05f, 3};
  FailureOr<reference::States> states = reference::initialStates(*module);
  ASSERT_TRUE(succeeded(states));
  FailureOr<reference::Outcome> before =
      reference::evaluate(function, inputs, *states, step);
  ASSERT_TRUE(succeeded(before));

  PassManager manager(&context);
  buildFusionPipeline(manager);
  ASSERT_TRUE(succeeded(manager.run(*module)));
  function = *module->getOps<func::FuncOp>().begin();
  FailureOr<reference::Outcome> after =
      reference::evaluate(function, inputs, *states, step);
  ASSERT_TRUE(succeeded(after));

  expectEqual(before->results, after->results);
  ASSERT_EQ(before->written.size(), after->written.size());
  for (auto &[name, value] : before->written)
    expectEqual({value}, {after->written.at(name)});

  unsigned kernels = 0;
  function.walk([&](kern::KernelOpInterface) { ++kernels; });
  std::string text;
  llvm::raw_string_ostream stream(text);
  function.print(stream);
  EXPECT_EQ(kernels, GetParam().kernels) << text;
}

#include "Cases.inc"

INSTANTIATE_TEST_SUITE_P(Functions, FusionTest, testing::ValuesIn(kCases),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

} // namespace
