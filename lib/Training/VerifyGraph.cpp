// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The end of the graph level.

#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "bessemer/Training/Passes.h"
#include "bessemer/Training/Training.h"

#define DEBUG_TYPE "graph-verify"

using namespace mlir;
using namespace bessemer;

static LogicalResult verifySignature(func::FuncOp function) {
  ArrayRef<Type> arguments = function.getArgumentTypes();
  if (arguments.empty() || !isa<graph::StepType>(arguments.back()))
    return function.emitOpError("expected the step block as last argument");
  for (unsigned index = 0; index + 1 < arguments.size(); ++index)
    if (!function.getArgAttrOfType<StringAttr>(index, graph::kNameAttr))
      return function.emitOpError("expected a name of argument ") << index;
  for (unsigned index = 0; index < function.getNumResults(); ++index) {
    if (function.getResultAttr(index, kGradientAttr))
      return function.emitOpError("expected no gradient as result ") << index;
    if (!function.getResultAttrOfType<StringAttr>(index, graph::kNameAttr))
      return function.emitOpError("expected a name of result ") << index;
  }
  return success();
}

namespace {
/// Checks the ops of a function and of the scans in it.
class BodyVerifier {
public:
  explicit BodyVerifier(func::FuncOp function)
      : function(function), isTraining(function.getSymName() == "train_step") {}

  LogicalResult verify(Block &block);

private:
  func::FuncOp function;
  bool isTraining;
  llvm::DenseSet<StringAttr> written;
};
} // namespace

LogicalResult BodyVerifier::verify(Block &block) {
  bool isInner = block.getParentOp() != function;
  for (Operation &op : block) {
    StringRef dialect = op.getName().getDialectNamespace();
    bool isLegal =
        isa<func::ReturnOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp>(
            op) ||
        isa<graph::DecomposableOpInterface>(op) || // a plugin's
        dialect == graph::GraphDialect::getDialectNamespace() ||
        dialect == arith::ArithDialect::getDialectNamespace() ||
        dialect == math::MathDialect::getDialectNamespace();
    if (!isLegal)
      return op.emitOpError("is not of the graph level");
    // Statistics of the data itself (instance norm) are for every function.
    if (!isTraining && isa<graph::WriteOp, graph::DropoutOp>(op))
      return op.emitOpError("expected only in @train_step, got @")
             << function.getSymName();
    if (auto write = dyn_cast<graph::WriteOp>(op))
      if (!written.insert(write.getStateAttr().getAttr()).second)
        return write.emitOpError("expected one write of ")
               << write.getStateAttr() << " per function";
    if (isInner && isa<graph::ReadOp, graph::WriteOp>(op))
      return op.emitOpError("expected outside of loops");
    if (auto scan = dyn_cast<graph::ScanOp>(op))
      if (failed(verify(scan.getBlock())))
        return failure();
  }
  return success();
}

LogicalResult bessemer::verifyGraphLevel(ModuleOp module) {
  for (Operation &op : *module.getBody()) {
    if (isa<graph::StateOp>(op))
      continue;
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function)
      return op.emitOpError("expected only states and functions in the module");
    StringRef name = function.getSymName();
    if (name != "predict" && name != "eval_step" && name != "train_step")
      return function.emitOpError(
          "expected functions predict, eval_step and train_step");
    if (!function.getBody().hasOneBlock())
      return function.emitOpError("expected one block");
    if (failed(verifySignature(function)) ||
        failed(BodyVerifier(function).verify(function.front())))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace bessemer {
#define GEN_PASS_DEF_GRAPHVERIFY
#include "bessemer/Training/Passes.h.inc"
} // namespace bessemer

namespace {
struct GraphVerify : bessemer::impl::GraphVerifyBase<GraphVerify> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(verifyGraphLevel(getOperation())))
      signalPassFailure();
  }
};
} // namespace
