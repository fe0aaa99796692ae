// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same kernel over other dimensions, so that kernels on both sides of a
// reshape can merge.

#include "ReshapeKernel.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

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
      Value input = kernel.getInput(i);
      auto [map, shape] = convert(kernel.getInputMap(i), input.getType());
      maps.push_back(map);
      inputs.push_back(isa<RankedTensorType>(input.getType())
                           ? reshapeTo(input, shape)
                           : input);
    }
    SmallVector<Type> types;
    for (OpResult result : op->getResults()) {
      auto [map, shape] = convert(kernel.getResultMap(result.getResultNumber()),
                                  result.getType());
      maps.push_back(map);
      types.push_back(cast<RankedTensorType>(result.getType()).clone(shape));
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
  /// The map that takes the place of `map` to a tensor of `type`, and the shape
  /// that the tensor has then.
  std::pair<AffineMap, SmallVector<int64_t>> convert(AffineMap map, Type type) {
    SmallVector<kern::MapEntry> entries;
    SmallVector<int64_t> shape;
    int64_t merged = 1;
    // From the innermost on: where dimensions merge, the first, which has the
    // new one, begins at a multiple of the size of the others.
    for (unsigned i = map.getNumResults(); i-- > 0;) {
      auto [dim, offset] = kern::getEntry(map, i);
      int64_t size = cast<RankedTensorType>(type).getDimSize(i);
      ArrayRef<int64_t> dims = newDims[dim];
      if (dims.empty()) {
        merged *= size;
        continue;
      }
      // The parts but the first are whole.
      int64_t inner = 1;
      for (int64_t part : llvm::reverse(dims.drop_front())) {
        entries.push_back({part, 0});
        shape.push_back(bounds[part]);
        inner *= bounds[part];
      }
      entries.push_back({dims.front(), offset / inner * merged});
      shape.push_back(size / inner * merged);
      merged = 1;
    }
    std::reverse(entries.begin(), entries.end());
    std::reverse(shape.begin(), shape.end());
    return {kern::getShiftedMap(entries, bounds.size(), builder.getContext()),
            shape};
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
      else if (Value isBelow = compareOuter(inside, op))
        values.map(op.getResult(0), isBelow);
      else
        inside.clone(op, values);
    }
  }

  /// When `op` asks whether the index of a dimension that splits is below a
  /// multiple of its inner parts, as concatenations do: the same question about
  /// the outer part, which is the same for all inner ones.
  Value compareOuter(OpBuilder &inside, Operation &op) {
    auto compare = dyn_cast<arith::CmpIOp>(op);
    if (!compare || compare.getPredicate() != arith::CmpIPredicate::slt)
      return {};
    auto index = compare.getLhs().getDefiningOp<kern::IndexOp>();
    IntegerAttr bound;
    if (!index || !matchPattern(compare.getRhs(), m_Constant(&bound)))
      return {};
    ArrayRef<int64_t> dims = indexDims[index.getDim()];
    int64_t inner = 1;
    for (int64_t dim : dims.drop_front(std::min<size_t>(1, dims.size())))
      inner *= bounds[dim];
    if (dims.size() < 2 || bound.getInt() % inner)
      return {};
    Value outer = kern::IndexOp::create(inside, loc, inside.getI64Type(),
                                        inside.getI64IntegerAttr(dims.front()));
    Value limit = arith::ConstantOp::create(
        inside, loc, inside.getI64IntegerAttr(bound.getInt() / inner));
    return arith::CmpIOp::create(inside, loc, compare.getPredicate(), outer,
                                 limit);
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

std::optional<ReshapedKernel> fusion::splitDims(const Kernel &kernel,
                                                ArrayRef<Dims> sizes) {
  for (unsigned i = 0; i < kernel.getNumInputs(); ++i) {
    AffineMap map = kernel.getInputMap(i);
    for (unsigned j = 0; j < map.getNumResults(); ++j) {
      auto [dim, offset] = kern::getEntry(map, j);
      int64_t inner = 1;
      for (int64_t size : ArrayRef(sizes[dim]).drop_front())
        inner *= size;
      auto type = cast<RankedTensorType>(kernel.getInput(i).getType());
      if (offset % inner || type.getDimSize(j) % inner)
        return std::nullopt;
    }
  }
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

/// Whether `map` to a tensor of `type` holds `group` in order and together, or
/// nothing of it. Only the first of the group may be read in part.
static bool keepsTogether(AffineMap map, Type type, ArrayRef<int64_t> group,
                          ArrayRef<int64_t> bounds) {
  for (unsigned i = 0; i < map.getNumResults(); ++i) {
    int64_t dim = kern::getEntry(map, i).dim;
    if (!llvm::is_contained(group, dim))
      continue;
    if (dim != group.front() || i + group.size() > map.getNumResults())
      return false;
    for (unsigned j = 1; j < group.size(); ++j) {
      kern::MapEntry entry = kern::getEntry(map, i + j);
      if (entry.dim != group[j] ||
          !entry.isWhole(bounds[group[j]],
                         cast<RankedTensorType>(type).getDimSize(i + j)))
        return false;
    }
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
    for (unsigned i = 0; i < kernel.getNumInputs(); ++i)
      if (!keepsTogether(kernel.getInputMap(i), kernel.getInput(i).getType(),
                         group, kernel.getBounds()))
        return std::nullopt;
    for (OpResult result : kernel.getOperation()->getResults())
      if (!keepsTogether(kernel.getResultMap(result.getResultNumber()),
                         result.getType(), group, kernel.getBounds()))
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
/// `map` has dimension i split to the dimensions `groups[i]` of `shape`. None
/// when a part of the tensor is read that does not split like it.
static std::optional<SmallVector<Dims>>
splitSizes(const Kernel &kernel, AffineMap map,
           ArrayRef<ReassociationIndices> groups, ArrayRef<int64_t> shape) {
  SmallVector<Dims> sizes;
  for (int64_t bound : kernel.getBounds())
    sizes.push_back({bound});
  for (auto [i, group] : llvm::enumerate(groups)) {
    Dims &parts = sizes[kern::getEntry(map, i).dim];
    int64_t bound = parts.front(), inner = 1;
    parts.clear();
    for (int64_t dim : group)
      parts.push_back(shape[dim]);
    for (int64_t part : ArrayRef(parts).drop_front())
      inner *= part;
    if (bound % inner)
      return std::nullopt;
    parts.front() = bound / inner;
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
      dims.push_back(kern::getEntry(map, dim).dim);
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
  if (!merge) {
    std::optional<SmallVector<Dims>> sizes =
        splitSizes(kernel, map, groups, expanded);
    if (!sizes)
      return std::nullopt;
    return splitDims(kernel, *sizes);
  }
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
  // Splitting nearly always works, so the kernel with the smaller shape is
  // split when it is no product.
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
