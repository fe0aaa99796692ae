// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kern.columns: vectors run along a kept dimension, loops down the reduced
// ones. A unit is a few vectors of one index of the other kept dimensions; a
// tile is one or more units.

#include "Families.h"
#include "Folds.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::cpu;

namespace {
/// Rows summed before the result is added to the total: bounds the rounding
/// error of long sums.
constexpr int64_t kBlock = 128;

class ColumnsEmitter {
public:
  ColumnsEmitter(kern::ColumnsOp op, const CPUTarget &target)
      : body(op.getBody().front()), space(IterationSpace::get(op)),
        passes(body, space) {
    vectorDim = space.pickVectorDim(/*amongReduced=*/false);
    if (vectorDim < 0) { // All kept dimensions have size 1.
      vectorDim = space.bounds.size();
      space.addUnitDim();
      space.reduced[vectorDim] = false;
    }
    length = space.bounds[vectorDim];
    reducedDims = space.dims(/*areReduced=*/true);
    outerDims = space.dims(/*areReduced=*/false, vectorDim);
    for (int64_t dim : outerDims)
      outerBounds.push_back(space.bounds[dim]);
    int64_t outer = space.size(outerDims);
    // Wide units use whole cache lines and pages; narrow ones leave tiles for
    // several threads.
    vectors = 4;
    while (vectors > 1 &&
           (vectors / 2 * target.lanes >= length ||
            outer * llvm::divideCeil(length, vectors * target.lanes) < 4))
      vectors /= 2;
    blocks = llvm::divideCeil(length, vectors * target.lanes);
    units = outer * blocks;
    int64_t unitElements = space.size(reducedDims) * vectors * target.lanes;
    unitsPerTile = std::max<int64_t>(1, kTileElements / unitElements);
  }

  int64_t getTiles() const { return llvm::divideCeil(units, unitsPerTile); }

  void emit(KernelBuilder &k) {
    Position begin = Position::begin(k, space);
    k.forTiles([&](Val tile) {
      Val first = k.mul(tile, unitsPerTile);
      Val last = k.min(k.add(first, unitsPerTile), k.i64(units));
      k.loop(first, last, 1, [&](Val unit) { emitUnit(k, begin, unit); });
    });
  }

private:
  /// The vectors of one unit.
  struct Lane {
    Val offset, mask;
    RegionEmitter scope;
  };

  void emitUnit(KernelBuilder &k, const Position &begin, Val unit) {
    Position position = begin.at(
        k, space, outerDims, k.delinearize(k.div(unit, blocks), outerBounds));
    Val column = k.mul(k.rem(unit, blocks), vectors * k.lanes());
    position = position.at(k, space, {vectorDim}, {column});

    RegionEmitter scope(k, body);
    SmallVector<int64_t> varying = reducedDims;
    varying.push_back(vectorDim);
    bindScalars(k, scope, space, position, varying);
    scope.evaluateKnown();
    std::vector<Lane> lanes;
    for (int64_t i = 0; i < vectors; ++i) {
      Val offset = k.i64(i * k.lanes()), mask;
      if (length % (vectors * k.lanes()))
        mask = k.maskBelow(k.sub(k.i64(length), k.add(column, offset)));
      else
        mask = nullptr;
      lanes.push_back({offset, mask, RegionEmitter(&scope)});
      bindVectors(k, lanes[i].scope, space, at(k, position, lanes[i]),
                  vectorDim, mask, reducedDims);
      lanes[i].scope.evaluateKnown();
    }

    for (auto [pass, folds] : llvm::enumerate(passes.folds)) {
      Vals totals = emitRows(k, lanes, position, reducedDims,
                             passes.isLast(pass), folds, identities(k, folds));
      for (auto [i, lane] : llvm::enumerate(lanes)) {
        for (auto [f, fold] : llvm::enumerate(folds))
          lane.scope.bind(kern::FoldOp(fold).getResult(),
                          totals[i * folds.size() + f]);
        lane.scope.evaluateKnown();
      }
    }
    for (Lane &lane : lanes)
      storeResults(k, lane.scope, space, at(k, position, lane),
                   passes.rowResults, vectorDim, lane.mask);
  }

