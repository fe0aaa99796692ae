// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kern.gemm. A tile is a block of rows of the result times one panel of its
// columns. It packs its panel of B into scratch as [k][columns], once for all
// row blocks that a call computes in turn; A is read where it lies, one
// broadcast per multiplication, because its static strides become
// displacements. Accumulators stay in registers over all of K, or over blocks
// of it when K is large.

#include "Families.h"
#include "GemmEpilogue.h"
#include "IterationSpace.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::cpu;

namespace {
/// Rows of a tile: enough to pay for packing.
constexpr int64_t kBlockRows = 256;
/// K of a packed panel: it stays in L2.
constexpr int64_t kBlockDepth = 2048;

/// A panel's width: `vectors` vectors, the last with `last` columns.
struct PanelShape {
  int64_t vectors, last;
};

class GemmEmitter {
public:
  GemmEmitter(kern::GemmOp op, const CPUTarget &target);

  int64_t getTiles() const { return batch * panels * blocks; }
  uint64_t getScratchBytes() const {
    return 4 * (panelElements() + resultElements());
  }
  void emit(KernelBuilder &k);

private:
  int64_t panelElements() const {
    return isDirect ? 0 : blockDepth * panelVectors * lanes;
  }
  /// Accumulators in memory: all of a tile between blocks of K, or a strip on
  /// its way to an epilogue that is a loop.
  int64_t resultElements() const {
    int64_t rows = depthBlocks > 1 ? blockRows : needsStaging() ? tileRows : 0;
    return rows * panelVectors * lanes;
  }
  bool needsStaging() const { return !epilogue.isCheap(); }

  /// Where a tile reads and writes.
  struct Tile {
    Val batch, row, column, rows;
    PanelShape panel;
    /// A at (row, 0); B at (0, column); both in this batch.
    Val a, b;
  };

  void emitTile(KernelBuilder &k, const Tile &tile, Val isPacked);
  void packPanel(KernelBuilder &k, const Tile &tile, Val depthBegin, Val depth);
  void packTransposed(KernelBuilder &k, const Tile &tile, Val depthBegin,
                      Val depth);
  /// All rows of a tile over `depth` of K.
  void emitStrips(KernelBuilder &k, const Tile &tile, Val depthBegin,
                  Val depth);
  void emitStrip(KernelBuilder &k, const Tile &tile, Val row, int64_t rows,
                 Val depthBegin, Val depth);
  Vals multiply(KernelBuilder &k, const Tile &tile, Val a, Val b,
                int64_t bStride, int64_t rows, Val depth, Vals accumulators);

  Val columnMask(KernelBuilder &k, const Tile &tile, int64_t vector) {
    return vector + 1 == tile.panel.vectors ? k.tailMask(tile.panel.last)
                                            : nullptr;
  }

  kern::GemmOp op;
  GemmEpilogue epilogue;
  int64_t lanes, m, n, depthTotal, batch;
  /// Element strides of A (row, k) and B (k, column).
  int64_t aRow, aDepth, bDepth, bColumn;
  int64_t panelVectors, panels, tileRows, blocks, blockRows;
  int64_t depthBlocks, blockDepth;
  /// B is read where it lies: too few rows to pay for packing.
  bool isDirect;
  Val panelMemory, resultMemory;
};
} // namespace

GemmEmitter::GemmEmitter(kern::GemmOp op, const CPUTarget &target)
    : op(op), epilogue(op), lanes(target.lanes), m(op.getM()), n(op.getN()),
      depthTotal(op.getK()), batch(op.getBatch()) {
  aRow = op.getTransA() ? 1 : depthTotal;
  aDepth = op.getTransA() ? m : 1;
  bDepth = op.getTransB() ? 1 : n;
  bColumn = op.getTransB() ? depthTotal : 1;

  int64_t vectors = llvm::divideCeil(n, lanes);
  panelVectors = std::min(vectors, target.maxPanelVectors);
  if (vectors == 4) // Two equal panels rather than three vectors and one.
    panelVectors = 2;
  panels = llvm::divideCeil(vectors, panelVectors);
  tileRows = target.getTileRows(panelVectors);
  // Rows that are a multiple of 4 KiB apart share a set of an 8-way L1.
  if (aRow % 1024 == 0)
    tileRows = std::min<int64_t>(tileRows, 8);

  blocks = llvm::divideCeil(m, kBlockRows);
  // Work for several threads, unless a block would be too low to pay for
  // packing.
  while (batch * panels * blocks < 4 && m >= blocks * 4 * tileRows)
    ++blocks;
  blockRows = llvm::alignTo(llvm::divideCeil(m, blocks), tileRows);
  blocks = llvm::divideCeil(m, blockRows);
  depthBlocks = llvm::divideCeil(depthTotal, kBlockDepth);
  blockDepth =
      depthBlocks == 1
          ? depthTotal
          : llvm::alignTo(llvm::divideCeil(depthTotal, depthBlocks), 16);
  depthBlocks = llvm::divideCeil(depthTotal, blockDepth);
  isDirect = !op.getTransB() && m <= tileRows && depthBlocks == 1;
}

