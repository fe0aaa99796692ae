// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same kernel over other dimensions, so that kernels on both sides of a
// reshape can merge.

#include "ReshapeKernel.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::fusion;

void ReshapedKernel::discard() {
  for (Operation *op : llvm::reverse(made))
    op->erase();
  made.clear();
}

namespace {
/// Builds the copy: `newDims[d]` are the dimensions that dimension d becomes,
/// of sizes `bounds`. Of dimensions that merge, the first has the new dimension
/// and the others none.
class Reshaper {
public:
  Reshaper(const Kernel &kernel, ArrayRef<Dims> newDims,
           ArrayRef<int64_t> bounds)
      : kernel(kernel), newDims(newDims), bounds(bounds),
        builder(kernel.getOperation()), loc(kernel.getOperation()->getLoc()) {}

  ReshapedKernel build() {
    Operation *op = kernel.getOperation();
    SmallVector<Value> inputs;
    SmallVector<AffineMap> maps;
    for (unsigned i = 0; i < kernel.getNumInputs(); ++i) {
      AffineMap map = convert(kernel.getInputMap(i));
      maps.push_back(map);
      inputs.push_back(reshape(kernel.getInput(i), map));
    }
    SmallVector<Type> types;
    for (OpResult result : op->getResults()) {
      AffineMap map = convert(kernel.getResultMap(result.getResultNumber()));
      maps.push_back(map);
      types.push_back(shapedBy(result.getType(), map));
    }
    Dims reduced;
    for (int64_t dim : kernel.getReduced())
      llvm::append_range(reduced, newDims[dim]);
    ArrayAttr mapsAttr = builder.getAffineMapArrayAttr(maps);
    auto finish = [&](auto copy) {
      copyBody(copy.getBody().emplaceBlock());
      made.op = copy;
      made.made.push_back(copy);
    };
    if (isa<kern::RowsOp>(op))
      finish(kern::RowsOp::create(builder, loc, types, inputs, bounds, reduced,
                                  mapsAttr, kern::ScheduleAttr()));
    else if (isa<kern::ColumnsOp>(op))
      finish(kern::ColumnsOp::create(builder, loc, types, inputs, bounds,
                                     reduced, mapsAttr, kern::ScheduleAttr()));
    else
      finish(kern::MapOp::create(builder, loc, types, inputs, bounds, mapsAttr,
                                 kern::ScheduleAttr()));
    for (auto [before, after] :
         llvm::zip_equal(op->getResults(), made.op->getResults()))
      made.results.push_back(reshapeTo(
          after, cast<RankedTensorType>(before.getType()).getShape()));
    return std::move(made);
  }

private:
  AffineMap convert(AffineMap map) {
    SmallVector<AffineExpr> exprs;
    for (unsigned i = 0; i < map.getNumResults(); ++i)
      for (int64_t dim : newDims[map.getDimPosition(i)])
        exprs.push_back(builder.getAffineDimExpr(dim));
    return AffineMap::get(bounds.size(), 0, exprs, builder.getContext());
  }

  Type shapedBy(Type type, AffineMap map) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return type;
    SmallVector<int64_t> shape;
    for (unsigned i = 0; i < map.getNumResults(); ++i)
      shape.push_back(bounds[map.getDimPosition(i)]);
    return tensor.clone(shape);
  }

  Value reshape(Value value, AffineMap map) {
    auto type = dyn_cast<RankedTensorType>(shapedBy(value.getType(), map));
    return type ? reshapeTo(value, type.getShape()) : value;
  }

