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
/// and the others none. The index along d is the row-major index over
/// `indexDims[d]`.
class Reshaper {
public:
  Reshaper(const Kernel &kernel, ArrayRef<Dims> newDims,
           ArrayRef<Dims> indexDims, ArrayRef<int64_t> bounds)
      : kernel(kernel), newDims(newDims), indexDims(indexDims), bounds(bounds),
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
      values.map(argument,
                 body.addArgument(argument.getType(), argument.getLoc()));
    OpBuilder inside(builder.getContext());
    inside.setInsertionPointToEnd(&body);
    for (Operation &op : kernel.getBody()) {
      if (auto index = dyn_cast<kern::IndexOp>(op))
        values.map(index.getResult(),
                   linearIndex(inside, indexDims[index.getDim()]));
      else
        inside.clone(op, values);
    }
  }

  /// The row-major index over `dims`.
  Value linearIndex(OpBuilder &inside, ArrayRef<int64_t> dims) {
    Value index;
    for (int64_t dim : dims) {
      Value inner = kern::IndexOp::create(inside, loc, inside.getI64Type(),
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
    if (!index) // the only index along dimensions of size 1
      index =
          arith::ConstantOp::create(inside, loc, inside.getI64IntegerAttr(0));
    return index;
  }

  const Kernel &kernel;
  ArrayRef<Dims> newDims, indexDims;
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
  return Reshaper(kernel, newDims, newDims, bounds).build();
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
  SmallVector<Dims> indexDims(kernel.getBounds().size());
  Dims bounds;
  for (const Dims &group : groups) {
    int64_t size = 1;
    for (int64_t dim : group)
      size *= kernel.getBounds()[dim];
    newDims[group.front()] = {static_cast<int64_t>(bounds.size())};
    bounds.push_back(size);
    if (group.size() == 1) {
      indexDims[group.front()] = newDims[group.front()];
      continue;
    }
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
    // The index along the only dimension above size 1 is that of the group.
    auto large = llvm::make_filter_range(
        group, [&](int64_t dim) { return kernel.getBounds()[dim] != 1; });
    bool oneLarge = std::distance(large.begin(), large.end()) <= 1;
    for (Operation &op : kernel.getBody())
      if (auto index = dyn_cast<kern::IndexOp>(op))
        if (llvm::is_contained(group, index.getDim()) && !oneLarge)
          return std::nullopt;
    for (int64_t dim : large)
      indexDims[dim] = newDims[group.front()];
  }
  return Reshaper(kernel, newDims, indexDims, bounds).build();
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
  for (int64_t dim = 0; dim < static_cast<int64_t>(kernel.getBounds().size());
       ++dim) {
    if (inside.contains(dim))
      continue;
    auto group = byFirst.find(dim);
    merged.push_back(group == byFirst.end() ? Dims{dim} : group->second);
  }
  return merged;
}

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// `kernel`, in which a tensor lies along `map`, when that tensor has its
/// dimensions merged or split by `groups`; `expanded` is its larger shape.
static std::optional<ReshapedKernel>
reshapeAlong(const Kernel &kernel, AffineMap map, bool merge,
             ArrayRef<ReassociationIndices> groups,
             ArrayRef<int64_t> expanded) {
  if (kernel.isGemm())
    return std::nullopt;
  if (!merge)
    return splitDims(kernel, splitSizes(kernel, map, groups, expanded));
  std::optional<SmallVector<Dims>> dims = mergeGroups(kernel, map, groups);
  if (!dims)
    return std::nullopt;
  return mergeDims(kernel, *dims);
}

namespace {
/// What a reshape does.
struct ReshapeParts {
  bool collapses;
  SmallVector<ReassociationIndices> groups;
  ArrayRef<int64_t> expanded;
};
} // namespace

/// None for a reshape to or from a scalar, whose groups are empty.
static std::optional<ReshapeParts> getParts(Operation *reshape) {
  Value from = reshape->getOperand(0), to = reshape->getResult(0);
  if (shapeOf(from).empty() || shapeOf(to).empty())
    return std::nullopt;
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(reshape))
    return ReshapeParts{true, collapse.getReassociationIndices(),
                        shapeOf(from)};
  return ReshapeParts{
      false, cast<tensor::ExpandShapeOp>(reshape).getReassociationIndices(),
      shapeOf(to)};
}

std::optional<ReshapedKernel> fusion::reshapeProducer(Operation *reshape,
                                                      const Kernel &producer) {
  std::optional<ReshapeParts> parts = getParts(reshape);
  if (!parts)
    return std::nullopt;
  auto result = cast<OpResult>(reshape->getOperand(0));
  return reshapeAlong(producer, producer.getResultMap(result.getResultNumber()),
                      parts->collapses, parts->groups, parts->expanded);
}

std::optional<MeetingKernel> fusion::meetThrough(Operation *reshape,
                                                 const Kernel &producer,
                                                 const Kernel &consumer) {
  std::optional<ReshapeParts> parts = getParts(reshape);
  AffineMap inputMap;
  for (unsigned i = 0; i < consumer.getNumInputs(); ++i)
    if (consumer.getInput(i) == reshape->getResult(0))
      inputMap = consumer.getInputMap(i);
  if (!parts || !inputMap)
    return std::nullopt;
  // Splitting always works, so the kernel with the smaller shape is split when
  // it is no product.
  auto changeConsumer = [&]() -> std::optional<MeetingKernel> {
    std::optional<ReshapedKernel> copy = reshapeAlong(
        consumer, inputMap, !parts->collapses, parts->groups, parts->expanded);
    if (!copy)
      return std::nullopt;
    return MeetingKernel{std::move(*copy), true};
  };
  auto changeProducer = [&]() -> std::optional<MeetingKernel> {
    std::optional<ReshapedKernel> copy = reshapeProducer(reshape, producer);
    if (!copy)
      return std::nullopt;
    return MeetingKernel{std::move(*copy), false};
  };
  std::optional<MeetingKernel> meeting =
      parts->collapses ? changeConsumer() : changeProducer();
  if (meeting)
    return meeting;
  return parts->collapses ? changeProducer() : changeConsumer();
}
