// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes and accumulators of rows and columns.

#include "Folds.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::cpu;

FoldPasses::FoldPasses(Block &body, const IterationSpace &space) {
  // Level of a value: how many folds lie on the longest path to it.
  llvm::DenseMap<Value, size_t> levels;
  size_t passes = 0;
  for (Operation &op : body) {
    size_t level = 0;
    for (Value operand : op.getOperands())
      level = std::max(level, levels.lookup(operand));
    if (auto fold = dyn_cast<kern::FoldOp>(op)) {
      folds.resize(std::max(folds.size(), level + 1));
      folds[level].push_back(fold);
      ++level;
    }
    for (Value result : op.getResults())
      levels[result] = level;
  }
  passes = folds.size();
  SmallVector<int64_t> reducedDims = space.dims(/*areReduced=*/true);
  for (auto [i, access] : llvm::enumerate(space.results)) {
    bool hasReduced = llvm::any_of(
        reducedDims, [&](int64_t dim) { return access.strides[dim] != 0; });
    (hasReduced ? elementResults : rowResults).push_back(i);
    Value value = body.getTerminator()->getOperand(i);
    if (hasReduced)
      passes = std::max(passes, levels.lookup(value) + 1);
  }
  folds.resize(passes);
}

/// What pass `pass` evaluates, given what is cached. Folds are known.
static llvm::DenseSet<Value> getNeeded(Block &body, const FoldPasses &passes,
                                       size_t pass,
                                       ArrayRef<CachedValue> cached) {
  llvm::DenseSet<Value> needed;
  SmallVector<Value> work;
  for (kern::FoldOp fold : passes.folds[pass])
    work.push_back(fold.getValue());
  if (passes.isLast(pass))
    for (unsigned result : passes.elementResults)
      work.push_back(body.getTerminator()->getOperand(result));
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!needed.insert(value).second)
      continue;
    bool isKnown = value.getDefiningOp<kern::FoldOp>() ||
                   llvm::any_of(cached, [&](const CachedValue &other) {
                     return other.value == value && other.firstPass < pass;
                   });
    if (Operation *op = value.getDefiningOp(); op && !isKnown)
      llvm::append_range(work, op->getOperands());
  }
  return needed;
}

SmallVector<CachedValue>
bessemer::cpu::findCachedValues(Block &body, const IterationSpace &space,
                                const FoldPasses &passes, int64_t vectorDim) {
  // Values that differ from lane to lane.
  llvm::DenseSet<Value> varying;
  for (auto [i, access] : llvm::enumerate(space.inputs))
    if (access.type && access.strides[vectorDim])
      varying.insert(body.getArgument(space.firstArgument + i));
  for (const LinearValue &value : space.linear)
    if (value.strides[vectorDim])
      varying.insert(value.value);
  SmallVector<Operation *> candidates;
  for (Operation &op : body) {
    if (isa<kern::FoldOp, kern::YieldOp>(op) ||
        !llvm::any_of(op.getOperands(),
                      [&](Value value) { return varying.contains(value); }))
      continue;
    varying.insert(op.getResult(0));
    if (isExpensive(&op) && op.getResult(0).getType().isF32())
      candidates.push_back(&op);
  }
  // From the last on: what only a cached value needs need not be cached.
  SmallVector<CachedValue> cached;
  for (Operation *op : llvm::reverse(candidates)) {
    SmallVector<size_t> users;
    for (size_t pass = 0; pass < passes.folds.size(); ++pass)
      if (getNeeded(body, passes, pass, cached).contains(op->getResult(0)))
        users.push_back(pass);
    if (users.size() > 1)
      cached.push_back({op->getResult(0), users.front()});
  }
  return cached;
}

Vals bessemer::cpu::foldIdentities(KernelBuilder &k,
                                   ArrayRef<kern::FoldOp> folds) {
  Vals result;
  for (kern::FoldOp fold : folds)
    result.push_back(foldIdentity(k, fold.getKind(),
                                  k.vectorOf(k.valueType(fold.getType()))));
  return result;
}

Vals bessemer::cpu::combineFolds(KernelBuilder &k, ArrayRef<kern::FoldOp> folds,
                                 ArrayRef<Val> a, ArrayRef<Val> b) {
  Vals result;
  for (auto [i, fold] : llvm::enumerate(folds))
    result.push_back(emitFold(k, kern::FoldOp(fold).getKind(), a[i], b[i]));
  return result;
}

Vals bessemer::cpu::accumulateFolds(KernelBuilder &k,
                                    ArrayRef<kern::FoldOp> folds,
                                    RegionEmitter &scope, Val mask,
                                    ArrayRef<Val> accumulators) {
  Vals result;
  for (auto [i, op] : llvm::enumerate(folds)) {
    kern::FoldOp fold = op;
    Val value = k.broadcast(scope.get(fold.getValue()));
    if (mask)
      value = k.select(mask, value,
                       foldIdentity(k, fold.getKind(), value->getType()));
    result.push_back(emitFold(k, fold.getKind(), accumulators[i], value));
  }
  return result;
}

void bessemer::cpu::storeResults(KernelBuilder &k, RegionEmitter &scope,
                                 const IterationSpace &space,
                                 const Position &position,
                                 ArrayRef<unsigned> results, int64_t vectorDim,
                                 Val mask) {
  // All values before the first store: results may lie over inputs.
  Vals values;
  for (unsigned i : results)
    values.push_back(scope.get(scope.getBody().getTerminator()->getOperand(i)));
  for (auto [i, value] : llvm::zip(results, values)) {
    const Access &access = space.results[i];
    k.storeElements(value, access.type, position.results[i],
                    vectorDim < 0 ? 0 : access.strides[vectorDim], mask);
  }
}
