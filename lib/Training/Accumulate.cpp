// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradient accumulation: `@train_step` of a micro-batch becomes a loop over the
// micro-batches of a batch.

#include "BatchDimensions.h"
#include "Support.h"
#include "bessemer/Dialect/Graph/IR/Scan.h"
#include "bessemer/Training/Passes.h"
#include "bessemer/Training/Training.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

#define DEBUG_TYPE "graph-accumulate"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::training;

namespace {
class Accumulation {
public:
  Accumulation(ModuleOp module, func::FuncOp function, int64_t count)
      : module(module), function(function), count(count),
        builder(module.getContext()), loc(function.getLoc()),
        dimensions(function) {}

  LogicalResult run();

private:
  /// A loop under construction. Values from outside become arguments when they
  /// are first asked for; carried values come first.
  struct Loop {
    SmallVector<Value> inits, sequences, invariants;
    SmallVector<BlockArgument> carried, elements, constants;
    Region region;
    IRMapping mapping;
    Block &block() { return region.front(); }
  };

  LogicalResult findArgumentsOfBatch();
  void splitArguments();
  void dropRangesOfRows(BlockArgument argument);
  LogicalResult requireIndependentParts(BlockArgument argument);
  bool isOfBatch(Value value);
  llvm::DenseSet<Value> valuesFromBatch();
  LogicalResult findRandomNumbersOfBatch();
  void numberRandomOps(Block &block, llvm::function_ref<Value()> number);
  bool isBatch(BlockArgument argument) {
    return static_cast<bool>(
        function.getArgAttr(argument.getArgNumber(), graph::kBatchAttr));
  }
  void begin(Loop &loop) { loop.region.emplaceBlock(); }
  BlockArgument addCarried(Loop &loop, Value init);
  BlockArgument addSequence(Loop &loop, Value sequence);
  BlockArgument addInvariant(Loop &loop, Value value);
  /// A value as it is in the loop.
  Value inside(Loop &loop, Value value);
  /// Copies ops into the loop; `ops` are in order.
  void copyInto(Loop &loop, ArrayRef<Operation *> ops);
  graph::ScanOp finish(Loop &loop, ValueRange yielded);
  Value addTo(Loop &loop, Value sum, Value value);
  /// The region is in no op yet, so that its builder needs the context.
  OpBuilder atEnd(Loop &loop) {
    OpBuilder result(builder.getContext());
    result.setInsertionPointToEnd(&loop.block());
    return result;
  }
  Value zeros(Type type) {
    return graph::buildSplat(builder, loc, cast<RankedTensorType>(type), 0.0);
  }

  /// What the loss divides by, for the whole batch.
  Value totalCount(Value countOfMicroBatch);

  ModuleOp module;
  func::FuncOp function;
  const int64_t count;
  OpBuilder builder;
  Location loc;
  /// The micro-batches of an argument that is split, by argument; null before.
  llvm::MapVector<Value, Value> split;
  /// Of the function as it was given.
  BatchDimensions dimensions;
  int64_t microBatch = 0;
  /// Of random numbers that each part draws its own of.
  llvm::DenseSet<int64_t> idsOfBatch;
};
} // namespace

