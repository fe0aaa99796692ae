// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The evaluator around its ops: states, step block, rounding, constants, kern
// ops, errors, random numbers.

#include "bessemer/Reference/Evaluator.h"
#include "Operations.h"
#include "bessemer/Dialect/Kern/IR/Kern.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace bessemer;
using namespace bessemer::reference;

namespace {

class EvaluatorTest : public testing::Test {
protected:
  EvaluatorTest() {
    context.loadDialect<arith::ArithDialect, func::FuncDialect,
                        math::MathDialect, tensor::TensorDialect,
                        graph::GraphDialect, kern::KernDialect>();
  }

  func::FuncOp parse(StringRef text) {
    module = parseSourceString<ModuleOp>(text, &context);
    return module ? module->lookupSymbol<func::FuncOp>("f") : func::FuncOp();
  }

  Tensor floats(std::vector<double> values, ArrayRef<int64_t> shape) {
    return Tensor(RankedTensorType::get(shape, Float32Type::get(&context)),
                  std::move(values));
  }

  /// Evaluates and returns the diagnostics of a failure.
  std::string errorOf(func::FuncOp function, ArrayRef<Tensor> inputs,
                      const States &states = {}) {
    std::string text;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      text += diagnostic.str();
      return success();
    });
    return failed(evaluate(function, inputs, states)) ? text : "no error";
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

// The known-answer vectors of Random123 1.09 (kat_vectors, philox4x32 10).
TEST_F(EvaluatorTest, PhiloxGivesTheKnownAnswers) {
  auto top24 = [](uint32_t word) { return (word >> 8) * 0x1p-24; };
  EXPECT_EQ(uniform({0, 0, 0, 0}, 0, 0), top24(0x6627e8d5));
  EXPECT_EQ(uniform({~0ull, ~0ull, 0, 0}, 0, ~0ull), top24(0x408f276d));
  StepBlock step{0x0370734413198a2e, 0x299f31d0a4093822, 0, 0};
  EXPECT_EQ(uniform(step, 0, 0x85a308d3243f6a88), top24(0xd16cfe09));
  // The id is mixed into the low word of the seed.
  StepBlock mixed{0x0370734413198a2e, 0x299f31d0a4093822 ^ 0x77, 0, 0};
  EXPECT_EQ(uniform(mixed, 0x77, 0x85a308d3243f6a88), top24(0xd16cfe09));
}

TEST_F(EvaluatorTest, ReadsStatesAndTheStepBlock) {
  func::FuncOp f = parse(R"mlir(
    graph.state @s parameter : tensor<2xf32> = dense<[1.0, 2.0]> : tensor<2xf32>
    graph.state @n counter : tensor<i64> = dense<-1> : tensor<i64>
    func.func @f(%step: !graph.step) -> (tensor<2xf32>, tensor<f32>, tensor<i64>, tensor<i64>, tensor<i64>) {
      %s = graph.read @s : tensor<2xf32>
      %d = arith.addf %s, %s : tensor<2xf32>
      graph.write @s, %d : tensor<2xf32>
      %after = graph.read @s : tensor<2xf32>
      %lr = graph.step_value learning_rate %step : tensor<f32>
      %rows = graph.step_value valid_rows %step : tensor<i64>
      %n = graph.step_value step %step : tensor<i64>
      %seed = graph.step_value seed %step : tensor<i64>
      return %after, %lr, %rows, %n, %seed : tensor<2xf32>, tensor<f32>, tensor<i64>, tensor<i64>, tensor<i64>
    })mlir");
  ASSERT_TRUE(f);
  States states = *initialStates(*module);
  EXPECT_EQ(states.at("n").integers, std::vector<int64_t>{-1});
  auto outcome = evaluate(f, {}, states, {7, 9, 0.5f, 3});
  ASSERT_TRUE(succeeded(outcome));
  // A read yields the value at entry, wherever it stands.
  EXPECT_EQ(outcome->results[0].floats, (std::vector<double>{1.0, 2.0}));
  EXPECT_EQ(outcome->results[1].floats[0], 0.5);
  EXPECT_EQ(outcome->results[2].integers[0], 3);
  EXPECT_EQ(outcome->results[3].integers[0], 7);
  EXPECT_EQ(outcome->results[4].integers[0], 9);
  EXPECT_EQ(outcome->written.at("s").floats, (std::vector<double>{2.0, 4.0}));
  EXPECT_EQ(outcome->written.size(), 1u);
}

TEST_F(EvaluatorTest, RoundsWhenAskedTo) {
  func::FuncOp f = parse(R"mlir(
    func.func @f(%a: tensor<1xf32>, %b: tensor<1xf32>) -> tensor<1xf32> {
      %s = arith.addf %a, %b : tensor<1xf32>
      return %s : tensor<1xf32>
    })mlir");
  std::vector<Tensor> inputs{floats({1.0}, {1}), floats({1e-10}, {1})};
  EXPECT_EQ(evaluate(f, inputs, {})->results[0].floats[0], 1.0 + 1e-10);
  EvaluatorOptions rounded{true};
  EXPECT_EQ(evaluate(f, inputs, {}, {}, rounded)->results[0].floats[0], 1.0);
}

TEST_F(EvaluatorTest, RoundsLikeTheHardware) {
  EXPECT_EQ(roundTo(Float32Type::get(&context), 0.1), double(0.1f));
  EXPECT_EQ(roundTo(BFloat16Type::get(&context), 1.00390625), 1.0);
  EXPECT_EQ(roundTo(Float16Type::get(&context), 65520.0),
            std::numeric_limits<double>::infinity());
  auto i8 = IntegerType::get(&context, 8), i1 = IntegerType::get(&context, 1);
  EXPECT_EQ(wrapTo(i8, 200), -56);
  EXPECT_EQ(wrapTo(i1, 3), 1);
}

TEST_F(EvaluatorTest, ReadsResources) {
  func::FuncOp f = parse(R"mlir(
    func.func @f() -> (tensor<2xf32>, tensor<2xi64>) {
      %a = arith.constant dense_resource<a> : tensor<2xf32>
      %b = arith.constant dense_resource<b> : tensor<2xi64>
      return %a, %b : tensor<2xf32>, tensor<2xi64>
    }
    {-# dialect_resources: { builtin: {
      a: "0x040000000000803F000000C0",
      b: "0x08000000FFFFFFFFFFFFFFFF0500000000000000"
    } } #-})mlir");
  auto outcome = evaluate(f, {}, {});
  ASSERT_TRUE(succeeded(outcome));
  EXPECT_EQ(outcome->results[0].floats, (std::vector<double>{1.0, -2.0}));
  EXPECT_EQ(outcome->results[1].integers, (std::vector<int64_t>{-1, 5}));
}

TEST_F(EvaluatorTest, EvaluatesKernOpsThroughTheirExpansion) {
  func::FuncOp f = parse(R"mlir(
    func.func @f(%x: tensor<2x3xf32>, %w: tensor<2x3xf32>, %b: tensor<2xf32>) -> tensor<2x2xf32> {
      %y = kern.gemm %x, %w trans_b extras(%b) maps = [affine_map<(d0, d1) -> (d1)>,
          affine_map<(d0, d1) -> (d0, d1)>] {
      ^bb0(%acc: f32, %e: f32):
        %zero = arith.constant 0.0 : f32
        %s = arith.addf %acc, %e : f32
        %r = arith.maximumf %s, %zero : f32
        kern.yield %r : f32
      } : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x2xf32>
      return %y : tensor<2x2xf32>
    })mlir");
  ASSERT_TRUE(f);
  std::vector<Tensor> inputs{floats({1, 2, 3, 4, 5, 6}, {2, 3}),
                             floats({1, 0, -1, 2, 1, 0}, {2, 3}),
                             floats({1, -2}, {2})};
  auto outcome = evaluate(f, inputs, {});
  ASSERT_TRUE(succeeded(outcome));
  // x w^T = [[-2, 4], [-2, 13]]
  EXPECT_EQ(outcome->results[0].floats, (std::vector<double>{0, 2, 0, 11}));
}

TEST_F(EvaluatorTest, BindsAnOperandThatAKernOpTakesTwice) {
  func::FuncOp f = parse(R"mlir(
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      %y = kern.map(%x, %x) bounds = [2] maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>,
          affine_map<(d0) -> (d0)>] {
      ^bb0(%a: f32, %b: f32):
        %s = arith.mulf %a, %b : f32
        kern.yield %s : f32
      } : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      return %y : tensor<2xf32>
    })mlir");
  ASSERT_TRUE(f);
  auto outcome = evaluate(f, {floats({3, -4}, {2})}, {});
  ASSERT_TRUE(succeeded(outcome));
  EXPECT_EQ(outcome->results[0].floats, (std::vector<double>{9, 16}));
}

