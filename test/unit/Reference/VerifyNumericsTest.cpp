// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --verify-numerics names a pass that is wrong, and only that.

#include "bessemer/Reference/VerifyNumerics.h"
#include "bessemer/Dialect/Kern/IR/Kern.h"
#include "bessemer/Reference/Passes.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mlir;
using namespace bessemer;

namespace {

constexpr StringLiteral model = R"mlir(
  graph.state @w parameter trainable : tensor<3xf32> = dense<1.0> : tensor<3xf32>
  func.func @predict(%x: tensor<2x3xf32> {graph.name = "x"}, %step: !graph.step)
      -> (tensor<2x3xf32> {graph.name = "y"}) {
    %y = graph.softmax %x dim = 1 : tensor<2x3xf32>
    return %y : tensor<2x3xf32>
  }
  func.func @eval_step(%x: tensor<2x3xf32> {graph.name = "x"}, %step: !graph.step)
      -> (tensor<2x3xf32> {graph.name = "y"}) {
    %e = math.exp %x : tensor<2x3xf32>
    %s = arith.addf %e, %x : tensor<2x3xf32>
    %t = math.tanh %s : tensor<2x3xf32>
    return %t : tensor<2x3xf32>
  }
  func.func @train_step(%x: tensor<2x3xf32> {graph.name = "x"}, %step: !graph.step)
      -> (tensor<2x3xf32> {graph.name = "loss"}) {
    %w = graph.read @w : tensor<3xf32>
    %b = graph.broadcast %w dims = [1] : tensor<3xf32> -> tensor<2x3xf32>
    %zero = arith.constant dense<0.0> : tensor<2x3xf32>
    %unused = arith.mulf %x, %zero : tensor<2x3xf32>
    %y = arith.addf %x, %b : tensor<2x3xf32>
    %v = arith.mulf %w, %w : tensor<3xf32>
    graph.write @w, %v : tensor<3xf32>
    return %y : tensor<2x3xf32>
  })mlir";

class VerifyNumericsTest : public testing::Test {
protected:
  VerifyNumericsTest() {
    static const int registered = [] {
      registerReferencePasses();
      registerCanonicalizerPass();
      registerCSEPass();
      return 0;
    }();
    (void)registered;
    context.loadDialect<arith::ArithDialect, func::FuncDialect,
                        math::MathDialect, tensor::TensorDialect,
                        graph::GraphDialect, kern::KernDialect>();
  }

  /// Runs a pipeline under verification; the errors are in `errors`.
  NumericsReport run(StringRef pipeline) {
    auto module = parseSourceString<ModuleOp>(model, &context);
    PassManager manager(&context);
    std::shared_ptr<const NumericsReport> report =
        addNumericsVerification(manager);
    EXPECT_TRUE(succeeded(parsePassPipeline(pipeline, manager)));
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      errors.push_back(diagnostic.str());
      return success();
    });
    EXPECT_TRUE(succeeded(manager.run(*module)));
    return *report;
  }

  MLIRContext context;
  std::vector<std::string> errors;
};

TEST_F(VerifyNumericsTest, AcceptsCorrectPasses) {
  NumericsReport report = run("canonicalize,cse");
  EXPECT_FALSE(report.differs);
  EXPECT_GT(report.comparisons, 0);
  EXPECT_TRUE(errors.empty());
}

TEST_F(VerifyNumericsTest, NamesTheWrongPassFunctionAndResult) {
  NumericsReport report = run("canonicalize,test-break-numerics,cse");
  EXPECT_TRUE(report.differs);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(errors[0],
              testing::StartsWith("pass 'test-break-numerics' changed what "
                                  "@train_step computes: result 'loss', "
                                  "largest difference "));
  EXPECT_THAT(errors[0],
              testing::HasSubstr("; the first value that differs is that of "
                                 "'arith.subf' of type 'tensor<2x3xf32>', "
                                 "largest difference "));
}

TEST_F(VerifyNumericsTest, NamesTheOpBehindWhichAllIsWrong) {
  // The addition comes between an exp and a tanh, of which only the latter
  // gives something else.
  run("test-break-numerics{function=eval_step}");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(errors[0], testing::HasSubstr("result 'y', largest difference "));
  EXPECT_THAT(errors[0],
              testing::ContainsRegex("differs is that of 'arith.subf' of type "
                                     "'tensor<2x3xf32>', largest difference "
                                     ".*\\(was .*, is .* at \\[[0-1], "
                                     "[0-2]\\]\\)$"));
}

TEST_F(VerifyNumericsTest, EvaluatesOnlyWhatAPassChanged) {
  // canonicalize drops the unused product in @train_step and changes nothing
  // else.
  EXPECT_EQ(run("canonicalize").comparisons, 1);
}

TEST_F(VerifyNumericsTest, LooksIntoNestedPasses) {
  NumericsReport report = run("func.func(canonicalize,cse)");
  EXPECT_FALSE(report.differs);
  EXPECT_GT(report.comparisons, 0);
}

TEST_F(VerifyNumericsTest, SaysNothingWhereNothingBreaks) {
  // @predict has no addition.
  NumericsReport report = run("test-break-numerics{function=predict}");
  EXPECT_FALSE(report.differs);
  EXPECT_TRUE(errors.empty());
}

} // namespace