/// Fails where the model iterates over dimension 0 of an argument: it is time
/// then, not the batch, and its parts need each other.
LogicalResult Accumulation::requireIndependentParts(BlockArgument argument) {
  WalkResult walked = function.walk([&](graph::ScanOp scan) {
    for (Value sequence : scan.getSequences())
      if (dimensions.areSame(argument, 0, sequence, 0))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  if (!walked.wasInterrupted())
    return success();
  return function.emitError("the model iterates over dimension 0 of ")
         << "input "
         << function.getArgAttr(argument.getArgNumber(), graph::kNameAttr)
         << ": it is no batch that accumulation could split";
}

/// Whether a value has elements of its own for each row of the batch. Where it
/// never meets the batch, its first dimension is taken for it when it has the
/// size and is no parameter's.
bool Accumulation::isOfBatch(Value value) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  for (int64_t dim = 0, end = shape.size(); dim < end; ++dim)
    for (auto [argument, parts] : split)
      if (dimensions.areSame(value, dim, argument, 0))
        return true;
  if (shape.empty() || shape[0] != microBatch)
    return false;
  WalkResult walked = function.walk([&](graph::ReadOp read) {
    for (int64_t dim = 0, end = read.getType().getRank(); dim < end; ++dim)
      if (dimensions.areSame(value, 0, read, dim))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return !walked.wasInterrupted();
}

/// What is computed from arguments that are split.
llvm::DenseSet<Value> Accumulation::valuesFromBatch() {
  llvm::DenseSet<Value> values;
  for (auto [argument, parts] : split)
    values.insert(argument);
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (llvm::none_of(op->getOperands(),
                      [&](Value operand) { return values.contains(operand); }))
      return;
    values.insert_range(op->getResults());
    for (Region &region : op->getRegions())
      values.insert_range(region.getArguments());
  });
  return values;
}

/// The others are one for all parts. In parts of one row no broadcast along the
/// batch is to be seen: fails unless the numbers are for what comes from it.
LogicalResult Accumulation::findRandomNumbersOfBatch() {
  llvm::DenseSet<Value> fromBatch;
  if (microBatch == 1)
    fromBatch = valuesFromBatch();
  WalkResult walked = function.walk([&](Operation *op) {
    auto note = [&](auto random) -> WalkResult {
      if (!isOfBatch(random.getResult()))
        return WalkResult::advance();
      if (microBatch == 1 && !op->hasAttr(graph::kBatchAttr) &&
          llvm::none_of(op->getOperands(),
                        [&](Value value) { return fromBatch.contains(value); }))
        return op->emitError("expected micro-batches of at least 2 rows, got "
                             "1: random numbers of shape [")
               << random.getType().getShape()
               << "] may be of one row or the same for all";
      idsOfBatch.insert(random.getId());
      return WalkResult::advance();
    };
    if (auto dropout = dyn_cast<graph::DropoutOp>(op))
      return note(dropout);
    if (auto random = dyn_cast<graph::RandomOp>(op))
      return note(random);
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

/// Forgets what some rows of a micro-batch must be.
void Accumulation::dropRangesOfRows(BlockArgument argument) {
  unsigned index = argument.getArgNumber();
  auto ranges = function.getArgAttrOfType<ArrayAttr>(index, graph::kRangesAttr);
  if (!ranges)
    return;
  SmallVector<Attribute> kept;
  for (auto range : ranges.getAsRange<graph::InputRangeAttr>())
    if (range.getPart().empty() || range.getPart().front() != 0)
      kept.push_back(range);
  function.setArgAttr(index, graph::kRangesAttr, builder.getArrayAttr(kept));
}

/// Those that are marked, and labels; what is not belongs to all micro-batches.
LogicalResult Accumulation::findArgumentsOfBatch() {
  Block &block = function.front();
  std::optional<int64_t> batch;
  for (BlockArgument argument : block.getArguments())
    if (auto type = dyn_cast<RankedTensorType>(argument.getType());
        type && type.getRank() > 0 && !batch && isBatch(argument))
      batch = type.getDimSize(0);
  for (BlockArgument argument : block.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                      graph::kNameAttr);
    bool isLabels = name && name.getValue() == "labels";
    if (isLabels && batch && type.getDimSize(0) % *batch != 0)
      return function.emitError("expected labels for a micro-batch of ")
             << *batch << " rows, got shape [" << type.getShape()
             << "]: their dimension 0 must be the batch";
    if (!batch || !(isLabels || isBatch(argument)))
      continue;
    if (failed(requireIndependentParts(argument)))
      return failure();
    split[argument] = Value();
  }
  microBatch = batch.value_or(0);
  if (split.empty())
    return function.emitError("expected an input with a batch to accumulate "
                              "gradients over");
  return success();
}

/// Those of the batch get the shape of the whole one.
void Accumulation::splitArguments() {
  Block &block = function.front();
  builder.setInsertionPointToStart(&block);
  for (auto &[value, micro] : split) {
    auto argument = cast<BlockArgument>(value);
    auto type = cast<RankedTensorType>(argument.getType());
    SmallVector<int64_t> whole(type.getShape()), parts(type.getShape());
    whole[0] *= count;
    parts.insert(parts.begin(), count);
    argument.setType(type.clone(whole));
    dropRangesOfRows(argument);
    micro = graph::buildReshape(builder, loc, argument, parts);
  }
  function.setType(builder.getFunctionType(block.getArgumentTypes(),
                                           function.getResultTypes()));
}

BlockArgument Accumulation::addCarried(Loop &loop, Value init) {
  loop.inits.push_back(init);
  loop.carried.push_back(loop.block().addArgument(init.getType(), loc));
  return loop.carried.back();
}

BlockArgument Accumulation::addSequence(Loop &loop, Value sequence) {
  loop.sequences.push_back(sequence);
  loop.elements.push_back(loop.block().addArgument(
      graph::ScanOp::elementOf(sequence.getType()), loc));
  return loop.elements.back();
}

BlockArgument Accumulation::addInvariant(Loop &loop, Value value) {
  loop.invariants.push_back(value);
  loop.constants.push_back(loop.block().addArgument(value.getType(), loc));
  return loop.constants.back();
}

Value Accumulation::inside(Loop &loop, Value value) {
  if (!loop.mapping.contains(value)) {
    auto parts = split.find(value);
    loop.mapping.map(value, parts != split.end()
                                ? addSequence(loop, parts->second)
                                : addInvariant(loop, value));
  }
  return loop.mapping.lookup(value);
}

void Accumulation::copyInto(Loop &loop, ArrayRef<Operation *> ops) {
  OpBuilder body = atEnd(loop);
  for (Operation *op : ops) {
    for (Value operand : op->getOperands())
      inside(loop, operand);
    body.clone(*op, loop.mapping);
  }
}

graph::ScanOp Accumulation::finish(Loop &loop, ValueRange yielded) {
  OpBuilder end = atEnd(loop);
  graph::YieldOp::create(end, loc, yielded);
  auto scan = graph::ScanOp::create(
      builder, loc, ValueRange(loop.inits).getTypes(), count,
      /*reverse=*/false, loop.inits, loop.sequences, loop.invariants);
  scan->setAttr(graph::kMicroBatchesAttr, builder.getUnitAttr());
  Block &body = scan.getBody().emplaceBlock();
  for (ArrayRef<BlockArgument> list : {ArrayRef<BlockArgument>(loop.carried),
                                       ArrayRef<BlockArgument>(loop.elements),
                                       ArrayRef<BlockArgument>(loop.constants)})
    for (BlockArgument argument : list)
      argument.replaceAllUsesWith(body.addArgument(argument.getType(), loc));
  body.getOperations().splice(body.end(), loop.block().getOperations());
  eraseDeadOps(body);
  return scan;
}

Value Accumulation::addTo(Loop &loop, Value sum, Value value) {
  OpBuilder body = atEnd(loop);
  return arith::AddFOp::create(body, loc, sum, value);
}

Value Accumulation::totalCount(Value micro) {
  auto type = cast<RankedTensorType>(micro.getType());
  SplatElementsAttr splat;
  if (matchPattern(micro, m_Constant(&splat)))
    return graph::buildSplat(builder, loc, type,
                             splat.getSplatValue<APFloat>().convertToDouble() *
                                 static_cast<double>(count));
  // It depends on the labels alone: count before the loop.
  llvm::SetVector<Operation *> needed;
  SmallVector<Value> pending{micro};
  while (!pending.empty())
    if (Operation *op = pending.pop_back_val().getDefiningOp();
        op && needed.insert(op))
      llvm::append_range(pending, op->getOperands());
  SmallVector<Operation *> ops(needed.begin(), needed.end());
  llvm::sort(ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  Loop loop;
  begin(loop);
  Value sum = addCarried(loop, zeros(type));
  copyInto(loop, ops);
  Value next = addTo(loop, sum, loop.mapping.lookup(micro));
  return finish(loop, {next}).getResult(0);
}

/// Tells random ops of the batch the micro-batch that they are in, those in
/// loops inside of it as well.
void Accumulation::numberRandomOps(Block &block,
                                   llvm::function_ref<Value()> number) {
  for (Operation &op : block) {
    auto assign = [&](auto random) {
      if (idsOfBatch.contains(random.getId()))
        random.getMicroMutable().assign(number());
    };
    if (auto dropout = dyn_cast<graph::DropoutOp>(op))
      assign(dropout);
    else if (auto random = dyn_cast<graph::RandomOp>(op))
      assign(random);
    else if (auto scan = dyn_cast<graph::ScanOp>(op)) {
      Value inner;
      numberRandomOps(scan.getBody().front(), [&] {
        if (!inner) {
          Value outer = number();
          scan.getInvariantsMutable().append(outer);
          inner = scan.getBody().addArgument(outer.getType(), scan.getLoc());
        }
        return inner;
      });
    }
  }
}

LogicalResult Accumulation::run() {
  Block &block = function.front();
  auto terminator = cast<func::ReturnOp>(block.getTerminator());
  SmallVector<Operation *> ops;
  SmallVector<graph::WriteOp> writes;
  llvm::DenseMap<StringAttr, Value> reads;
  for (Operation &op : block.without_terminator()) {
    if (auto write = dyn_cast<graph::WriteOp>(op))
      writes.push_back(write);
    else if (auto read = dyn_cast<graph::ReadOp>(op))
      reads[read.getStateAttr().getAttr()] = read;
    else
      ops.push_back(&op);
  }
  if (failed(findArgumentsOfBatch()) || failed(findRandomNumbersOfBatch()))
    return failure();

  std::optional<unsigned> countResult;
  for (unsigned index = 0; index < function.getNumResults(); ++index)
    if (function.getResultAttr(index, kLossCountAttr))
      countResult = index;
  if (!countResult)
    return function.emitError("expected @train_step to return what its loss "
                              "is divided by");
  for (graph::WriteOp write : writes)
    if (!reads.contains(write.getStateAttr().getAttr()))
      return write.emitError("expected the old value of ")
             << write.getStateAttr() << " to be read before it is written";
  // Nothing fails from here on, and nothing has been changed.
  splitArguments();
  builder.setInsertionPoint(terminator);

  Loop loop;
  begin(loop);
  // Sums of the loss and the gradients, and running statistics, which each
  // micro-batch updates in turn.
  SmallVector<unsigned> summed;
  SmallVector<BlockArgument> sums;
  for (auto [index, value] : llvm::enumerate(terminator.getOperands())) {
    if (index == *countResult)
      continue;
    summed.push_back(index);
    sums.push_back(addCarried(loop, zeros(value.getType())));
  }
  for (graph::WriteOp write : writes) {
    Value old = reads.lookup(write.getStateAttr().getAttr());
    loop.mapping.map(old, addCarried(loop, old));
  }
  Value total = totalCount(terminator.getOperand(*countResult));
  loop.mapping.map(terminator.getOperand(*countResult),
                   addInvariant(loop, total));
  // Ops behind the count read the batch's.
  SmallVector<Operation *> copied;
  for (Operation *op : ops)
    if (op != terminator.getOperand(*countResult).getDefiningOp())
      copied.push_back(op);
  copyInto(loop, copied);

  // Each micro-batch draws its own part of the batch's random numbers; all draw
  // the same where those are of no row.
  BlockArgument micro;
  auto number = [&]() -> Value {
    if (!micro)
      micro = addSequence(
          loop, graph::IotaOp::create(
                    builder, loc,
                    RankedTensorType::get({count}, builder.getI64Type()),
                    builder.getI64IntegerAttr(0)));
    return micro;
  };
  numberRandomOps(loop.block(), number);

  SmallVector<Value> yielded;
  for (auto [index, sum] : llvm::zip_equal(summed, sums))
    yielded.push_back(
        addTo(loop, sum, inside(loop, terminator.getOperand(index))));
  for (graph::WriteOp write : writes)
    yielded.push_back(inside(loop, write.getValue()));
  graph::ScanOp scan = finish(loop, yielded);

  // The function returns what was summed, and writes what was carried.
  SmallVector<Value> results;
  SmallVector<Attribute> attributes;
  for (auto [position, index] : llvm::enumerate(summed)) {
    results.push_back(scan.getResult(position));
    attributes.push_back(builder.getDictionaryAttr(
        function_interface_impl::getResultAttrs(function, index)));
  }
  for (auto [position, write] : llvm::enumerate(writes)) {
    write.getValueMutable().assign(scan.getResult(summed.size() + position));
    write->moveBefore(terminator);
  }
  terminator->setOperands(results);
  function.setType(builder.getFunctionType(function.getArgumentTypes(),
                                           TypeRange(ValueRange(results))));
  function.setResAttrsAttr(builder.getArrayAttr(attributes));
  eraseDeadOps(block);
  return success();
}

/// Attention that drops at random takes no micro-batch number: its parts do.
static LogicalResult decomposeRandomAttention(func::FuncOp function) {
  SmallVector<Operation *> random;
  for (Operation &op : function.getBody().front()) {
    auto forward = dyn_cast<graph::AttentionOp>(op);
    auto backward = dyn_cast<graph::AttentionGradOp>(op);
    if ((forward && forward.getStep()) || (backward && backward.getStep()))
      random.push_back(&op);
  }
  for (Operation *op : random) {
    OpBuilder builder(op);
    FailureOr<SmallVector<Value>> parts =
        cast<graph::DecomposableOpInterface>(op).decompose(builder);
    if (failed(parts))
      return failure();
    op->replaceAllUsesWith(*parts);
    op->erase();
  }
  return success();
}

LogicalResult bessemer::accumulateGradients(ModuleOp module, int64_t count) {
  if (count == 1)
    return success();
  auto function = module.lookupSymbol<func::FuncOp>("train_step");
  if (!function || !function.getBody().hasOneBlock())
    return module.emitError("expected a function @train_step");
  if (failed(decomposeRandomAttention(function)))
    return failure();
  return Accumulation(module, function, count).run();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace bessemer {
#define GEN_PASS_DEF_GRAPHACCUMULATE
#include "bessemer/Training/Passes.h.inc"
} // namespace bessemer

namespace {
struct GraphAccumulate : bessemer::impl::GraphAccumulateBase<GraphAccumulate> {
  using Base::Base;

  void runOnOperation() override {
    if (count < 1) {
      getOperation().emitError("expected a count of at least 1, got ")
          << static_cast<int64_t>(count);
      return signalPassFailure();
    }
    if (failed(accumulateGradients(getOperation(), count)))
      signalPassFailure();
  }
};
} // namespace