void GemmEmitter::emit(KernelBuilder &k) {
  llvm::Type *f32 = k.ir.getFloatTy();
  Val aBuffer = k.buffer(0u), bBuffer = k.buffer(1u);
  epilogue.begin(k);
  panelMemory = k.scratch;
  resultMemory = k.address(k.scratch, f32, panelElements());
  // The number of the panel in scratch goes from tile to tile.
  k.loop(k.tileBegin, k.tileEnd, 1, {k.i64(-1)},
         [&](Val index, ArrayRef<Val> carried) {
           Val number = k.div(index, blocks);
           Val panel = k.rem(number, panels);
           Tile tile;
           tile.batch = k.div(number, panels);
           tile.row = k.mul(k.rem(index, blocks), blockRows);
           tile.column = k.mul(panel, panelVectors * lanes);
           tile.rows = blocks == 1
                           ? k.i64(m)
                           : k.min(k.i64(blockRows), k.sub(k.i64(m), tile.row));
           tile.a = k.address(
               aBuffer, f32,
               k.add(k.mul(tile.batch, m * depthTotal), k.mul(tile.row, aRow)));
           tile.b = k.address(bBuffer, f32,
                              k.add(k.mul(tile.batch, n * depthTotal),
                                    k.mul(tile.column, bColumn)));
           Val isPacked = k.ir.CreateICmpEQ(number, carried[0]);

           int64_t width = panelVectors * lanes, full = n / width;
           Val isFull = k.lessThan(panel, k.i64(full));
           if (full) {
             tile.panel = {panelVectors, lanes};
             k.ifThen(full == panels ? Val(k.ir.getTrue()) : isFull,
                      [&] { emitTile(k, tile, isPacked); });
           }
           if (full < panels) {
             int64_t columns = n - full * width;
             int64_t vectors = llvm::divideCeil(columns, lanes);
             tile.panel = {vectors, columns - (vectors - 1) * lanes};
             k.ifThen(full ? k.ir.CreateNot(isFull) : Val(k.ir.getTrue()),
                      [&] { emitTile(k, tile, isPacked); });
           }
           return Vals{number};
         });
}

void GemmEmitter::emitTile(KernelBuilder &k, const Tile &tile, Val isPacked) {
  if (depthBlocks == 1) {
    Val depth = k.i64(depthTotal);
    if (!isDirect)
      k.ifThen(k.ir.CreateNot(isPacked),
               [&] { packPanel(k, tile, k.i64(0), depth); });
    emitStrips(k, tile, k.i64(0), depth);
    return;
  }
  k.loop(k.i64(0), k.i64(depthTotal), blockDepth, [&](Val begin) {
    Val depth = k.min(k.i64(blockDepth), k.sub(k.i64(depthTotal), begin));
    packPanel(k, tile, begin, depth);
    emitStrips(k, tile, begin, depth);
  });
  epilogue.emitRows(k, {tile.batch, tile.row, tile.column}, resultMemory,
                    tile.rows, tile.panel.vectors, tile.panel.last);
}

void GemmEmitter::packPanel(KernelBuilder &k, const Tile &tile, Val depthBegin,
                            Val depth) {
  if (op.getTransB())
    return packTransposed(k, tile, depthBegin, depth);
  llvm::Type *f32 = k.ir.getFloatTy();
  Val from = k.address(tile.b, f32, k.mul(depthBegin, bDepth));
  k.loop(k.i64(0), depth, 1, [&](Val index) {
    Val source = k.address(from, f32, k.mul(index, bDepth));
    Val target =
        k.address(panelMemory, f32, k.mul(index, tile.panel.vectors * lanes));
    // Masked loads give zeros beyond the last column.
    for (int64_t j = 0; j < tile.panel.vectors; ++j)
      k.storeVector(k.loadVector(f32, k.address(source, f32, j * lanes),
                                 columnMask(k, tile, j)),
                    k.address(target, f32, j * lanes), nullptr);
  });
}

void GemmEmitter::packTransposed(KernelBuilder &k, const Tile &tile,
                                 Val depthBegin, Val depth) {
  llvm::Type *f32 = k.ir.getFloatTy();
  int64_t width = tile.panel.vectors * lanes;
  Val from = k.address(tile.b, f32, depthBegin);
  // `count` of lanes() values of k, from `index` on.
  auto packSquare = [&](Val index, int64_t count) {
    Val source = k.address(from, f32, index);
    Val target = k.address(panelMemory, f32, k.mul(index, width));
    for (int64_t j = 0; j < tile.panel.vectors; ++j) {
      int64_t columns = j + 1 == tile.panel.vectors ? tile.panel.last : lanes;
      Vals rows;
      for (int64_t i = 0; i < lanes; ++i)
        rows.push_back(i < columns
                           ? k.loadVector(f32,
                                          k.address(source, f32,
                                                    (j * lanes + i) * bColumn),
                                          k.tailMask(count))
                           : k.splat(k.vectorOf(f32), 0));
      rows = k.transpose(rows);
      for (int64_t i = 0; i < count; ++i)
        k.storeVector(rows[i], k.address(target, f32, i * width + j * lanes),
                      nullptr);
    }
  };
  int64_t rest = depthTotal % lanes;
  Val main = k.mul(k.div(depth, lanes), lanes);
  k.loop(k.i64(0), main, lanes, [&](Val index) { packSquare(index, lanes); });
  // Only the last block of K has a rest.
  if (rest)
    k.ifThen(k.lessThan(main, depth), [&] { packSquare(main, rest); });
}

