// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strides from indexing maps, dimension merging, positions.

#include "IterationSpace.h"
#include "bessemer/Dialect/Kern/IR/Runs.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::cpu;

namespace {
/// What map, rows and columns have in common.
struct OpParts {
  OperandRange inputs;
  ArrayRef<int64_t> bounds, reduced;
  ArrayAttr maps;
  Block &body;
};
} // namespace

static OpParts getParts(Operation *op) {
  if (auto map = dyn_cast<kern::MapOp>(op))
    return {map.getInputs(),
            map.getBounds(),
            {},
            map.getIndexingMaps(),
            map.getBody().front()};
  if (auto rows = dyn_cast<kern::RowsOp>(op))
    return {rows.getInputs(), rows.getBounds(), rows.getReduced(),
            rows.getIndexingMaps(), rows.getBody().front()};
  auto columns = cast<kern::ColumnsOp>(op);
  return {columns.getInputs(), columns.getBounds(), columns.getReduced(),
          columns.getIndexingMaps(), columns.getBody().front()};
}

static Access getAccess(unsigned buffer, Type type, AffineMap map,
                        ArrayRef<int64_t> bounds) {
  size_t rank = bounds.size();
  Access access{buffer, nullptr, SmallVector<int64_t>(rank, 0)};
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return access;
  access.type = tensor.getElementType();
  int64_t stride = 1;
  for (int64_t i = tensor.getRank() - 1; i >= 0; --i) {
    kern::MapEntry entry = kern::getEntry(map, i);
    int64_t size = tensor.getDimSize(i);
    access.strides[entry.dim] = stride;
    access.offset += entry.offset * stride;
    if (!entry.isWithin(bounds[entry.dim], size)) {
      Guard &guard = access.guards.emplace_back();
      guard.strides.assign(rank, 0);
      guard.strides[entry.dim] = 1;
      guard.low = -entry.offset;
      guard.high = size - entry.offset;
    }
    stride *= size;
  }
  return access;
}

/// Linear forms of the region's i64 values, innermost first; only those that
/// other ops use.
static std::vector<LinearValue> getLinearValues(Block &body, size_t rank) {
  llvm::DenseMap<Value, LinearValue> forms;
  auto constantOf = [&](Value value) -> std::optional<int64_t> {
    auto constant = value.getDefiningOp<arith::ConstantOp>();
    auto attr = constant ? dyn_cast<IntegerAttr>(constant.getValue()) : nullptr;
    return attr ? std::optional(attr.getInt()) : std::nullopt;
  };
  auto formOf = [&](Value value) -> std::optional<LinearValue> {
    if (auto found = forms.find(value); found != forms.end())
      return found->second;
    if (auto constant = constantOf(value))
      return LinearValue{value, SmallVector<int64_t>(rank, 0), *constant};
    return std::nullopt;
  };
  std::vector<LinearValue> result;
  for (Operation &op : body) {
    std::optional<LinearValue> form;
    if (auto index = dyn_cast<kern::IndexOp>(op)) {
      form = LinearValue{index, SmallVector<int64_t>(rank, 0), 0};
      form->strides[index.getDim()] = 1;
    } else if (isa<arith::AddIOp, arith::MulIOp>(op) &&
               op.getResult(0).getType().isInteger(64)) {
      auto a = formOf(op.getOperand(0)), b = formOf(op.getOperand(1));
      auto factor = constantOf(op.getOperand(1));
      if (isa<arith::MulIOp>(op) && !factor) {
        std::swap(a, b);
        factor = constantOf(op.getOperand(0));
      }
      bool isSum = isa<arith::AddIOp>(op);
      if (a && b && (isSum || factor)) {
        form = LinearValue{op.getResult(0), a->strides, a->constant};
        for (size_t dim = 0; dim < rank; ++dim)
          form->strides[dim] = isSum ? a->strides[dim] + b->strides[dim]
                                     : a->strides[dim] * *factor;
        form->constant =
            isSum ? a->constant + b->constant : a->constant * *factor;
      }
    }
    if (form)
      forms[op.getResult(0)] = *form;
  }
  for (Operation &op : body) {
    if (op.getNumResults() != 1 || !forms.contains(op.getResult(0)))
      continue;
    bool isUsed = llvm::any_of(op.getUsers(), [&](Operation *user) {
      return user->getNumResults() == 0 || !forms.contains(user->getResult(0));
    });
    if (isUsed)
      result.push_back(forms[op.getResult(0)]);
  }
  return result;
}

