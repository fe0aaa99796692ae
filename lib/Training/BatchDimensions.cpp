// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which dimensions of a function's values are its batch.

#include "BatchDimensions.h"
#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::training;

static ArrayRef<int64_t> shapeOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getShape() : ArrayRef<int64_t>();
}

/// Whether an op makes a constant, or something of constants alone.
static bool makesConstant(Operation *op,
                          const llvm::DenseSet<Value> &constants) {
  return op->hasTrait<OpTrait::ConstantLike>() || isa<graph::IotaOp>(op) ||
         (op->getNumOperands() && op->getNumRegions() == 0 &&
          llvm::all_of(op->getOperands(), [&](Value operand) {
            return constants.contains(operand);
          }));
}

BatchDimensions::BatchDimensions(func::FuncOp function) {
  addOpsIn(function.getBody().front());
}

bool BatchDimensions::areSame(Value a, int64_t dimA, Value b,
                              int64_t dimB) const {
  return classes.isEquivalent({a.getAsOpaquePointer(), dimA},
                              {b.getAsOpaquePointer(), dimB});
}

void BatchDimensions::join(Value a, int64_t dimA, Value b, int64_t dimB) {
  if (!constants.contains(a) && !constants.contains(b))
    classes.unionSets({a.getAsOpaquePointer(), dimA},
                      {b.getAsOpaquePointer(), dimB});
}

void BatchDimensions::joinAll(Value a, Value b, int64_t offsetA,
                              int64_t offsetB) {
  for (int64_t i = 0, end = shapeOf(a).size() - offsetA; i < end; ++i)
    join(a, i + offsetA, b, i + offsetB);
}

void BatchDimensions::addOpsIn(Block &block) {
  for (Operation &op : block)
    addOp(&op);
}

/// Dimensions of a reshape's operand and result of one size that have as many
/// elements before them.
static SmallVector<std::pair<int64_t, int64_t>>
keptDimensions(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  SmallVector<std::pair<int64_t, int64_t>> kept;
  int64_t before = 1;
  for (auto [i, size] : llvm::enumerate(from)) {
    int64_t beforeTo = 1;
    for (auto [j, sizeTo] : llvm::enumerate(to)) {
      if (size == sizeTo && before == beforeTo)
        kept.emplace_back(i, j);
      beforeTo *= sizeTo;
    }
    before *= size;
  }
  return kept;
}

