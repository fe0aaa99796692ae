// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a streaming kernel shares its work: a tile is a number of runs of equal
// length, or a piece of one when that is long.

#ifndef BESSEMER_LIB_CODEGEN_CPU_RUNTILING_H
#define BESSEMER_LIB_CODEGEN_CPU_RUNTILING_H

#include "Families.h"

namespace bessemer::cpu {

class RunTiling {
public:
  RunTiling() = default;
  /// Each run is done `repeats` times, in other places.
  RunTiling(int64_t runs, int64_t length, int64_t lanes, int64_t repeats = 1)
      : runs(runs), length(length) {
    // Pieces are whole vectors, of even size.
    pieces = llvm::divideCeil(length, 2 * kTileElements);
    pieceLength = llvm::alignTo(llvm::divideCeil(length, pieces), lanes * 4);
    pieces = llvm::divideCeil(length, pieceLength);
    runsPerTile =
        pieces > 1 ? 1
                   : std::max<int64_t>(1, kTileElements / (length * repeats));
  }

  int64_t getTiles() const {
    return pieces * llvm::divideCeil(runs, runsPerTile);
  }

  /// Runs `body` for each run, or piece of a run, of the call's tiles: the
  /// elements [first, first + count) of run `run`.
  void
  forRuns(KernelBuilder &k,
          llvm::function_ref<void(Val run, Val first, Val count)> body) const {
    k.forTiles([&](Val tile) {
      if (pieces > 1) {
        Val first = k.mul(k.rem(tile, pieces), pieceLength);
        Val count = length % pieceLength
                        ? k.min(k.i64(pieceLength), k.sub(k.i64(length), first))
                        : k.i64(pieceLength);
        return body(k.div(tile, pieces), first, count);
      }
      Val begin = k.mul(tile, runsPerTile);
      Val end = k.min(k.add(begin, runsPerTile), k.i64(runs));
      k.loop(begin, end, 1,
             [&](Val run) { body(run, k.i64(0), k.i64(length)); });
    });
  }

private:
  int64_t runs, length, pieces, pieceLength, runsPerTile;
};

} // namespace bessemer::cpu

#endif // BESSEMER_LIB_CODEGEN_CPU_RUNTILING_H
