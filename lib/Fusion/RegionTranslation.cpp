// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Straight-line graph code -> the scalar region of one kernel.

#include "RegionTranslation.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::fusion;

TypedAttr fusion::getSplatElement(Value value) {
  SplatElementsAttr splat;
  if (!isa<RankedTensorType>(value.getType()) ||
      !matchPattern(value, m_Constant(&splat)))
    return {};
  return dyn_cast<TypedAttr>(splat.getSplatValue<Attribute>());
}

bool fusion::isRowGeometry(ArrayRef<int64_t> bounds,
                           ArrayRef<int64_t> reduced) {
  for (int64_t dim = bounds.size() - 1; dim >= 0; --dim)
    if (bounds[dim] > 1)
      return llvm::is_contained(reduced, dim);
  return true;
}

RegionTranslation::RegionTranslation(ArrayRef<Operation *> ops, Value anchor)
    : ops(ops) {
  auto type = cast<RankedTensorType>(anchor.getType());
  bounds.assign(type.getShape().begin(), type.getShape().end());
  learn(anchor, llvm::to_vector(llvm::seq<int64_t>(0, type.getRank())));
  // Every op relates the dimensions of its operands and results; repeat until
  // nothing new is known.
  bool changed = true;
  while (changed) {
    changed = false;
    for (Operation *op : ops)
      changed |= inferDims(op);
  }
  for (Operation *op : ops)
    if (auto reduce = dyn_cast<graph::ReduceOp>(op))
      if (reduced.empty())
        for (int64_t dim : reduce.getDims())
          reduced.push_back(dims.at(reduce.getInput())[dim]);
  llvm::sort(reduced);
}

bool RegionTranslation::learn(Value value, ArrayRef<int64_t> valueDims) {
  if (!isa<RankedTensorType>(value.getType()))
    return false;
  return dims.try_emplace(value, valueDims).second;
}

bool RegionTranslation::inferDims(Operation *op) {
  auto known = [&](Value value) -> const Dims * {
    auto entry = dims.find(value);
    if (entry != dims.end())
      return &entry->second;
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    if (tensor && tensor.getRank() == 0)
      return &dims.try_emplace(value).first->second;
    return nullptr;
  };
  if (auto broadcast = dyn_cast<graph::BroadcastOp>(op)) {
    const Dims *result = known(broadcast.getResult());
    if (!result)
      return false;
    Dims input;
    for (int64_t dim : broadcast.getDims())
      input.push_back((*result)[dim]);
    return learn(broadcast.getInput(), input);
  }
  if (auto transpose = dyn_cast<graph::TransposeOp>(op)) {
    const Dims *result = known(transpose.getResult());
    if (!result)
      return false;
    Dims input(result->size());
    for (auto [index, dim] : llvm::enumerate(transpose.getPermutation()))
      input[dim] = (*result)[index];
    return learn(transpose.getInput(), input);
  }
  if (auto reduce = dyn_cast<graph::ReduceOp>(op)) {
    const Dims *input = known(reduce.getInput());
    if (!input)
      return false;
    Dims result;
    for (auto [index, dim] : llvm::enumerate(*input))
      if (!llvm::is_contained(reduce.getDims(), index))
        result.push_back(dim);
    return learn(reduce.getResult(), result);
  }
  if (auto random = dyn_cast<graph::RandomOp>(op); random && random.getMicro())
    return learn(random.getMicro(), {});
  if (!op->hasTrait<OpTrait::Elementwise>())
    return false;
  const Dims *shared = nullptr;
  for (Value operand : op->getOperands())
    if (!shared)
      shared = known(operand);
  for (Value result : op->getResults())
    if (!shared)
      shared = known(result);
  if (!shared)
    return false;
  Dims copy(*shared);
  bool changed = false;
  for (Value operand : op->getOperands())
    changed |= learn(operand, copy);
  for (Value result : op->getResults())
    changed |= learn(result, copy);
  return changed;
}

AffineMap RegionTranslation::getMap(Value value) const {
  MLIRContext *context = value.getContext();
  SmallVector<AffineExpr> exprs;
  if (isa<RankedTensorType>(value.getType()))
    for (int64_t dim : dims.at(value))
      exprs.push_back(getAffineDimExpr(dim, context));
  return AffineMap::get(bounds.size(), 0, exprs, context);
}

void RegionTranslation::addInput(Value input) { inputs.push_back(input); }

Value RegionTranslation::scalarOf(Value value, OpBuilder &builder,
                                  Block &body) {
  if (Value scalar = scalars.lookup(value))
    return scalar;
  if (TypedAttr element = getSplatElement(value))
    return scalars[value] =
               arith::ConstantOp::create(builder, value.getLoc(), element);
  inputs.push_back(value);
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return scalars[value] = body.addArgument(tensor ? tensor.getElementType()
                                                  : value.getType(),
                                           value.getLoc());
}