  Position at(KernelBuilder &k, const Position &position, const Lane &lane) {
    return position.at(k, space, {vectorDim}, {lane.offset});
  }

  /// Accumulators of all vectors of a unit.
  Vals identities(KernelBuilder &k, ArrayRef<kern::FoldOp> folds) {
    Vals result;
    for (int64_t i = 0; i < vectors; ++i)
      result.append(foldIdentities(k, folds));
    return result;
  }
  Vals combine(KernelBuilder &k, ArrayRef<kern::FoldOp> folds, ArrayRef<Val> a,
               ArrayRef<Val> b) {
    Vals result;
    for (int64_t i = 0; i < vectors; ++i)
      result.append(combineFolds(k, folds,
                                 a.slice(i * folds.size(), folds.size()),
                                 b.slice(i * folds.size(), folds.size())));
    return result;
  }

  /// One pass over the rows below `dims`.
  Vals emitRows(KernelBuilder &k, std::vector<Lane> &lanes,
                const Position &begin, ArrayRef<int64_t> dims, bool isLast,
                ArrayRef<kern::FoldOp> folds, ArrayRef<Val> totals) {
    if (dims.empty())
      return emitRow(k, lanes, begin, isLast, folds, totals);
    int64_t bound = space.bounds[dims[0]];
    auto below = [&](const Position &from, Val index, ArrayRef<Val> carried) {
      Position here = from.at(k, space, {dims[0]}, {index});
      return emitRows(k, lanes, here, dims.drop_front(), isLast, folds,
                      carried);
    };
    if (dims.size() > 1)
      return k.loop(k.i64(0), k.i64(bound), 1, totals,
                    [&](Val index, ArrayRef<Val> carried) {
                      return below(begin, index, carried);
                    });
    // Rows alternate between accumulators, so that additions overlap.
    unsigned unroll = std::min<int64_t>(vectors == 1   ? 4
                                        : vectors == 2 ? 2
                                                       : 1,
                                        bound);
    return k.loop(k.i64(0), k.i64(bound), kBlock, totals,
                  [&](Val first, ArrayRef<Val> carried) {
                    Position block = begin.at(k, space, {dims[0]}, {first});
                    Val count =
                        bound <= kBlock || bound % kBlock == 0
                            ? k.i64(std::min(bound, kBlock))
                            : k.min(k.i64(kBlock), k.sub(k.i64(bound), first));
                    Vals sums = k.strips(
                        count, 1, unroll, identities(k, folds),
                        [&](Val index, Val, ArrayRef<Val> accumulators) {
                          return below(block, index, accumulators);
                        },
                        [&](ArrayRef<Val> a, ArrayRef<Val> b) {
                          return combine(k, folds, a, b);
                        });
                    return combine(k, folds, carried, sums);
                  });
  }

  Vals emitRow(KernelBuilder &k, std::vector<Lane> &lanes,
               const Position &begin, bool isLast, ArrayRef<kern::FoldOp> folds,
               ArrayRef<Val> accumulators) {
    Vals result;
    for (auto [i, lane] : llvm::enumerate(lanes)) {
      Position here = at(k, begin, lane);
      RegionEmitter scope(&lane.scope);
      bindScalars(k, scope, space, here, {vectorDim});
      bindVectors(k, scope, space, here, vectorDim, lane.mask);
      // Columns do not mix: lanes off need no identity.
      result.append(
          accumulateFolds(k, folds, scope, /*mask=*/nullptr,
                          accumulators.slice(i * folds.size(), folds.size())));
      if (isLast)
        storeResults(k, scope, space, here, passes.elementResults, vectorDim,
                     lane.mask);
    }
    return result;
  }

  Block &body;
  IterationSpace space;
  FoldPasses passes;
  int64_t vectorDim, length, vectors, blocks, units, unitsPerTile;
  SmallVector<int64_t> reducedDims, outerDims, outerBounds;
};
} // namespace

KernelPlan bessemer::cpu::planColumns(kern::ColumnsOp op,
                                      const CPUTarget &target) {
  auto emitter = std::make_shared<ColumnsEmitter>(op, target);
  return {emitter->getTiles(), 0,
          [emitter](KernelBuilder &k) { emitter->emit(k); }};
}