IterationSpace IterationSpace::get(Operation *op) {
  OpParts parts = getParts(op);
  size_t rank = parts.bounds.size();
  IterationSpace space;
  space.bounds.assign(parts.bounds.begin(), parts.bounds.end());
  space.reduced.assign(rank, false);
  for (int64_t dim : parts.reduced)
    space.reduced[dim] = true;
  auto mapOf = [&](unsigned i) {
    return cast<AffineMapAttr>(parts.maps[i]).getValue();
  };
  unsigned number = 0;
  for (Value input : parts.inputs) {
    space.inputs.push_back(
        getAccess(number, input.getType(), mapOf(number), space.bounds));
    ++number;
  }
  for (Value result : op->getResults()) {
    space.results.push_back(
        getAccess(number, result.getType(), mapOf(number), space.bounds));
    ++number;
  }
  space.linear = getLinearValues(parts.body, rank);
  space.dropUnitDims();
  space.mergeDims();
  return space;
}

template <typename Function>
void IterationSpace::forEachStrides(Function function) {
  for (Access &access : inputs) {
    function(access.strides);
    for (Guard &guard : access.guards)
      function(guard.strides);
  }
  for (Access &access : results)
    function(access.strides);
  for (LinearValue &value : linear)
    function(value.strides);
}

IterationSpace IterationSpace::get(kern::GemmOp op) {
  IterationSpace space;
  space.bounds = op.getBounds();
  space.firstArgument = 1;
  size_t rank = space.bounds.size();
  auto mapOf = [&](unsigned i) {
    return cast<AffineMapAttr>(op.getIndexingMaps()[i]).getValue();
  };
  unsigned extras = op.getExtras().size();
  for (auto [i, extra] : llvm::enumerate(op.getExtras()))
    space.inputs.push_back(
        getAccess(2 + i, extra.getType(), mapOf(i), space.bounds));
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    space.results.push_back(getAccess(2 + extras + i, result.getType(),
                                      mapOf(extras + i), space.bounds));
  space.linear = getLinearValues(op.getBody().front(), rank);
  if (rank == 2) { // A batch of one.
    space.bounds.insert(space.bounds.begin(), 1);
    space.forEachStrides([](SmallVector<int64_t> &strides) {
      strides.insert(strides.begin(), 0);
    });
  }
  space.reduced.assign(3, false);
  return space;
}

void IterationSpace::dropUnitDims() {
  for (int64_t dim = bounds.size() - 1; dim >= 0; --dim) {
    if (bounds[dim] != 1)
      continue;
    bounds.erase(bounds.begin() + dim);
    reduced.erase(reduced.begin() + dim);
    forEachStrides([&](SmallVector<int64_t> &strides) {
      strides.erase(strides.begin() + dim);
    });
  }
}

void IterationSpace::addUnitDim() {
  bounds.push_back(1);
  reduced.push_back(true);
  forEachStrides([](SmallVector<int64_t> &strides) { strides.push_back(0); });
}

void IterationSpace::mergeDims() {
  for (int64_t dim = static_cast<int64_t>(bounds.size()) - 2; dim >= 0; --dim) {
    int64_t inner = bounds[dim + 1];
    bool mergeable = reduced[dim] == reduced[dim + 1];
    auto check = [&](ArrayRef<int64_t> strides) {
      mergeable &= strides[dim] == strides[dim + 1] * inner;
    };
    for (const Access &access : inputs) {
      check(access.strides);
      // A guard of the outer dimension is one of the merged one as well.
      for (const Guard &guard : access.guards)
        mergeable &= guard.strides[dim + 1] == 0;
    }
    for (const Access &access : results)
      check(access.strides);
    for (const LinearValue &value : linear)
      check(value.strides);
    if (!mergeable)
      continue;
    for (Access &access : inputs)
      for (Guard &guard : access.guards)
        if (guard.strides[dim]) {
          // low <= i < high is low n <= i n + j < high n for all j < n.
          guard.strides[dim + 1] = 1;
          guard.low *= inner;
          guard.high *= inner;
        }
    bounds[dim] *= inner;
    bounds.erase(bounds.begin() + dim + 1);
    reduced.erase(reduced.begin() + dim + 1);
    forEachStrides([&](SmallVector<int64_t> &strides) {
      strides.erase(strides.begin() + dim);
    });
  }
}