Value RegionTranslation::randomElement(graph::RandomOp op, OpBuilder &builder,
                                       Block &body) {
  auto type = cast<RankedTensorType>(op.getType());
  Location loc = op.getLoc();
  Value index;
  for (auto [position, dim] : llvm::enumerate(dims.at(op.getResult()))) {
    Value inner = kern::IndexOp::create(builder, loc, builder.getI64Type(),
                                        builder.getI64IntegerAttr(dim));
    if (!index) {
      index = inner;
      continue;
    }
    Value size = arith::ConstantOp::create(
        builder, loc, builder.getI64IntegerAttr(type.getDimSize(position)));
    index = arith::MulIOp::create(builder, loc, index, size);
    index = arith::AddIOp::create(builder, loc, index, inner);
  }
  if (!index)
    index =
        arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(0));
  if (!op.getMicro())
    return index;
  Value count = arith::ConstantOp::create(
      builder, loc, builder.getI64IntegerAttr(type.getNumElements()));
  Value first = arith::MulIOp::create(
      builder, loc, scalarOf(op.getMicro(), builder, body), count);
  return arith::AddIOp::create(builder, loc, first, index);
}

void RegionTranslation::translate(Block &body, ArrayRef<Value> results) {
  OpBuilder builder(results.front().getContext());
  builder.setInsertionPointToEnd(&body);
  for (Value input : inputs) {
    auto tensor = dyn_cast<RankedTensorType>(input.getType());
    scalars[input] = body.addArgument(
        tensor ? tensor.getElementType() : input.getType(), input.getLoc());
  }
  for (Operation *op : ops) {
    Location loc = op->getLoc();
    if (getSplatElement(op->getResult(0)))
      continue; // made where it is used
    Value result;
    if (isa<graph::BroadcastOp, graph::TransposeOp>(op)) {
      result = scalarOf(op->getOperand(0), builder, body);
    } else if (auto reduce = dyn_cast<graph::ReduceOp>(op)) {
      Value value = scalarOf(reduce.getInput(), builder, body);
      result = kern::FoldOp::create(
          builder, loc, value.getType(),
          static_cast<kern::FoldKind>(reduce.getKind()), value);
    } else if (auto iota = dyn_cast<graph::IotaOp>(op)) {
      int64_t dim = dims.at(iota.getResult())[iota.getDim()];
      result = kern::IndexOp::create(builder, loc, builder.getI64Type(),
                                     builder.getI64IntegerAttr(dim));
      Type element = cast<RankedTensorType>(iota.getType()).getElementType();
      if (element != builder.getI64Type())
        result = arith::TruncIOp::create(builder, loc, element, result);
    } else if (auto random = dyn_cast<graph::RandomOp>(op)) {
      Value step = scalarOf(random.getStep(), builder, body);
      result = kern::RandomOp::create(
          builder, loc,
          cast<RankedTensorType>(random.getType()).getElementType(), step,
          randomElement(random, builder, body), random.getIdAttr());
    } else {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(scalarOf(operand, builder, body));
      Type element =
          cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
      result = builder
                   .create(loc, op->getName().getIdentifier(), operands,
                           TypeRange{element}, op->getAttrs())
                   ->getResult(0);
    }
    scalars[op->getResult(0)] = result;
  }
  SmallVector<Value> yielded;
  for (Value result : results)
    yielded.push_back(scalarOf(result, builder, body));
  Location loc = results.front().getLoc();
  kern::YieldOp::create(builder, loc, yielded);
}

Operation *fusion::buildKernel(OpBuilder &builder, Location loc,
                               ArrayRef<Operation *> ops, Value anchor,
                               ArrayRef<Value> results) {
  RegionTranslation translation(ops, anchor);
  auto body = std::make_unique<Region>();
  translation.translate(body->emplaceBlock(), results);
  SmallVector<AffineMap> maps;
  SmallVector<Type> types;
  for (Value input : translation.getInputs())
    maps.push_back(translation.getMap(input));
  for (Value result : results) {
    maps.push_back(translation.getMap(result));
    types.push_back(result.getType());
  }
  ArrayAttr mapsAttr = builder.getAffineMapArrayAttr(maps);
  ArrayRef<int64_t> bounds = translation.getBounds();
  ArrayRef<int64_t> reduced = translation.getReduced();
  auto finish = [&](auto op) -> Operation * {
    op.getBody().takeBody(*body);
    return op;
  };
  if (reduced.empty())
    return finish(kern::MapOp::create(builder, loc, types,
                                      translation.getInputs(), bounds, mapsAttr,
                                      kern::ScheduleAttr()));
  if (isRowGeometry(bounds, reduced))
    return finish(kern::RowsOp::create(builder, loc, types,
                                       translation.getInputs(), bounds, reduced,
                                       mapsAttr, kern::ScheduleAttr()));
  return finish(
      kern::ColumnsOp::create(builder, loc, types, translation.getInputs(),
                              bounds, reduced, mapsAttr, kern::ScheduleAttr()));
}
