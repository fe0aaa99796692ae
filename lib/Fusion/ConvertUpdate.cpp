// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// graph.sgd, graph.adamw -> kern.table_update for tables that are only looked
// up, one kern.update per group of equal constants for all else.

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

/// The scalars that `parts` computes with: constants go into the region.
static SmallVector<Value> getVariables(const UpdateParts &parts) {
  SmallVector<Value> scalars;
  for (Value scalar : parts.scalars)
    if (!getSplatElement(scalar))
      scalars.push_back(scalar);
  return scalars;
}

/// Makes the region of an update from the formula of `op`.
static void buildRegion(Operation *op, Region &region) {
  UpdateParts parts = getParts(op);
  // What lazy updates keep is not of the region.
  Operation *formula = op;
  if (auto adamw = dyn_cast<graph::AdamWOp>(op))
    if (!adamw.getTouched().empty()) {
      formula = OpBuilder(op).clone(*op);
      cast<graph::AdamWOp>(formula).getTouchedMutable().clear();
    }
  (void)withDecomposition(
      formula, [&](ArrayRef<Operation *> code, ArrayRef<Value> results) {
        RegionTranslation translation(code, parts.parameter);
        translation.addInput(parts.parameter);
        translation.addInput(parts.gradient);
        for (Value moment : parts.moments)
          translation.addInput(moment);
        for (Value scalar : getVariables(parts))
          translation.addInput(scalar);
        translation.translate(region.emplaceBlock(), results);
      });
  if (formula != op)
    formula->erase();
}

/// The lookups that alone make the gradient of `op`, and that nothing else
/// reads (clipping does); null if there are none or several.
static graph::ScatterAddOp getLookup(Operation *op) {
  auto lookup = getParts(op).gradient.getDefiningOp<graph::ScatterAddOp>();
  if (!lookup || !lookup->hasOneUse() || lookup->getBlock() != op->getBlock())
    return {};
  if (auto adamw = dyn_cast<graph::AdamWOp>(op))
    if (!adamw.getTouched().empty() &&
        (lookup.getDim() != 0 || adamw.getTouched().size() != 1 ||
         adamw.getTouched().front() != lookup.getIndices()))
      return {};
  return lookup;
}

bool fusion::isLazyWithoutLookup(Operation *op) {
  auto adamw = dyn_cast<graph::AdamWOp>(op);
  return adamw && !adamw.getTouched().empty() && !getLookup(op);
}

/// Whether `op` keeps an element with a gradient of 0 as it is, or is defined
/// to keep elements that are not looked up.
static bool keepsUntouched(Operation *op) {
  if (auto sgd = dyn_cast<graph::SgdOp>(op))
    return !sgd.getBuffer() && sgd.getWeightDecay().isZero();
  return !cast<graph::AdamWOp>(op).getTouched().empty();
}

/// Joins the update `op` of a table with the sum of its gradients.
static void buildTableUpdate(Operation *op, graph::ScatterAddOp lookup) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  UpdateParts parts = getParts(op);
  auto type = cast<RankedTensorType>(parts.parameter.getType());
  LookupShapes shapes(type,
                      cast<RankedTensorType>(lookup.getIndices().getType()),
                      lookup.getDim(), lookup.getBatch());
  auto view = [&](Value value, ArrayRef<int64_t> shape) {
    return graph::buildReshape(builder, loc, value, shape);
  };
  SmallVector<Value> moments;
  for (Value moment : parts.moments)
    moments.push_back(view(moment, shapes.table));
  SmallVector<Type> types(1 + moments.size(), type.clone(shapes.table));
  auto update = kern::TableUpdateOp::create(
      builder, loc, types, view(parts.parameter, shapes.table),
      view(lookup.getUpdates(), shapes.rows),
      view(lookup.getIndices(), shapes.indices), moments, getVariables(parts),
      keepsUntouched(op));
  buildRegion(op, update.getBody());
  for (auto [old, result] :
       llvm::zip_equal(op->getResults(), update.getResults()))
    old.replaceAllUsesWith(view(result, type.getShape()));
  op->erase();
  lookup.erase();
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

  UpdateParts parts = getParts(first);
  SmallVector<Type> types;
  for (Value value : parameters)
    types.push_back(value.getType());
  for (Value value : moments)
    types.push_back(value.getType());
  auto update = kern::UpdateOp::create(builder, loc, types, parameters,
                                       gradients, moments, getVariables(parts));
  buildRegion(first, update.getBody());

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
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isa<graph::SgdOp, graph::AdamWOp>(op))
      continue;
    if (graph::ScatterAddOp lookup = getLookup(&op)) {
      buildTableUpdate(&op, lookup);
      continue;
    }
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
