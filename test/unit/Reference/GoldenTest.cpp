// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Single ops against NumPy, PyTorch and the ONNX reference evaluator: the cases
// of test/Reference/make_goldens.py. Composites also through their
// decomposition.

#include "../Goldens.h"
#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "bessemer/Reference/Evaluator.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Parser/Parser.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace bessemer;
using reference::Tensor;

namespace {

const llvm::json::Array &goldens() {
  static const llvm::json::Value value = test::readGoldens(REFERENCE_GOLDENS);
  return *value.getAsArray();
}

/// A number, or the text of one that JSON has not.
double numberOf(const llvm::json::Value &value) {
  if (std::optional<StringRef> text = value.getAsString())
    return std::strtod(text->str().c_str(), nullptr);
  return *value.getAsNumber();
}

Tensor tensorOf(const llvm::json::Value &golden, MLIRContext *context) {
  const llvm::json::Object &object = *golden.getAsObject();
  Tensor tensor(cast<RankedTensorType>(
      parseType(object.getString("type")->str(), context)));
  for (auto [i, value] : llvm::enumerate(*object.getArray("data")))
    if (tensor.isFloat())
      tensor.floats[i] = numberOf(value);
    else
      tensor.integers[i] = *value.getAsInteger();
  return tensor;
}

std::string typesOf(const llvm::json::Array &values, StringRef prefix) {
  std::string text;
  for (auto [i, value] : llvm::enumerate(values)) {
    text += (i ? ", " : "") + prefix.str();
    if (!prefix.empty())
      text += std::to_string(i) + ": ";
    text += value.getAsObject()->getString("type")->str();
  }
  return text;
}

class GoldenTest : public testing::TestWithParam<int> {};

TEST_P(GoldenTest, MatchesItsSource) {
  MLIRContext context;
  context.loadDialect<arith::ArithDialect, func::FuncDialect, math::MathDialect,
                      tensor::TensorDialect, graph::GraphDialect>();
  const llvm::json::Object &golden = *goldens()[GetParam()].getAsObject();
  const llvm::json::Array &arguments = *golden.getArray("arguments");
  const llvm::json::Array &results = *golden.getArray("results");
  std::string returned;
  for (size_t i = 0; i < results.size(); ++i)
    returned += (i ? ", %r" : "%r") + std::to_string(i);
  std::string types = typesOf(results, "");
  std::string text = "func.func @f(" + typesOf(arguments, "%a") + ") -> (" +
                     types + ") {\n" + golden.getString("body")->str() +
                     "\nreturn " + returned + " : " + types + "\n}\n";
  auto module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module) << text;
  auto function = module->lookupSymbol<func::FuncOp>("f");
  std::vector<Tensor> inputs;
  for (const llvm::json::Value &argument : arguments)
    inputs.push_back(tensorOf(argument, &context));

  auto check = [&](StringRef how) {
    auto outcome = reference::evaluate(function, inputs, {});
    ASSERT_TRUE(succeeded(outcome)) << how.str();
    ASSERT_EQ(outcome->results.size(), results.size());
    for (auto [have, value] : llvm::zip_equal(outcome->results, results)) {
      Tensor want = tensorOf(value, &context);
      ASSERT_EQ(have.type, want.type);
      EXPECT_EQ(have.integers, want.integers) << how.str() << "\n" << text;
      for (auto [a, b] : llvm::zip_equal(have.floats, want.floats)) {
        if (std::isfinite(b))
          EXPECT_NEAR(a, b, 1e-10 * std::max(1.0, std::fabs(b)))
              << how.str() << "\n"
              << text;
        else
          EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b)))
              << a << " instead of " << b << " " << how.str() << "\n"
              << text;
      }
    }
  };
  check("directly");

  // The decompositions are the graph dialect's; here they meet the formulas.
  bool decomposed = false;
  for (Operation &op : llvm::make_early_inc_range(function.front())) {
    auto composite = dyn_cast<graph::DecomposableOpInterface>(op);
    if (!composite)
      continue;
    OpBuilder builder(&op);
    FailureOr<SmallVector<Value>> values = composite.decompose(builder);
    ASSERT_TRUE(succeeded(values));
    op.replaceAllUsesWith(*values);
    op.erase();
    decomposed = true;
  }
  if (decomposed)
    check("decomposed");
}

INSTANTIATE_TEST_SUITE_P(
    Ops, GoldenTest, testing::Range(0, static_cast<int>(goldens().size())),
    [](const testing::TestParamInfo<int> &info) {
      std::string name =
          goldens()[info.param].getAsObject()->getString("name")->str();
      std::replace(name.begin(), name.end(), '.', '_');
      return name;
    });

} // namespace