  Value reshapeTo(Value value, ArrayRef<int64_t> shape) {
    // What was reshaped from that shape is taken from there.
    if (Operation *op = value.getDefiningOp())
      if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op) &&
          cast<RankedTensorType>(op->getOperand(0).getType()).getShape() ==
              shape)
        return op->getOperand(0);
    Value reshaped = graph::buildReshape(builder, loc, value, shape);
    SmallVector<Operation *> chain;
    for (Value step = reshaped; step != value;
         step = step.getDefiningOp()->getOperand(0))
      chain.push_back(step.getDefiningOp());
    llvm::append_range(made.made, llvm::reverse(chain));
    return reshaped;
  }

  void copyBody(Block &body) {
    IRMapping values;
    for (BlockArgument argument : kernel.getBody().getArguments())
      values.map(argument, body.addArgument(argument.getType(),
                                            argument.getLoc()));
    OpBuilder inside(builder.getContext());
    inside.setInsertionPointToEnd(&body);
    for (Operation &op : kernel.getBody()) {
      if (auto index = dyn_cast<kern::IndexOp>(op))
        values.map(index.getResult(),
                   linearIndex(inside, newDims[index.getDim()]));
      else
        inside.clone(op, values);
    }
  }

  /// The row-major index over `dims`.
  Value linearIndex(OpBuilder &inside, ArrayRef<int64_t> dims) {
    Value index;
    for (int64_t dim : dims) {
      Value inner =
          kern::IndexOp::create(inside, loc, inside.getI64Type(),
                                inside.getI64IntegerAttr(dim));
      if (!index) {
        index = inner;
        continue;
      }
      Value size = arith::ConstantOp::create(
          inside, loc, inside.getI64IntegerAttr(bounds[dim]));
      index = arith::MulIOp::create(inside, loc, index, size);
      index = arith::AddIOp::create(inside, loc, index, inner);
    }
    return index;
  }

  const Kernel &kernel;
  ArrayRef<Dims> newDims;
  ArrayRef<int64_t> bounds;
  OpBuilder builder;
  Location loc;
  ReshapedKernel made;
};
} // namespace

ReshapedKernel fusion::splitDims(const Kernel &kernel, ArrayRef<Dims> sizes) {
  SmallVector<Dims> newDims;
  Dims bounds;
  for (const Dims &parts : sizes) {
    Dims &dims = newDims.emplace_back();
    for (int64_t size : parts) {
      dims.push_back(bounds.size());
      bounds.push_back(size);
    }
  }
  return Reshaper(kernel, newDims, bounds).build();
}

/// Whether `map` holds `group` in order and together, or nothing of it.
static bool keepsTogether(AffineMap map, ArrayRef<int64_t> group) {
  for (unsigned i = 0; i < map.getNumResults(); ++i) {
    int64_t dim = map.getDimPosition(i);
    if (!llvm::is_contained(group, dim))
      continue;
    if (dim != group.front() || i + group.size() > map.getNumResults())
      return false;
    for (unsigned j = 0; j < group.size(); ++j)
      if (map.getDimPosition(i + j) != group[j])
        return false;
    i += group.size() - 1;
  }
  return true;
}

std::optional<ReshapedKernel> fusion::mergeDims(const Kernel &kernel,
                                                ArrayRef<Dims> groups) {
  SmallVector<Dims> newDims(kernel.getBounds().size());
  Dims bounds;
  for (const Dims &group : groups) {
    int64_t size = 1;
    for (int64_t dim : group)
      size *= kernel.getBounds()[dim];
    newDims[group.front()] = {static_cast<int64_t>(bounds.size())};
    bounds.push_back(size);
    if (group.size() == 1)
      continue;
    unsigned maps =
        kernel.getNumInputs() + kernel.getOperation()->getNumResults();
    for (unsigned i = 0; i < maps; ++i)
      if (!keepsTogether(kernel.getInputMap(i), group))
        return std::nullopt;
    unsigned reduced = llvm::count_if(group, [&](int64_t dim) {
      return llvm::is_contained(kernel.getReduced(), dim);
    });
    if (reduced && reduced != group.size())
      return std::nullopt;
    for (Operation &op : kernel.getBody())
      if (auto index = dyn_cast<kern::IndexOp>(op))
        if (llvm::is_contained(group, index.getDim()))
          return std::nullopt;
  }
  return Reshaper(kernel, newDims, bounds).build();
}

