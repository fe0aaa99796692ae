// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pass that fails: the test of reproducers and of bessemer-reduce.

#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "bessemer/Pipelines/Register.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace {
/// Fails on functions that have an op of the given name.
struct FailurePass : PassWrapper<FailurePass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FailurePass)

  FailurePass() = default;
  FailurePass(const FailurePass &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "test-fail"; }
  StringRef getDescription() const override {
    return "fail on functions that have an op of the given name";
  }

  void runOnOperation() override {
    for (Operation &op : getOperation().front())
      if (op.getName().getStringRef() == opName)
        return fail(op);
  }

  void fail(Operation &op) {
    if (how == "crash")
      __builtin_trap();
    if (how == "invalid") {
      // A type that the result of the op cannot have.
      op.getResult(0).setType(RankedTensorType::get(
          {7, 7, 7},
          cast<RankedTensorType>(op.getResult(0).getType()).getElementType()));
      return;
    }
    if (how == "error")
      op.emitOpError("is what this pass was told to refuse");
    signalPassFailure();
  }

  Option<std::string> opName{*this, "op", llvm::cl::desc("name of the op"),
                             llvm::cl::init("arith.addf")};
  Option<std::string> how{*this, "how",
                          llvm::cl::desc("crash, invalid, silent or error"),
                          llvm::cl::init("error")};
};
} // namespace

void bessemer::registerFailurePass() { PassRegistration<FailurePass>(); }