void BatchDimensions::addOp(Operation *op) {
  if (makesConstant(op, constants))
    return constants.insert_range(op->getResults());
  // Those of the first operand's shape.
  auto joinAlike = [&] {
    ArrayRef<int64_t> shape = shapeOf(op->getOperand(0));
    Value first = op->getResult(0);
    if (shapeOf(first) != shape)
      return;
    for (Value operand : op->getOperands())
      if (shapeOf(operand) == shape)
        joinAll(first, operand);
    for (Value result : op->getResults().drop_front())
      if (shapeOf(result) == shape)
        joinAll(first, result);
  };
  if (op->getNumOperands() &&
      (op->hasTrait<OpTrait::Elementwise>() ||
       op->hasTrait<OpTrait::SameOperandsAndResultType>()))
    return joinAlike();
  llvm::TypeSwitch<Operation *>(op)
      .Case<graph::DropoutOp, graph::LayerNormOp, graph::LayerNormGradOp,
            graph::RmsNormOp, graph::RmsNormGradOp, graph::BatchNormOp,
            graph::BatchNormTrainOp, graph::BatchNormGradOp>(
          [&](auto) { joinAlike(); })
      .Case<graph::ConvOp, graph::ConvInputGradOp, graph::PoolOp,
            graph::MaxPoolGradOp, graph::AveragePoolGradOp, graph::AttentionOp>(
          [&](auto) { join(op->getOperand(0), 0, op->getResult(0), 0); })
      .Case<graph::ConvWeightGradOp>(
          [&](auto grad) { join(grad.getX(), 0, grad.getDy(), 0); })
      .Case<graph::CrossEntropyOp>([&](auto entropy) {
        join(entropy.getLogits(), 0, entropy.getLabels(), 0);
        join(entropy.getLogits(), 0, entropy.getLoss(), 0);
      })
      .Case<graph::TransposeOp>([&](auto transpose) {
        for (auto [to, from] : llvm::enumerate(transpose.getPermutation()))
          join(transpose.getInput(), from, transpose.getResult(), to);
      })
      .Case<graph::BroadcastOp>([&](auto broadcast) {
        for (auto [from, to] : llvm::enumerate(broadcast.getDims()))
          join(broadcast.getInput(), from, broadcast.getResult(), to);
      })
      .Case<graph::ReduceOp>([&](auto reduce) {
        int64_t to = 0;
        for (int64_t i = 0, end = shapeOf(reduce.getInput()).size(); i < end;
             ++i)
          if (!llvm::is_contained(reduce.getDims(), i))
            join(reduce.getInput(), i, reduce.getResult(), to++);
      })
      .Case<graph::ContractOp>([&](auto contract) {
        Value lhs = contract.getLhs(), rhs = contract.getRhs();
        int64_t to = 0;
        for (auto [i, j] :
             llvm::zip_equal(contract.getLhsBatch(), contract.getRhsBatch())) {
          join(lhs, i, rhs, j);
          join(lhs, i, contract.getResult(), to++);
        }
        for (auto [i, j] : llvm::zip_equal(contract.getLhsContract(),
                                           contract.getRhsContract()))
          join(lhs, i, rhs, j);
        auto joinFree = [&](Value operand, ArrayRef<int64_t> batch,
                            ArrayRef<int64_t> contracted) {
          for (int64_t i = 0, end = shapeOf(operand).size(); i < end; ++i)
            if (!llvm::is_contained(batch, i) &&
                !llvm::is_contained(contracted, i))
              join(operand, i, contract.getResult(), to++);
        };
        joinFree(lhs, contract.getLhsBatch(), contract.getLhsContract());
        joinFree(rhs, contract.getRhsBatch(), contract.getRhsContract());
      })
      .Case<graph::GatherOp>([&](auto gather) {
        int64_t batch = gather.getBatch(), dim = gather.getDim();
        Value table = gather.getTable(), indices = gather.getIndices();
        for (int64_t i = 0; i < batch; ++i) {
          join(table, i, indices, i);
          join(table, i, gather.getResult(), i);
        }
        if (batch)
          return;
        int64_t rank = shapeOf(indices).size();
        for (int64_t i = 0, end = shapeOf(table).size(); i < end; ++i)
          if (i != dim)
            join(table, i, gather.getResult(), i < dim ? i : i + rank - 1);
        for (int64_t i = 0; i < rank; ++i)
          join(indices, i, gather.getResult(), i + dim);
      })
      .Case<graph::SliceOp, graph::PadOp>([&](auto box) {
        for (auto [i, from, to] :
             llvm::enumerate(shapeOf(box.getInput()), shapeOf(box.getResult())))
          if (from == to)
            join(box.getInput(), i, box.getResult(), i);
      })
      .Case<graph::ConcatOp>([&](auto concat) {
        int64_t dim = concat.getDim();
        for (Value input : concat.getInputs())
          for (int64_t i = 0, end = shapeOf(input).size(); i < end; ++i)
            if (i != dim)
              join(input, i, concat.getResult(), i);
      })
      .Case<tensor::ExpandShapeOp, tensor::CollapseShapeOp>([&](auto reshape) {
        for (auto [from, to] : keptDimensions(shapeOf(reshape->getOperand(0)),
                                              shapeOf(reshape->getResult(0))))
          join(reshape->getOperand(0), from, reshape->getResult(0), to);
      })
      .Case<graph::ScanOp>([&](graph::ScanOp scan) {
        for (auto [init, argument, yielded, final] :
             llvm::zip_equal(scan.getInits(), scan.getCarriedArguments(),
                             scan.getYieldedCarried(), scan.getFinals()))
          for (Value other : {Value(init), yielded, Value(final)})
            joinAll(argument, other);
        for (auto [sequence, argument] :
             llvm::zip_equal(scan.getSequences(), scan.getSequenceArguments()))
          joinAll(sequence, argument, 1, 0);
        for (auto [yielded, output] :
             llvm::zip_equal(scan.getYieldedOutputs(), scan.getOutputs()))
          joinAll(yielded, output, 0, 1);
        for (auto [value, argument] : llvm::zip_equal(
                 scan.getInvariants(), scan.getInvariantArguments()))
          joinAll(value, argument);
        addOpsIn(scan.getBlock());
      });
}
