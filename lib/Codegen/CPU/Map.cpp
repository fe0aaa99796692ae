// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kern.map: the outer dimensions are one index, vectors run along the dimension
// where most accesses are contiguous. A tile is a number of outer indices, or a
// piece of the vector dimension when that is long. Where that dimension is
// short, as that of a block of channels, the innermost of the outer ones is a
// loop of its own, so that indices are not computed for each few elements.

#include "IterationSpace.h"
#include "RunTiling.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::cpu;

namespace {
class MapEmitter {
public:
  MapEmitter(kern::MapOp op, const CPUTarget &target)
      : body(op.getBody().front()), space(IterationSpace::get(op)) {
    vectorDim = space.pickVectorDim(/*amongReduced=*/false);
    length = vectorDim < 0 ? 1 : space.bounds[vectorDim];
    outerDims = space.dims(/*areReduced=*/false, vectorDim);
    constexpr int64_t shortRun = 64, enoughTiles = 8;
    if (vectorDim >= 0 && length <= shortRun && outerDims.size() > 1 &&
        space.size(ArrayRef(outerDims).drop_back()) >= enoughTiles)
      repeatedDim = outerDims.pop_back_val();
    for (int64_t dim : outerDims)
      outerBounds.push_back(space.bounds[dim]);
    tiling = RunTiling(space.size(outerDims), length, target.lanes,
                       repeatedDim < 0 ? 1 : space.bounds[repeatedDim]);
  }

  int64_t getTiles() const { return tiling.getTiles(); }

  void emit(KernelBuilder &k) {
    Position begin = Position::begin(k, space);
    tiling.forRuns(k, [&](Val run, Val first, Val count) {
      emitRun(k,
              vectorDim < 0 ? begin : begin.at(k, space, {vectorDim}, {first}),
              run, count);
    });
  }

private:
  /// `count` elements along the vector dimension at one outer index.
  void emitRun(KernelBuilder &k, const Position &begin, Val outerIndex,
               Val count) {
    Position position =
        begin.at(k, space, outerDims, k.delinearize(outerIndex, outerBounds));
    if (repeatedDim < 0)
      return emitVectors(k, position, count);
    k.loop(k.i64(0), k.i64(space.bounds[repeatedDim]), 1, [&](Val index) {
      emitVectors(k, position.at(k, space, {repeatedDim}, {index}), count);
    });
  }

  void emitVectors(KernelBuilder &k, const Position &position, Val count) {
    RegionEmitter outerScope(k, body);
    if (vectorDim < 0) {
      bindScalars(k, outerScope, space, position, {});
      return store(k, outerScope, position, nullptr);
    }
    bindScalars(k, outerScope, space, position, {vectorDim});
    outerScope.evaluateKnown();
    k.vectorLoop(count, chooseUnroll(countRegionOps(body)),
                 [&](Val j, Val mask) {
                   Position here = position.at(k, space, {vectorDim}, {j});
                   RegionEmitter scope(&outerScope);
                   bindVectors(k, scope, space, here, vectorDim, mask);
                   store(k, scope, here, mask);
                 });
  }

  void store(KernelBuilder &k, RegionEmitter &scope, const Position &position,
             Val mask) {
    // All values before the first store: results may lie over inputs.
    Vals values;
    for (Value value : body.getTerminator()->getOperands())
      values.push_back(scope.get(value));
    for (auto [i, access] : llvm::enumerate(space.results))
      k.storeElements(values[i], access.type, position.results[i],
                      vectorDim < 0 ? 0 : access.strides[vectorDim], mask);
  }

  Block &body;
  IterationSpace space;
  int64_t vectorDim, length, repeatedDim = -1;
  RunTiling tiling;
  SmallVector<int64_t> outerDims, outerBounds;
};
} // namespace

KernelPlan bessemer::cpu::planMap(kern::MapOp op, const CPUTarget &target) {
  auto emitter = std::make_shared<MapEmitter>(op, target);
  return {emitter->getTiles(), 0,
          [emitter](KernelBuilder &k) { emitter->emit(k); }};
}