TEST_F(EvaluatorTest, ReportsWhatItCannotDo) {
  func::FuncOp f = parse(R"mlir(
    graph.state @s parameter : tensor<2xf32> = dense<1.0> : tensor<2xf32>
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      %s = graph.read @s : tensor<2xf32>
      %y = math.atan2 %s, %x : tensor<2xf32>
      return %y : tensor<2xf32>
    })mlir");
  Tensor x = floats({1, 2}, {2});
  States states = *initialStates(*module);
  EXPECT_EQ(errorOf(f, {x}, states), "no error");
  EXPECT_EQ(errorOf(f, {x}), "state 's' has no value to evaluate with");
  EXPECT_EQ(errorOf(f, {}, states), "expected more than 0 inputs");
  EXPECT_EQ(errorOf(f, {x, x}, states), "expected 1 inputs, got 2");
  EXPECT_EQ(errorOf(f, {floats({1}, {1})}, states),
            "expected input 0 of type 'tensor<2xf32>', got 'tensor<1xf32>'");
  func::FuncOp g = parse(R"mlir(
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      %y = math.cbrt %x : tensor<2xf32>
      return %y : tensor<2xf32>
    })mlir");
  EXPECT_EQ(errorOf(g, {x}),
            "the reference evaluator does not know 'math.cbrt'");
}

} // namespace
