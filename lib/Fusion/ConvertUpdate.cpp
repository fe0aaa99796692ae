// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// graph.sgd, graph.adamw -> one kern.update per group of equal constants.

#include "Convert.h"
#include "Dependence.h"
#include "RegionTranslation.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::fusion;

namespace {
/// The operands of one optimizer op by their role in kern.update.
struct UpdateParts {
  Value parameter, gradient;
  SmallVector<Value> moments, scalars;
};

/// Optimizer ops that one kernel computes.
struct UpdateGroup {
  SmallVector<Operation *> ops;
};
} // namespace

static UpdateParts getParts(Operation *op) {
  if (auto sgd = dyn_cast<graph::SgdOp>(op)) {
    UpdateParts parts{sgd.getParameter(), sgd.getGradient(), {}, {}};
    parts.scalars = {sgd.getLearningRate(), sgd.getGradientScale()};
    if (sgd.getBuffer()) {
      parts.moments = {sgd.getBuffer()};
      parts.scalars.push_back(sgd.getFirst());
    }
    return parts;
  }
  auto adamw = cast<graph::AdamWOp>(op);
  return {adamw.getParameter(),
          adamw.getGradient(),
          {adamw.getExpAvg(), adamw.getExpAvgSq()},
          {adamw.getLearningRate(), adamw.getGradientScale(),
           adamw.getCorrection1(), adamw.getCorrection2()}};
}

static Type elementTypeOf(Operation *op) {
  return cast<RankedTensorType>(getParts(op).parameter.getType())
      .getElementType();
}

/// Whether `op` can join the group of `leader`.
static bool sameGroup(Operation *leader, Operation *op) {
  UpdateParts a = getParts(leader), b = getParts(op);
  return leader->getName() == op->getName() && a.scalars == b.scalars &&
         a.moments.size() == b.moments.size() &&
         elementTypeOf(leader) == elementTypeOf(op);
}

/// Attributes that are constants of the optimizer: all but the operand counts.
static bool sameConstants(Operation *leader, Operation *op) {
  auto constants = [](Operation *op) {
    NamedAttrList list(op->getAttrDictionary());
    list.erase("operandSegmentSizes");
    list.erase("resultSegmentSizes");
    return list.getDictionary(op->getContext());
  };
  return constants(leader) == constants(op);
}

static void buildUpdate(ArrayRef<Operation *> ops) {
  Operation *first = ops.front(), *last = ops.back();
  OpBuilder builder(last);
  SmallVector<Location> locations;
  SmallVector<Value> parameters, gradients, moments;
  for (Operation *op : ops) {
    UpdateParts parts = getParts(op);
    locations.push_back(op->getLoc());
    parameters.push_back(parts.parameter);
    gradients.push_back(parts.gradient);
    llvm::append_range(moments, parts.moments);
  }
  Location loc = builder.getFusedLoc(locations);

  // Scalars that are constants go into the region.
  UpdateParts parts = getParts(first);
  SmallVector<Value> scalars;
  for (Value scalar : parts.scalars)
    if (!getSplatElement(scalar))
      scalars.push_back(scalar);

  auto region = std::make_unique<Region>();
  (void)withDecomposition(
      first, [&](ArrayRef<Operation *> code, ArrayRef<Value> results) {
        RegionTranslation translation(code, parts.parameter);
        translation.addInput(parts.parameter);
        translation.addInput(parts.gradient);
        for (Value moment : parts.moments)
          translation.addInput(moment);
        for (Value scalar : scalars)
          translation.addInput(scalar);
        translation.translate(region->emplaceBlock(), results);
      });

  SmallVector<Type> types;
  for (Value value : parameters)
    types.push_back(value.getType());
  for (Value value : moments)
    types.push_back(value.getType());
  auto update = kern::UpdateOp::create(builder, loc, types, parameters,
                                       gradients, moments, scalars);
  update.getBody().takeBody(*region);

  // Whatever used an earlier parameter's update must come after all of them.
  for (Operation *op : llvm::reverse(ops))
    if (op != last)
      moveDependentsBehind(op, last);
  unsigned perParameter = parts.moments.size();
  for (auto [index, op] : llvm::enumerate(ops)) {
    op->getResult(0).replaceAllUsesWith(update.getResult(index));
    for (unsigned j = 0; j < perParameter; ++j)
      op->getResult(1 + j).replaceAllUsesWith(
          update.getResult(ops.size() + index * perParameter + j));
  }
  for (Operation *op : llvm::reverse(ops))
    op->erase();
}

void fusion::convertUpdates(Block &block) {
  SmallVector<UpdateGroup> groups;
  for (Operation &op : block) {
    if (!isa<graph::SgdOp, graph::AdamWOp>(op))
      continue;
    UpdateGroup *joined = nullptr;
    for (UpdateGroup &group : groups) {
      // A parameter whose gradient depends on another one's new value cannot
      // be updated together with it.
      bool independent = llvm::none_of(
          group.ops, [&](Operation *member) { return depends(member, &op); });
      if (independent && sameGroup(group.ops.front(), &op) &&
          sameConstants(group.ops.front(), &op)) {
        joined = &group;
        break;
      }
    }
    if (!joined)
      joined = &groups.emplace_back();
    joined->ops.push_back(&op);
  }
  for (UpdateGroup &group : groups)
    buildUpdate(group.ops);
}
