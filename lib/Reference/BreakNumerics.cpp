// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A wrong pass: the test of --verify-numerics.

#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "bessemer/Reference/Passes.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace {
/// Turns the first addition of the chosen function into a subtraction; does
/// nothing where there is none.
struct BreakNumerics : PassWrapper<BreakNumerics, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BreakNumerics)

  BreakNumerics() = default;
  BreakNumerics(const BreakNumerics &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "test-break-numerics"; }
  StringRef getDescription() const override {
    return "make the first addition of a function a subtraction (a wrong pass)";
  }

  void runOnOperation() override {
    auto function = getOperation().lookupSymbol<func::FuncOp>(functionName);
    if (!function)
      return;
    auto additions = function.getOps<arith::AddFOp>();
    if (additions.empty())
      return;
    arith::AddFOp op = *additions.begin();
    OpBuilder builder(op);
    Value wrong =
        arith::SubFOp::create(builder, op.getLoc(), op.getLhs(), op.getRhs());
    op.replaceAllUsesWith(wrong);
    op.erase();
  }

  Option<std::string> functionName{*this, "function",
                                   llvm::cl::desc("function to break"),
                                   llvm::cl::init("train_step")};
};
} // namespace

void bessemer::registerReferencePasses() { PassRegistration<BreakNumerics>(); }
