// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that move elements: slices, padding and concatenations become maps that
// read shifted, lookups kern.gather and kern.scatter.

#include "Convert.h"
#include "RegionTranslation.h"
#include "bessemer/Dialect/Graph/IR/TensorType.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::fusion;

/// Replaces `op`, whose result's dimensions are the iteration dimensions, by a
/// kern.map that reads each of `inputs` shifted by its `shifts`. `yield` builds
/// the value of a point from the inputs' elements.
static void
replaceByShiftedMap(Operation *op, ValueRange inputs,
                    ArrayRef<SmallVector<int64_t>> shifts,
                    llvm::function_ref<Value(OpBuilder &, ValueRange)> yield) {
  OpBuilder builder(op);
  RankedTensorType type = tensorOf(op->getResult(0));
  unsigned rank = type.getRank();
  SmallVector<AffineMap> maps;
  for (ArrayRef<int64_t> shift : shifts) {
    SmallVector<kern::MapEntry> entries;
    for (auto [dim, offset] : llvm::enumerate(shift))
      entries.push_back({static_cast<int64_t>(dim), offset});
    maps.push_back(kern::getShiftedMap(entries, rank, op->getContext()));
  }
  maps.push_back(builder.getMultiDimIdentityMap(rank));
  auto map = kern::MapOp::create(
      builder, op->getLoc(), TypeRange{type}, inputs, type.getShape(),
      builder.getAffineMapArrayAttr(maps), kern::ScheduleAttr());
  Block &body = map.getBody().emplaceBlock();
  for (Value input : inputs)
    body.addArgument(tensorOf(input).getElementType(), input.getLoc());
  OpBuilder inside = OpBuilder::atBlockEnd(&body);
  Value value = yield(inside, body.getArguments());
  kern::YieldOp::create(inside, op->getLoc(), value);
  op->replaceAllUsesWith(map->getResults());
  op->erase();
}

/// Inputs of one splat constant are scalars; of the others the one whose piece
/// the index lies in is chosen.
static void convertConcat(graph::ConcatOp op) {
  int64_t dim = op.getDim(), begin = 0;
  SmallVector<Value> inputs;
  SmallVector<SmallVector<int64_t>> shifts;
  for (Value input : op.getInputs()) {
    if (!getSplatElement(input)) {
      inputs.push_back(input);
      shifts.emplace_back(tensorOf(op).getRank(), 0)[dim] = -begin;
    }
    begin += tensorOf(input).getDimSize(dim);
  }
  replaceByShiftedMap(
      op, inputs, shifts, [&](OpBuilder &builder, ValueRange elements) {
        Location loc = op.getLoc();
        Value chosen, index;
        int64_t end = tensorOf(op).getDimSize(dim);
        // From the last piece on, so that each comparison is with an end.
        for (Value input : llvm::reverse(op.getInputs())) {
          Value element;
          if (TypedAttr splat = getSplatElement(input)) {
            element = arith::ConstantOp::create(builder, loc, splat);
          } else {
            element = elements.back();
            elements = elements.drop_back();
          }
          if (!chosen) {
            chosen = element;
          } else {
            if (!index)
              index = kern::IndexOp::create(builder, loc, builder.getI64Type(),
                                            builder.getI64IntegerAttr(dim));
            Value bound = arith::ConstantOp::create(
                builder, loc, builder.getI64IntegerAttr(end));
            Value isBelow = arith::CmpIOp::create(
                builder, loc, arith::CmpIPredicate::slt, index, bound);
            chosen =
                arith::SelectOp::create(builder, loc, isBelow, element, chosen);
          }
          end -= tensorOf(input).getDimSize(dim);
        }
        return chosen;
      });
}

/// The product of sizes.
static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

LookupShapes::LookupShapes(RankedTensorType tableType,
                           RankedTensorType indexType, int64_t dim,
                           int64_t batch) {
  ArrayRef<int64_t> shape = tableType.getShape();
  int64_t shared = product(shape.take_front(batch));
  int64_t outer = product(shape.slice(batch, dim - batch));
  int64_t inner = product(shape.drop_front(dim + 1));
  int64_t count = product(indexType.getShape().drop_front(batch));
  table = {shared, outer, shape[dim], inner};
  indices = {shared, count};
  rows = {shared, outer, count, inner};
}

static void convertGather(graph::GatherOp op) {
  OpBuilder builder(op);
  LookupShapes shapes(tensorOf(op.getTable()), tensorOf(op.getIndices()),
                      op.getDim(), op.getBatch());
  Location loc = op.getLoc();
  Value rows = kern::GatherOp::create(
      builder, loc, tensorOf(op).clone(shapes.rows),
      graph::buildReshape(builder, loc, op.getTable(), shapes.table),
      graph::buildReshape(builder, loc, op.getIndices(), shapes.indices));
  op.replaceAllUsesWith(
      graph::buildReshape(builder, loc, rows, tensorOf(op).getShape()));
  op.erase();
}

static void convertScatter(graph::ScatterAddOp op) {
  OpBuilder builder(op);
  LookupShapes shapes(tensorOf(op), tensorOf(op.getIndices()), op.getDim(),
                      op.getBatch());
  Location loc = op.getLoc();
  Value table = kern::ScatterOp::create(
      builder, loc, tensorOf(op).clone(shapes.table),
      graph::buildReshape(builder, loc, op.getUpdates(), shapes.rows),
      graph::buildReshape(builder, loc, op.getIndices(), shapes.indices));
  op.replaceAllUsesWith(
      graph::buildReshape(builder, loc, table, tensorOf(op).getShape()));
  op.erase();
}

void fusion::convertDataMovement(Operation *op) {
  auto identity = [](OpBuilder &, ValueRange elements) { return elements[0]; };
  if (auto slice = dyn_cast<graph::SliceOp>(op)) {
    replaceByShiftedMap(op, slice.getInput(),
                        SmallVector<int64_t>(slice.getOffsets()), identity);
  } else if (auto pad = dyn_cast<graph::PadOp>(op)) {
    SmallVector<int64_t> shift;
    for (int64_t low : pad.getLow())
      shift.push_back(-low);
    replaceByShiftedMap(op, pad.getInput(), shift, identity);
  } else if (auto concat = dyn_cast<graph::ConcatOp>(op)) {
    convertConcat(concat);
  } else if (auto gather = dyn_cast<graph::GatherOp>(op)) {
    convertGather(gather);
  } else {
    convertScatter(cast<graph::ScatterAddOp>(op));
  }
}
