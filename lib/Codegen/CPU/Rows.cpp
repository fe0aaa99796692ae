// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kern.rows: vectors run along a reduced dimension. A row is one index of the
// kept dimensions: a nest of the other reduced dimensions around runs of the
// vector dimension. Short rows stay in registers from pass to pass; long ones
// are read again in each pass, with costly values of earlier passes in scratch.

#include "Families.h"
#include "Folds.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::cpu;

namespace {
/// Elements summed before the result is added to the row's total: bounds the
/// rounding error of long sums.
constexpr int64_t kBlock = 8192;

/// Elements of scratch beyond which values are computed again instead: they
/// would not stay in L2.
constexpr int64_t kCacheElements = 1 << 17;

class RowsEmitter {
public:
  RowsEmitter(kern::RowsOp op, const CPUTarget &target)
      : body(op.getBody().front()), space(IterationSpace::get(op)),
        passes(body, space) {
    vectorDim = space.pickVectorDim(/*amongReduced=*/true);
    if (vectorDim < 0) { // All reduced dimensions have size 1.
      vectorDim = space.bounds.size();
      space.addUnitDim();
    }
    length = space.bounds[vectorDim];
    runDims = space.dims(/*areReduced=*/true, vectorDim);
    reducedDims = space.dims(/*areReduced=*/true);
    keptDims = space.dims(/*areReduced=*/false);
    for (int64_t dim : keptDims)
      keptBounds.push_back(space.bounds[dim]);
    rows = space.size(keptDims);
    runs = space.size(runDims);
    vectors = llvm::divideCeil(length, target.lanes);
    isShort = runs == 1 && vectors <= 4;
    if (!isShort)
      addCaches();
    // A short row costs more than its elements.
    rowsPerTile = std::max<int64_t>(
        1, kTileElements / (runs * std::max(length, 2 * target.lanes)));
  }

  int64_t getTiles() const { return llvm::divideCeil(rows, rowsPerTile); }
  uint64_t getScratchBytes() const {
    return 4 * space.caches.size() * runs * length;
  }

  void emit(KernelBuilder &k) {
    Position begin = Position::begin(k, space);
    k.forTiles([&](Val tile) {
      Val first = k.mul(tile, rowsPerTile);
      Val last = k.min(k.add(first, rowsPerTile), k.i64(rows));
      k.loop(first, last, 1, [&](Val row) {
        Position position =
            begin.at(k, space, keptDims, k.delinearize(row, keptBounds));
        RegionEmitter scope(k, body);
        bindScalars(k, scope, space, position, reducedDims);
        scope.evaluateKnown();
        if (isShort)
          emitShortRow(k, scope, position);
        else
          emitLongRow(k, scope, position);
        storeResults(k, scope, space, position, passes.rowResults,
                     /*vectorDim=*/-1, /*mask=*/nullptr);
      });
    });
  }

private:
  /// Gives costly values a row of scratch each.
  void addCaches() {
    cached = findCachedValues(body, space, passes, vectorDim);
    if (static_cast<int64_t>(cached.size()) * runs * length > kCacheElements)
      cached.clear();
    for (const CachedValue &value : cached) {
      Access access{unsigned(space.caches.size() * runs * length),
                    value.value.getType(),
                    SmallVector<int64_t>(space.bounds.size(), 0)};
      int64_t stride = length;
      access.strides[vectorDim] = 1;
      for (int64_t dim : llvm::reverse(runDims)) {
        access.strides[dim] = stride;
        stride *= space.bounds[dim];
      }
      space.caches.push_back(access);
    }
  }

  /// Loads what earlier passes cached and stores what this one caches.
  void useCaches(KernelBuilder &k, RegionEmitter &scope, size_t pass,
                 const Position &position, Val mask) {
    for (auto [i, value] : llvm::enumerate(cached))
      if (value.firstPass < pass)
        scope.bind(value.value, k.loadElements(value.value.getType(),
                                               position.caches[i], 1, mask));
    for (auto [i, value] : llvm::enumerate(cached))
      if (value.firstPass == pass)
        k.storeElements(scope.get(value.value), value.value.getType(),
                        position.caches[i], 1, mask);
  }

  /// Binds the folds of a pass to their accumulators' sums over lanes.
  void bindFolds(KernelBuilder &k, RegionEmitter &scope,
                 ArrayRef<kern::FoldOp> folds, ArrayRef<Val> accumulators) {
    for (auto [i, fold] : llvm::enumerate(folds)) {
      kern::FoldKind kind = kern::FoldOp(fold).getKind();
      scope.bind(kern::FoldOp(fold).getResult(),
                 k.reduceLanes(accumulators[i], [&](Val a, Val b) {
                   return emitFold(k, kind, a, b);
                 }));
    }
    scope.evaluateKnown();
  }