void GemmEmitter::emitStrips(KernelBuilder &k, const Tile &tile, Val depthBegin,
                             Val depth) {
  Val full = k.mul(k.div(tile.rows, tileRows), tileRows);
  k.loop(k.i64(0), full, tileRows, [&](Val row) {
    emitStrip(k, tile, row, tileRows, depthBegin, depth);
  });
  // Blocks are whole strips, but for the end of the last one.
  if (int64_t rest = m % tileRows)
    k.ifThen(k.lessThan(full, tile.rows),
             [&] { emitStrip(k, tile, full, rest, depthBegin, depth); });
}

void GemmEmitter::emitStrip(KernelBuilder &k, const Tile &tile, Val row,
                            int64_t rows, Val depthBegin, Val depth) {
  llvm::Type *f32 = k.ir.getFloatTy();
  int64_t vectors = tile.panel.vectors, width = vectors * lanes;
  Val a = k.address(tile.a, f32,
                    k.add(k.mul(row, aRow), k.mul(depthBegin, aDepth)));
  Vals accumulators(rows * vectors, k.splat(k.vectorOf(f32), 0));
  Val b = isDirect ? tile.b : panelMemory;
  int64_t bStride = isDirect ? bDepth : width;

  Val staged = depthBlocks > 1 ? k.address(resultMemory, f32, k.mul(row, width))
                               : resultMemory;
  auto stagedAt = [&](int64_t i, int64_t j) {
    return k.address(staged, f32, i * width + j * lanes);
  };
  if (depthBlocks > 1) {
    Val isFirst = k.ir.CreateICmpEQ(depthBegin, k.i64(0));
    Val zero = accumulators[0];
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < vectors; ++j)
        accumulators[i * vectors + j] = k.ir.CreateSelect(
            isFirst, zero, k.loadVector(f32, stagedAt(i, j), nullptr));
  }
  accumulators = multiply(k, tile, a, b, bStride, rows, depth, accumulators);
  if (depthBlocks > 1 || needsStaging()) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < vectors; ++j)
        k.storeVector(accumulators[i * vectors + j], stagedAt(i, j), nullptr);
    if (depthBlocks == 1)
      epilogue.emitRows(k, {tile.batch, k.add(tile.row, row), tile.column},
                        staged, k.i64(rows), vectors, tile.panel.last);
    return;
  }
  epilogue.emitStrip(k, {tile.batch, k.add(tile.row, row), tile.column},
                     accumulators, rows, vectors, tile.panel.last);
}

Vals GemmEmitter::multiply(KernelBuilder &k, const Tile &tile, Val a, Val b,
                           int64_t bStride, int64_t rows, Val depth,
                           Vals accumulators) {
  llvm::Type *f32 = k.ir.getFloatTy();
  int64_t vectors = tile.panel.vectors;
  auto step = [&](Val index, int64_t count, Vals sums) {
    Val aHere = k.address(a, f32, k.mul(index, aDepth));
    Val bHere = k.address(b, f32, k.mul(index, bStride));
    for (int64_t u = 0; u < count; ++u) {
      Vals columns;
      for (int64_t j = 0; j < vectors; ++j)
        columns.push_back(
            k.loadVector(f32, k.address(bHere, f32, u * bStride + j * lanes),
                         isDirect ? columnMask(k, tile, j) : nullptr));
      for (int64_t i = 0; i < rows; ++i) {
        Val factor = k.broadcast(
            k.load(f32, k.address(aHere, f32, i * aRow + u * aDepth)));
        for (int64_t j = 0; j < vectors; ++j) {
          Val &sum = sums[i * vectors + j];
          sum = k.fma(factor, columns[j], sum);
        }
      }
    }
    return sums;
  };
  // Around 48 multiplications per iteration: more would not run faster.
  int64_t unroll = rows * vectors >= 16 ? 2 : 4;
  Val main = k.mul(k.div(depth, unroll), unroll);
  accumulators = k.loop(k.i64(0), main, unroll, accumulators,
                        [&](Val index, ArrayRef<Val> carried) {
                          return step(index, unroll, Vals(carried));
                        });
  return k.loop(main, depth, 1, accumulators,
                [&](Val index, ArrayRef<Val> carried) {
                  return step(index, 1, Vals(carried));
                });
}

KernelPlan bessemer::cpu::planGemm(kern::GemmOp op, const CPUTarget &target) {
  auto emitter = std::make_shared<GemmEmitter>(op, target);
  return {emitter->getTiles(), emitter->getScratchBytes(),
          [emitter](KernelBuilder &k) { emitter->emit(k); }};
}
