// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which buffers kernels may overwrite: KernelOpInterface::canReuseOperand.

#include "bessemer/Dialect/Kern/IR/Kern.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace bessemer;

namespace {

/// Parses one function and gives its only kernel.
class ReuseTest : public testing::Test {
protected:
  ReuseTest() {
    context
        .loadDialect<graph::GraphDialect, kern::KernDialect, func::FuncDialect,
                     arith::ArithDialect, tensor::TensorDialect>();
  }

  kern::KernelOpInterface parse(StringRef text) {
    module = parseSourceString<ModuleOp>(text, &context);
    kern::KernelOpInterface found;
    if (module)
      module->walk([&](kern::KernelOpInterface op) { found = op; });
    return found;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(ReuseTest, MapReusesOperandsReadAtTheSamePlace) {
  kern::KernelOpInterface op = parse(R"(
    func.func @f(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>, %b: tensor<4xf32>, %i: tensor<4x4xi8>) {
      %0:2 = kern.map(%x, %y, %b, %i) bounds = [4, 4] maps = [
          affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d1)>,
          affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>] {
      ^bb0(%a: f32, %c: f32, %d: f32, %e: i8):
        kern.yield %a, %c : f32, f32
      } : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xi8>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
      return
    })");
  ASSERT_TRUE(op);
  EXPECT_TRUE(op.canReuseOperand(0, 0));
  EXPECT_FALSE(op.canReuseOperand(0, 1)); // written transposed
  EXPECT_FALSE(op.canReuseOperand(1, 0)); // read transposed
  EXPECT_TRUE(op.canReuseOperand(1, 1));
  EXPECT_FALSE(op.canReuseOperand(2, 0)); // read by every row
  EXPECT_FALSE(op.canReuseOperand(3, 0)); // another size
}

TEST_F(ReuseTest, MapKeepsAnOperandReadTwice) {
  kern::KernelOpInterface op = parse(R"(
    func.func @f(%x: tensor<4x4xf32>) {
      %0 = kern.map(%x, %x) bounds = [4, 4] maps = [
          affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>] {
      ^bb0(%a: f32, %c: f32):
        %s = arith.addf %a, %c : f32
        kern.yield %s : f32
      } : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      return
    })");
  ASSERT_TRUE(op);
  EXPECT_FALSE(op.canReuseOperand(0, 0));
}

TEST_F(ReuseTest, MapKeepsAnOperandReadThroughAReshape) {
  kern::KernelOpInterface op = parse(R"(
    func.func @f(%x: tensor<2x2xf32>) {
      %y = tensor.collapse_shape %x [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
      %z = tensor.expand_shape %y [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
      %0 = kern.map(%x, %z) bounds = [2, 2] maps = [
          affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>] {
      ^bb0(%a: f32, %c: f32):
        %s = arith.addf %a, %c : f32
        kern.yield %s : f32
      } : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
      return
    })");
  ASSERT_TRUE(op);
  EXPECT_FALSE(op.canReuseOperand(0, 0));
}

TEST_F(ReuseTest, RowsReuseRowsByRowsAndValuesByValues) {
  kern::KernelOpInterface op = parse(R"(
    func.func @f(%x: tensor<4x4xf32>, %v: tensor<4xf32>, %c: tensor<4xf32>) {
      %0:2 = kern.rows(%x, %v, %c) bounds = [4, 4] reduced = [1] maps = [
          affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1)>,
          affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>] {
      ^bb0(%a: f32, %b: f32, %e: f32):
        %s = kern.fold sum %a : f32
        kern.yield %a, %s : f32, f32
      } : (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>)
      return
    })");
  ASSERT_TRUE(op);
  EXPECT_TRUE(op.canReuseOperand(0, 0));
  EXPECT_FALSE(op.canReuseOperand(0, 1));
  EXPECT_TRUE(op.canReuseOperand(1, 1));
  EXPECT_FALSE(op.canReuseOperand(1, 0));
  EXPECT_FALSE(op.canReuseOperand(2, 1)); // along the row: read by all rows
}

TEST_F(ReuseTest, GemmReusesExtrasOnly) {
  kern::KernelOpInterface op = parse(R"(
    func.func @f(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>, %z: tensor<4x4xf32>) {
      %0 = kern.gemm %x, %y extras(%z, %x) maps = [affine_map<(d0, d1) -> (d0, d1)>,
          affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] {
      ^bb0(%acc: f32, %a: f32, %b: f32):
        %s = arith.addf %acc, %a : f32
        kern.yield %s : f32
      } : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      return
    })");
  ASSERT_TRUE(op);
  EXPECT_FALSE(op.canReuseOperand(0, 0));
  EXPECT_FALSE(op.canReuseOperand(1, 0));
  EXPECT_TRUE(op.canReuseOperand(2, 0));
  EXPECT_FALSE(op.canReuseOperand(3, 0)); // also the left factor
}

TEST_F(ReuseTest, UpdateIsInPlace) {
  kern::KernelOpInterface op = parse(R"(
    func.func @f(%p: tensor<4xf32>, %q: tensor<4xf32>, %g: tensor<4xf32>, %h: tensor<4xf32>, %m: tensor<4xf32>, %n: tensor<4xf32>, %l: tensor<f32>) {
      %0:4 = kern.update parameters(%p, %q) gradients(%g, %h) moments(%m, %n) scalars(%l) {
      ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
        kern.yield %a, %c : f32, f32
      } : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>)
          -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
      return
    })");
  ASSERT_TRUE(op);
  EXPECT_TRUE(op.canReuseOperand(0, 0)); // parameter
  EXPECT_TRUE(op.canReuseOperand(1, 1));
  EXPECT_FALSE(op.canReuseOperand(0, 1)); // another parameter
  EXPECT_TRUE(op.canReuseOperand(4, 2));  // moment
  EXPECT_TRUE(op.canReuseOperand(5, 3));
  EXPECT_FALSE(op.canReuseOperand(4, 3));
  EXPECT_TRUE(op.canReuseOperand(2, 0)); // gradient of the same parameter
  EXPECT_FALSE(op.canReuseOperand(2, 1));
  EXPECT_FALSE(op.canReuseOperand(6, 0)); // scalar
}

TEST_F(ReuseTest, NormNever) {
  kern::KernelOpInterface op = parse(R"(
    func.func @f(%p: tensor<1xf32>) {
      %0 = kern.norm(%p) : (tensor<1xf32>) -> tensor<1xf32>
      return
    })");
  ASSERT_TRUE(op);
  EXPECT_FALSE(op.canReuseOperand(0, 0));
}

TEST_F(ReuseTest, TableUpdateReusesTheTableAndItsMoments) {
  kern::KernelOpInterface op = parse(R"(
    func.func @f(%t: tensor<1x1x4x4xf32>, %r: tensor<1x1x4x4xf32>, %i: tensor<1x4xi64>, %m: tensor<1x1x4x4xf32>, %v: tensor<1x1x4x4xf32>) {
      %0:3 = kern.table_update %t, %r, %i moments(%m, %v) {
      ^bb0(%a: f32, %d: f32, %n: f32, %w: f32):
        kern.yield %a, %n, %w : f32, f32, f32
      } : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x4xi64>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>)
          -> (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>)
      return
    })");
  ASSERT_TRUE(op);
  for (unsigned operand = 0; operand < 5; ++operand)
    for (unsigned result = 0; result < 3; ++result)
      EXPECT_EQ(op.canReuseOperand(operand, result),
                operand == (result == 0 ? 0 : 2 + result))
          << operand << " " << result;
}

} // namespace
