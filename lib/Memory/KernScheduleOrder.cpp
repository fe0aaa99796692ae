// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pass kern-schedule-order: puts ScheduleOrder's answer into the IR.

#include "bessemer/Memory/FunctionModel.h"
#include "bessemer/Memory/Passes.h"
#include "bessemer/Memory/ScheduleOrder.h"

using namespace mlir;
using namespace bessemer;

namespace bessemer {
#define GEN_PASS_DEF_KERNSCHEDULEORDER
#include "bessemer/Memory/Passes.h.inc"
} // namespace bessemer

namespace {
/// Values at entry, kernels in `order`, each with the reshapes of its results,
/// then the writes.
void reorder(Block &block, const FunctionModel &model, const NodeOrder &order) {
  // Reshapes follow what they reshape; those of values at entry come with
  // them, in program order.
  DenseMap<Value, SmallVector<Operation *>> reshapes;
  SmallVector<Operation *> entry, writes;
  for (Operation &op : block) {
    if (isa<graph::WriteOp>(op)) {
      writes.push_back(&op);
    } else if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op)) {
      if (model.problem.values[model.idOf(op.getOperand(0))].atEntry())
        entry.push_back(&op);
      else
        reshapes[op.getOperand(0)].push_back(&op);
    } else if (isa<graph::ReadOp, graph::StepValueOp, arith::ConstantOp>(op)) {
      entry.push_back(&op);
    }
  }
  Operation *end = block.getTerminator();
  for (Operation *op : entry)
    op->moveBefore(end);
  SmallVector<Operation *> pending;
  for (unsigned node : order) {
    if (!model.ops[node])
      continue;
    pending.push_back(model.ops[node]);
    while (!pending.empty()) {
      Operation *op = pending.pop_back_val();
      op->moveBefore(end);
      for (Value result : llvm::reverse(op->getResults()))
        if (auto found = reshapes.find(result); found != reshapes.end())
          llvm::append_range(pending, llvm::reverse(found->second));
    }
  }
  for (Operation *op : writes)
    op->moveBefore(end);
}

struct KernScheduleOrder
    : bessemer::impl::KernScheduleOrderBase<KernScheduleOrder> {
  void runOnOperation() override {
    StateLayout states(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isPrivate() || function.getSymName() == kModelFunction)
        continue;
      // Inner loops first: what a body needs depends on its order.
      WalkResult bodies = function.walk([&](graph::ScanOp scan) {
        FailureOr<FunctionModel> model = buildBodyModel(scan, states);
        if (failed(model))
          return WalkResult::interrupt();
        reorder(scan.getBlock(), *model, scheduleOrder(model->problem));
        return WalkResult::advance();
      });
      if (bodies.wasInterrupted())
        return signalPassFailure();
      FailureOr<FunctionModel> model = FunctionModel::build(function, states);
      if (failed(model))
        return signalPassFailure();
      reorder(function.getBody().front(), *model,
              scheduleOrder(model->problem));
    }
  }
};
} // namespace