SmallVector<int64_t> IterationSpace::dims(bool areReduced,
                                          int64_t except) const {
  SmallVector<int64_t> result;
  for (size_t dim = 0; dim < bounds.size(); ++dim)
    if (reduced[dim] == areReduced && static_cast<int64_t>(dim) != except)
      result.push_back(dim);
  return result;
}

int64_t IterationSpace::size(ArrayRef<int64_t> dims) const {
  int64_t product = 1;
  for (int64_t dim : dims)
    product *= bounds[dim];
  return product;
}

int64_t IterationSpace::pickVectorDim(bool amongReduced) const {
  SmallVector<int64_t> candidates = dims(amongReduced);
  auto isShort = [&](int64_t dim) { return bounds[dim] < kern::kShortestRun; };
  if (!llvm::all_of(candidates, isShort))
    llvm::erase_if(candidates, isShort);
  int64_t best = -1, bestScore = -1;
  for (int64_t dim : candidates) {
    // A gathered access costs as much as many contiguous ones; a scattered one
    // more.
    int64_t score = 0;
    for (const Access &access : inputs)
      score += access.type && access.strides[dim] == 1;
    for (const Access &access : results)
      score += access.strides[dim] == 1 ? 2 : 0;
    if (score >= bestScore) {
      best = dim;
      bestScore = score;
    }
  }
  return best;
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

Position Position::begin(KernelBuilder &k, const IterationSpace &space) {
  Position position;
  for (const Access &access : space.inputs) {
    Val buffer = k.buffer(access.buffer);
    position.inputs.push_back(
        access.type
            ? k.address(buffer, k.memoryType(access.type), access.offset)
            : buffer);
    position.guarded.append(access.guards.size(), k.i64(0));
  }
  for (const Access &access : space.results)
    position.results.push_back(k.buffer(access.buffer));
  for (const LinearValue &value : space.linear)
    position.linear.push_back(k.i64(value.constant));
  for (const Access &access : space.caches)
    position.caches.push_back(k.address(k.scratch, k.memoryType(access.type),
                                        int64_t(access.buffer)));
  return position;
}

Position Position::at(KernelBuilder &k, const IterationSpace &space,
                      ArrayRef<int64_t> dims, ArrayRef<Val> indices) const {
  auto offset = [&](ArrayRef<int64_t> strides) -> Val {
    Val sum = k.i64(0);
    for (auto [dim, index] : llvm::zip(dims, indices))
      if (strides[dim])
        sum = k.add(sum, k.mul(index, strides[dim]));
    return sum;
  };
  Position result;
  auto advance = [&](const std::vector<Access> &accesses, const Vals &from,
                     Vals &to) {
    for (auto [access, pointer] : llvm::zip(accesses, from))
      to.push_back(access.type ? k.address(pointer, k.memoryType(access.type),
                                           offset(access.strides))
                               : pointer);
  };
  advance(space.inputs, inputs, result.inputs);
  advance(space.results, results, result.results);
  advance(space.caches, caches, result.caches);
  for (auto [value, current] : llvm::zip(space.linear, linear))
    result.linear.push_back(k.add(current, offset(value.strides)));
  auto current = guarded.begin();
  for (const Access &access : space.inputs)
    for (const Guard &guard : access.guards)
      result.guarded.push_back(k.add(*current++, offset(guard.strides)));
  return result;
}

static bool isUniform(ArrayRef<int64_t> strides, ArrayRef<int64_t> dims) {
  return llvm::all_of(dims, [&](int64_t dim) { return strides[dim] == 0; });
}

/// The element of input `i` at `position`, or the vector of them along
/// `vectorDim` (-1: none); zeros outside of the buffer.
static Val loadInput(KernelBuilder &k, const IterationSpace &space,
                     const Position &position, unsigned i, int64_t vectorDim,
                     Val mask) {
  const Access &access = space.inputs[i];
  int64_t stride = vectorDim < 0 ? 0 : access.strides[vectorDim];
  if (access.guards.empty())
    return k.loadElements(access.type, position.inputs[i], stride, mask);
  size_t first = 0;
  for (const Access &other : ArrayRef(space.inputs).take_front(i))
    first += other.guards.size();
  // Whether the position is inside, and the lanes that are.
  Val isInside = nullptr, lanes = mask;
  auto both = [&](Val a, Val b) { return a ? k.ir.CreateAnd(a, b) : b; };
  for (auto [j, guard] : llvm::enumerate(access.guards)) {
    Val index = position.guarded[first + j];
    if (vectorDim >= 0 && guard.strides[vectorDim]) {
      Val begin = k.lanesFrom(k.sub(k.i64(guard.low), index));
      Val end = k.maskBelow(k.sub(k.i64(guard.high), index));
      lanes = both(lanes, k.ir.CreateAnd(begin, end));
      // Whether there is a lane inside.
      isInside =
          both(isInside, k.isWithin(k.add(index, k.lanes() - 1), guard.low,
                                    guard.high + k.lanes() - 1));
    } else {
      isInside = both(isInside, k.isWithin(index, guard.low, guard.high));
    }
  }
  // No branch: outside, any element of the buffer is read and dropped. Lanes
  // that are masked off may lie anywhere, but are slow on pages without memory.
  Val pointer = k.select(isInside, position.inputs[i], k.buffer(access.buffer));
  if (stride != 0)
    return k.loadElements(access.type, pointer, stride,
                          both(lanes, k.broadcast(isInside)));
  Val value = k.loadElements(access.type, pointer, 0, nullptr);
  return k.select(isInside, value,
                  llvm::Constant::getNullValue(value->getType()));
}

void bessemer::cpu::bindScalars(KernelBuilder &k, RegionEmitter &scope,
                                const IterationSpace &space,
                                const Position &position,
                                ArrayRef<int64_t> varying) {
  for (auto [i, access] : llvm::enumerate(space.inputs)) {
    Value argument = scope.getBody().getArgument(space.firstArgument + i);
    if (scope.isKnown(argument) || argument.use_empty())
      continue;
    if (!access.type)
      scope.bind(argument, position.inputs[i]);
    else if (isUniform(access.strides, varying))
      scope.bind(argument, loadInput(k, space, position, i, /*vectorDim=*/-1,
                                     /*mask=*/nullptr));
  }
  for (auto [i, value] : llvm::enumerate(space.linear))
    if (!scope.isKnown(value.value) && isUniform(value.strides, varying))
      scope.bind(value.value, position.linear[i]);
}

void bessemer::cpu::bindVectors(KernelBuilder &k, RegionEmitter &scope,
                                const IterationSpace &space,
                                const Position &position, int64_t vectorDim,
                                Val mask, ArrayRef<int64_t> varying) {
  for (auto [i, access] : llvm::enumerate(space.inputs)) {
    Value argument = scope.getBody().getArgument(space.firstArgument + i);
    if (access.type && access.strides[vectorDim] && !scope.isKnown(argument) &&
        !argument.use_empty() && isUniform(access.strides, varying))
      scope.bind(argument, loadInput(k, space, position, i, vectorDim, mask));
  }
  for (auto [i, value] : llvm::enumerate(space.linear)) {
    int64_t stride = value.strides[vectorDim];
    if (!stride || scope.isKnown(value.value) ||
        !isUniform(value.strides, varying))
      continue;
    Val steps = k.ir.CreateMul(
        k.iota(64), k.splatInt(k.vectorOf(k.ir.getInt64Ty()), stride));
    scope.bind(value.value,
               k.ir.CreateAdd(k.broadcast(position.linear[i]), steps));
  }
}
