// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blobs: alignment, determinism, errors.

#include "Codegen/CPU/Linker.h"
#include "KernelTest.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FormatVariadic.h"

using namespace bessemer;
using namespace bessemer::test;
using llvm::formatv;

static void addSome(KernelSet &set) {
  for (int n : {10, 100, 1000})
    set.add(
        formatv("(%x: tensor<{0}xf32>)", n),
        formatv(
            R"(%y = kern.map(%x) bounds = [{0}] maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {{
              ^bb0(%a: f32):
                %r = math.exp %a : f32
                kern.yield %r : f32
              } : (tensor<{0}xf32>) -> tensor<{0}xf32>)",
            n));
}

TEST(Link, BlobsAreAlignedAndReproducible) {
  for (const auto &target : cpu::getCPUTargets()) {
    KernelSet first, second;
    addSome(first);
    addSome(second);
    first.compile(target, false, 1);
    second.compile(target, false, 2);
    const cpu::CodeBlob &blob = first.getBlob();
    EXPECT_EQ(blob.bytes, second.getBlob().bytes);
    ASSERT_EQ(blob.kernels.size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(blob.kernels[i].offset % 64, 0u);
      EXPECT_EQ(blob.kernels[i].name, first.getKernels()[i].name);
      if (i) {
        EXPECT_GT(blob.kernels[i].offset, blob.kernels[i - 1].offset);
      }
    }
  }
}

TEST(Link, NoKernelsMakeAnEmptyBlob) {
  auto blob = cpu::compileKernels({}, cpu::getCPUTargets()[0], {});
  ASSERT_TRUE(mlir::succeeded(blob));
  EXPECT_TRUE(blob->bytes.empty());
}

TEST(Link, TargetsHaveNames) {
  EXPECT_TRUE(mlir::succeeded(cpu::getCPUTarget("x86-64-v3")));
  EXPECT_EQ(cpu::getCPUTarget("x86-64-v4")->lanes, 16);
  EXPECT_TRUE(mlir::failed(cpu::getCPUTarget("x86-64-v2")));
}

TEST(Link, DamagedObjectsAreErrors) {
  llvm::SmallVector<char, 0> blob;
  std::vector<char> object(100, 'x');
  auto offset = cpu::linkObject(object, "kernel", blob);
  EXPECT_FALSE(bool(offset));
  llvm::consumeError(offset.takeError());
}

TEST(Link, LibraryCallsAndUnknownOpsAreErrors) {
  KernelSet set;
  set.add("(%x: tensor<4xf32>)", R"(
    %y = kern.map(%x) bounds = [4] maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {
    ^bb0(%a: f32):
      %r = math.asin %a : f32
      kern.yield %r : f32
    } : (tensor<4xf32>) -> tensor<4xf32>)");
  set.add("(%x: tensor<1x1x3x3xf32>, %w: tensor<1x1x1x1xf32>)", R"(
    %y = kern.conv forward(%x, %w) layouts = [#kern.layout<"row">, #kern.layout<"row">, #kern.layout<"row">]
      {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
       schedule = #kern.schedule<library>}
      : (tensor<1x1x3x3xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x3x3xf32>)");
  std::vector<std::string> errors;
  mlir::ScopedDiagnosticHandler handler(&set.getContext(),
                                        [&](mlir::Diagnostic &diagnostic) {
                                          errors.push_back(diagnostic.str());
                                          return mlir::success();
                                        });
  auto blob =
      cpu::compileKernels(set.getKernels(), cpu::getCPUTargets()[0], {});
  EXPECT_TRUE(mlir::failed(blob));
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_NE(errors[0].find("unsupported op 'math.asin'"), std::string::npos);
  EXPECT_NE(errors[1].find("library call"), std::string::npos);
  EXPECT_EQ(cpu::getTileCount(set.getOp(1), cpu::getCPUTargets()[0]), 0);
}

TEST(Link, KernelsCanBeShown) {
  KernelSet set;
  addSome(set);
  const cpu::CPUTarget &target = cpu::getCPUTargets()[1];
  auto ir = cpu::kernelToLLVM(set.getKernels()[0], target, {});
  ASSERT_TRUE(mlir::succeeded(ir));
  EXPECT_NE(ir->find("define void @kernel_0"), std::string::npos);
  EXPECT_NE(cpu::kernelToString(set.getOp(0)).find("kern.map(%arg0)"),
            std::string::npos)
      << cpu::kernelToString(set.getOp(0));
}
