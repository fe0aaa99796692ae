// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Raising keeps what functions compute: the functions of the lit tests give the
// same before and after in the reference evaluator.

#include "bessemer/Raising/Passes.h"
#include "bessemer/Reference/Evaluator.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace bessemer;

namespace {

/// A function of a lit test.
struct Example {
  std::string name, text;
};

void PrintTo(const Example &example, std::ostream *os) { *os << example.name; }

std::vector<Example> examples() {
  std::vector<Example> all;
  for (const char *file : {"raise-gelu.mlir", "raise-silu.mlir",
                           "raise-norms.mlir", "raise-attention.mlir"}) {
    auto buffer =
        llvm::MemoryBuffer::getFile(std::string(RAISING_TESTS) + "/" + file);
    if (!buffer)
      llvm::report_fatal_error("cannot read a test of " RAISING_TESTS);
    SmallVector<StringRef> parts;
    (*buffer)->getBuffer().split(parts, "// -----\n");
    for (StringRef part : parts) {
      StringRef name = part.split("func.func @").second.split('\n').first;
      // The first mention is that of the CHECK line.
      all.push_back(
          {name.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; })
               .str(),
           part.str()});
    }
  }
  return all;
}

reference::Tensor randomTensor(RankedTensorType type, std::mt19937 &random) {
  reference::Tensor tensor(type);
  for (double &value : tensor.floats)
    value = static_cast<double>(random() % 4000) / 1000.0 - 2.0;
  for (int64_t &value : tensor.integers)
    value = static_cast<int64_t>(random() % 4 != 0);
  return tensor;
}

class RaisingTest : public testing::TestWithParam<Example> {};

TEST_P(RaisingTest, KeepsResults) {
  MLIRContext context;
  context
      .loadDialect<graph::GraphDialect, func::FuncDialect, arith::ArithDialect,
                   math::MathDialect, tensor::TensorDialect>();
  auto module = parseSourceString<ModuleOp>(GetParam().text, &context);
  ASSERT_TRUE(module);
  auto evaluate = [&] {
    auto function = *module->getOps<func::FuncOp>().begin();
    std::mt19937 random(7);
    std::vector<reference::Tensor> inputs;
    for (Type type : function.getArgumentTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        inputs.push_back(randomTensor(tensor, random));
    return reference::evaluate(function, inputs,
                               *reference::initialStates(*module),
                               {5, 123456789, 0.05f, 3});
  };
  auto before = evaluate();
  ASSERT_TRUE(succeeded(before));
  PassManager manager(&context);
  buildRaisingPipeline(manager);
  ASSERT_TRUE(succeeded(manager.run(*module)));
  auto after = evaluate();
  ASSERT_TRUE(succeeded(after));
  for (auto [a, b] : llvm::zip_equal(before->results, after->results))
    for (auto [x, y] : llvm::zip_equal(a.floats, b.floats))
      // Constants of the decomposed forms are rounded to f32.
      EXPECT_NEAR(x, y, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Functions, RaisingTest, testing::ValuesIn(examples()),
                         [](const auto &info) { return info.param.name; });

} // namespace