  void emitShortRow(KernelBuilder &k, RegionEmitter &row,
                    const Position &begin) {
    std::vector<Position> positions;
    std::vector<RegionEmitter> scopes;
    Vals masks;
    for (int64_t i = 0; i < vectors; ++i) {
      Val j = k.i64(i * k.lanes());
      masks.push_back(k.tailMask(length - i * k.lanes()));
      positions.push_back(begin.at(k, space, {vectorDim}, {j}));
      scopes.emplace_back(&row);
      bindVectors(k, scopes[i], space, positions[i], vectorDim, masks[i]);
    }
    for (auto [pass, folds] : llvm::enumerate(passes.folds)) {
      Vals accumulators = foldIdentities(k, folds);
      for (int64_t i = 0; i < vectors; ++i)
        accumulators =
            accumulateFolds(k, folds, scopes[i], masks[i], accumulators);
      bindFolds(k, row, folds, accumulators);
    }
    // Last, because a result may lie over an input.
    for (int64_t i = 0; i < vectors; ++i)
      storeResults(k, scopes[i], space, positions[i], passes.elementResults,
                   vectorDim, masks[i]);
  }

  void emitLongRow(KernelBuilder &k, RegionEmitter &row,
                   const Position &begin) {
    for (auto [pass, folds] : llvm::enumerate(passes.folds)) {
      Vals totals = emitRuns(k, row, begin, runDims, pass, folds,
                             foldIdentities(k, folds));
      bindFolds(k, row, folds, totals);
    }
  }

  /// One pass over the runs below `dims`.
  Vals emitRuns(KernelBuilder &k, RegionEmitter &row, const Position &begin,
                ArrayRef<int64_t> dims, size_t pass,
                ArrayRef<kern::FoldOp> folds, ArrayRef<Val> totals) {
    if (dims.empty())
      return emitRun(k, row, begin, pass, folds, totals);
    return k.loop(k.i64(0), k.i64(space.bounds[dims[0]]), 1, totals,
                  [&](Val index, ArrayRef<Val> carried) {
                    Position here = begin.at(k, space, {dims[0]}, {index});
                    return emitRuns(k, row, here, dims.drop_front(), pass,
                                    folds, carried);
                  });
  }

  Vals emitRun(KernelBuilder &k, RegionEmitter &row, const Position &begin,
               size_t pass, ArrayRef<kern::FoldOp> folds,
               ArrayRef<Val> totals) {
    RegionEmitter run(&row);
    bindScalars(k, run, space, begin, {vectorDim});
    run.evaluateKnown();
    unsigned unroll = std::min<int64_t>(
        chooseUnroll(countRegionOps(body) / passes.folds.size()), vectors);
    return k.loop(
        k.i64(0), k.i64(length), kBlock, totals,
        [&](Val first, ArrayRef<Val> carried) {
          Position block = begin.at(k, space, {vectorDim}, {first});
          Val count = length <= kBlock || length % kBlock == 0
                          ? k.i64(std::min(length, kBlock))
                          : k.min(k.i64(kBlock), k.sub(k.i64(length), first));
          Vals sums = k.vectorLoop(
              count, unroll, foldIdentities(k, folds),
              [&](Val j, Val mask, ArrayRef<Val> accumulators) {
                Position here = block.at(k, space, {vectorDim}, {j});
                RegionEmitter scope(&run);
                bindVectors(k, scope, space, here, vectorDim, mask);
                useCaches(k, scope, pass, here, mask);
                Vals next =
                    accumulateFolds(k, folds, scope, mask, accumulators);
                if (passes.isLast(pass))
                  storeResults(k, scope, space, here, passes.elementResults,
                               vectorDim, mask);
                return next;
              },
              [&](ArrayRef<Val> a, ArrayRef<Val> b) {
                return combineFolds(k, folds, a, b);
              });
          return combineFolds(k, folds, carried, sums);
        });
  }

  Block &body;
  IterationSpace space;
  FoldPasses passes;
  SmallVector<CachedValue> cached;
  bool isShort;
  int64_t vectorDim, length, vectors, rows, runs, rowsPerTile;
  SmallVector<int64_t> runDims, reducedDims, keptDims, keptBounds;
};
} // namespace

KernelPlan bessemer::cpu::planRows(kern::RowsOp op, const CPUTarget &target) {
  auto emitter = std::make_shared<RowsEmitter>(op, target);
  return {emitter->getTiles(), emitter->getScratchBytes(),
          [emitter](KernelBuilder &k) { emitter->emit(k); }};
}