/// Sizes that split the dimensions of `kernel` when a tensor that lies along
/// `map` has dimension i split to the dimensions `groups[i]` of `shape`.
static SmallVector<Dims> splitSizes(const Kernel &kernel, AffineMap map,
                                    ArrayRef<ReassociationIndices> groups,
                                    ArrayRef<int64_t> shape) {
  SmallVector<Dims> sizes;
  for (int64_t bound : kernel.getBounds())
    sizes.push_back({bound});
  for (auto [i, group] : llvm::enumerate(groups)) {
    Dims &parts = sizes[map.getDimPosition(i)];
    parts.clear();
    for (int64_t dim : group)
      parts.push_back(shape[dim]);
  }
  return sizes;
}

/// Groups of dimensions of `kernel` that merge when a tensor that lies along
/// `map` has the dimensions `groups[i]` merged. None when they are no runs of
/// neighbours.
static std::optional<SmallVector<Dims>>
mergeGroups(const Kernel &kernel, AffineMap map,
            ArrayRef<ReassociationIndices> groups) {
  SmallVector<Dims> merged;
  llvm::SmallDenseMap<int64_t, Dims> byFirst;
  llvm::SmallDenseSet<int64_t> inside;
  for (const ReassociationIndices &group : groups) {
    Dims dims;
    for (int64_t dim : group) {
      dims.push_back(map.getDimPosition(dim));
      if (dims.size() > 1) {
        if (dims.back() != dims[dims.size() - 2] + 1)
          return std::nullopt;
        inside.insert(dims.back());
      }
    }
    byFirst[dims.front()] = dims;
  }
  for (int64_t dim = 0;
       dim < static_cast<int64_t>(kernel.getBounds().size()); ++dim) {
    if (inside.contains(dim))
      continue;
    auto group = byFirst.find(dim);
    merged.push_back(group == byFirst.end() ? Dims{dim} : group->second);
  }
  return merged;
}

std::optional<MeetingKernel> fusion::meetThrough(Operation *reshape,
                                                 const Kernel &producer,
                                                 const Kernel &consumer) {
  auto result = cast<OpResult>(reshape->getOperand(0));
  AffineMap resultMap = producer.getResultMap(result.getResultNumber());
  AffineMap inputMap;
  for (unsigned i = 0; i < consumer.getNumInputs(); ++i)
    if (consumer.getInput(i) == reshape->getResult(0))
      inputMap = consumer.getInputMap(i);
  if (!inputMap)
    return std::nullopt;
  auto shapeOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  };
  // Either may be a scalar on one side, which has no dimensions to map.
  if (shapeOf(reshape->getOperand(0)).empty() ||
      shapeOf(reshape->getResult(0)).empty())
    return std::nullopt;

  auto merged = [&](const Kernel &kernel, AffineMap map,
                    ArrayRef<ReassociationIndices> groups,
                    bool isConsumer) -> std::optional<MeetingKernel> {
    auto dims = mergeGroups(kernel, map, groups);
    if (!dims)
      return std::nullopt;
    std::optional<ReshapedKernel> copy = mergeDims(kernel, *dims);
    if (!copy)
      return std::nullopt;
    return MeetingKernel{std::move(*copy), isConsumer};
  };
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(reshape)) {
    SmallVector<ReassociationIndices> groups =
        collapse.getReassociationIndices();
    if (!consumer.isGemm())
      return MeetingKernel{
          splitDims(consumer, splitSizes(consumer, inputMap, groups,
                                         shapeOf(reshape->getOperand(0)))),
          true};
    if (producer.isGemm())
      return std::nullopt;
    return merged(producer, resultMap, groups, false);
  }
  auto expand = cast<tensor::ExpandShapeOp>(reshape);
  SmallVector<ReassociationIndices> groups = expand.getReassociationIndices();
  if (!producer.isGemm())
    return MeetingKernel{
        splitDims(producer, splitSizes(producer, resultMap, groups,
                                       shapeOf(reshape->getResult(0)))),
        false};
  if (consumer.isGemm())
    return std::nullopt;
  return merged(consumer, inputMap, groups, true);
}
