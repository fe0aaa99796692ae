// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kern.gemm. A tile is a block of rows of the result times a group of panels of
// its columns. It packs its panels of B into scratch as [k][columns], once for
// all row blocks that a call computes in turn. A is read where it lies, one
// broadcast per multiplication, because its static strides become
// displacements; only a transposed A whose rows lie unluckily is copied into
// scratch as well. Accumulators stay in registers over all of K, or over blocks
// of it when K is large.

#include "Families.h"
#include "GemmEpilogue.h"
#include "IterationSpace.h"
#include "MicroKernel.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::cpu;

namespace {
/// Rows of a tile: enough to pay for packing.
constexpr int64_t kBlockRows = 256;
/// K of a packed panel: it stays in L2.
constexpr int64_t kBlockDepth = 2048;
/// Columns of a group of panels: rows of B are read by several cache lines.
constexpr int64_t kGroupColumns = 48;

class GemmEmitter {
public:
  GemmEmitter(kern::GemmOp op, const CPUTarget &target);

  int64_t getTiles() const { return batch * groups * blocks; }
  uint64_t getScratchBytes() const {
    return 4 *
           (groupPanels * panelElements() + resultElements() + copyElements());
  }
  void emit(KernelBuilder &k);

private:
  int64_t width() const { return panelVectors * lanes; }
  int64_t panelElements() const { return isDirect ? 0 : blockDepth * width(); }
  /// Accumulators in memory: all of a tile between blocks of K, or a strip on
  /// its way to an epilogue that is a loop.
  int64_t resultElements() const {
    if (depthBlocks > 1)
      return groupPanels * blockRows * width();
    return needsStaging() ? tileRows * width() : 0;
  }
  bool needsStaging() const { return !epilogue.isCheap(); }
  /// Row length of the copy of A: not a multiple of a large power of two.
  int64_t copyStride() const { return llvm::alignTo(blockRows, 32) + 16; }
  int64_t copyElements() const {
    return copiesRows ? blockDepth * copyStride() : 0;
  }

  /// Where a tile reads and writes.
  struct Tile {
    Val batch, row, rows;
    /// A at (row, 0) in this batch; B of this batch.
    Val a, b;
    /// The first panel, and how many full ones there are.
    Val firstPanel, fullPanels;
  };
  /// One panel of a tile: `vectors` vectors, the last with `last` columns.
  struct Panel {
    int64_t vectors, last;
    /// Its number in the tile and its first column.
    Val index, column;
  };
  Panel fullPanel(KernelBuilder &k, const Tile &tile, Val index) {
    return {panelVectors, lanes, index,
            k.mul(k.add(tile.firstPanel, index), width())};
  }
  /// Runs `body` for the panels of a tile: the full ones in a loop, and the
  /// narrow last one.
  void forPanels(KernelBuilder &k, const Tile &tile,
                 llvm::function_ref<void(const Panel &)> body);

  void emitTile(KernelBuilder &k, const Tile &tile, Val isPacked);
  void packPanels(KernelBuilder &k, const Tile &tile, Val depthBegin,
                  Val depth);
  void packRow(KernelBuilder &k, const Tile &tile, const Panel &panel,
               Val depthBegin, Val index);
  void packTransposed(KernelBuilder &k, const Tile &tile, const Panel &panel,
                      Val depthBegin, Val depth);
  /// All rows of a tile over `depth` of K.
  void emitStrips(KernelBuilder &k, const Tile &tile, Val depthBegin,
                  Val depth);
  /// `a` is the strip of A.
  void emitStrip(KernelBuilder &k, const Tile &tile, const Panel &panel, Val a,
                 Val row, int64_t rows, Val depthBegin, Val depth);
  /// Copies a tile's rows of a transposed A, as they lie.
  void copyRows(KernelBuilder &k, const Tile &tile, Val depthBegin, Val depth);

  Val memoryOf(KernelBuilder &k, const Panel &panel) {
    return k.address(panelMemory, k.ir.getFloatTy(),
                     k.mul(panel.index, panelElements()));
  }
  Val resultOf(KernelBuilder &k, const Panel &panel) {
    return k.address(resultMemory, k.ir.getFloatTy(),
                     k.mul(panel.index, blockRows * width()));
  }
  Val columnMask(KernelBuilder &k, const Panel &panel, int64_t vector) {
    return vector + 1 == panel.vectors ? k.tailMask(panel.last) : nullptr;
  }

  kern::GemmOp op;
  GemmEpilogue epilogue;
  int64_t lanes, m, n, depthTotal, batch;
  /// Element strides of A (row, k) and B (k, column).
  int64_t aRow, aDepth, bDepth, bColumn;
  int64_t panelVectors, panels, groupPanels, groups;
  int64_t tileRows, blocks, blockRows;
  int64_t depthBlocks, blockDepth;
  /// B is read where it lies: too few rows to pay for packing.
  bool isDirect;
  /// Rows of a transposed A a multiple of 2 KiB apart share few sets of L1: a
  /// strip would be fetched from L2 for every panel. Groups then vary fastest,
  /// so that the copy serves several tiles.
  bool copiesRows;
  Val panelMemory, resultMemory, copyMemory;
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
  // Two equal panels rather than three vectors and one.
  if (vectors == 4 && panelVectors == 3)
    panelVectors = 2;
  panels = llvm::divideCeil(vectors, panelVectors);
  groupPanels =
      std::max<int64_t>(1, std::min(panels / 4, kGroupColumns / width()));
  groups = llvm::divideCeil(panels, groupPanels);
  tileRows = target.getTileRows(panelVectors);
  // Rows that are a multiple of 4 KiB apart share a set of an 8-way L1.
  if (aRow % 1024 == 0)
    tileRows = std::min<int64_t>(tileRows, 8);

  copiesRows = op.getTransA() && aDepth % 512 == 0 && groupPanels > 1;
  blocks = llvm::divideCeil(m, kBlockRows);
  // Work for several threads, unless a block would be too low to pay for
  // packing.
  while (batch * groups * blocks < 4 && m >= blocks * 4 * tileRows)
    ++blocks;
  blockRows = llvm::alignTo(llvm::divideCeil(m, blocks), tileRows);
  blocks = llvm::divideCeil(m, blockRows);
  depthBlocks = llvm::divideCeil(depthTotal, kBlockDepth);
  blockDepth =
      depthBlocks == 1
          ? depthTotal
          : llvm::alignTo(llvm::divideCeil(depthTotal, depthBlocks), 16);
  depthBlocks = llvm::divideCeil(depthTotal, blockDepth);
  isDirect = !op.getTransB() && m <= 2 * tileRows && depthBlocks == 1;
}

void GemmEmitter::emit(KernelBuilder &k) {
  llvm::Type *f32 = k.ir.getFloatTy();
  Val aBuffer = k.buffer(0u), bBuffer = k.buffer(1u);
  epilogue.begin(k);
  panelMemory = k.scratch;
  resultMemory = k.address(k.scratch, f32, groupPanels * panelElements());
  copyMemory = k.address(resultMemory, f32, resultElements());
  // The number of the group (or copied block) in scratch goes from tile to
  // tile.
  k.loop(k.tileBegin, k.tileEnd, 1, {k.i64(-1)},
         [&](Val index, ArrayRef<Val> carried) {
           int64_t inner = copiesRows ? groups : blocks;
           int64_t outer = copiesRows ? blocks : groups;
           Val number = k.div(index, inner);
           Val group = k.rem(copiesRows ? index : number, groups);
           Tile tile;
           tile.batch = k.div(number, outer);
           tile.row =
               k.mul(k.rem(copiesRows ? number : index, blocks), blockRows);
           tile.rows = blocks == 1
                           ? k.i64(m)
                           : k.min(k.i64(blockRows), k.sub(k.i64(m), tile.row));
           tile.a = k.address(
               aBuffer, f32,
               k.add(k.mul(tile.batch, m * depthTotal), k.mul(tile.row, aRow)));
           tile.b = k.address(bBuffer, f32, k.mul(tile.batch, n * depthTotal));
           tile.firstPanel = k.mul(group, groupPanels);
           int64_t full = n / width();
           tile.fullPanels = full % groupPanels == 0 && full == panels
                                 ? k.i64(groupPanels)
                                 : k.min(k.i64(groupPanels),
                                         k.sub(k.i64(full), tile.firstPanel));
           emitTile(k, tile, k.ir.CreateICmpEQ(number, carried[0]));
           return Vals{number};
         });
}

void GemmEmitter::forPanels(KernelBuilder &k, const Tile &tile,
                            llvm::function_ref<void(const Panel &)> body) {
  int64_t full = n / width();
  if (full)
    k.loop(k.i64(0), tile.fullPanels, 1,
           [&](Val index) { body(fullPanel(k, tile, index)); });
  if (full == panels)
    return;
  int64_t columns = n - full * width();
  int64_t vectors = llvm::divideCeil(columns, lanes);
  Val isLast =
      k.ir.CreateICmpEQ(k.div(tile.firstPanel, groupPanels), k.i64(groups - 1));
  Panel panel = {vectors, columns - (vectors - 1) * lanes, tile.fullPanels,
                 k.i64(full * width())};
  k.ifThen(groups == 1 ? Val(k.ir.getTrue()) : isLast, [&] { body(panel); });
}

void GemmEmitter::emitTile(KernelBuilder &k, const Tile &tile, Val isPacked) {
  if (depthBlocks == 1) {
    Val depth = k.i64(depthTotal);
    Val isNew = k.ir.CreateNot(isPacked);
    if (copiesRows)
      k.ifThen(isNew, [&] { copyRows(k, tile, k.i64(0), depth); });
    if (!isDirect)
      k.ifThen(copiesRows ? k.ir.getTrue() : isNew,
               [&] { packPanels(k, tile, k.i64(0), depth); });
    emitStrips(k, tile, k.i64(0), depth);
    return;
  }
  k.loop(k.i64(0), k.i64(depthTotal), blockDepth, [&](Val begin) {
    Val depth = k.min(k.i64(blockDepth), k.sub(k.i64(depthTotal), begin));
    packPanels(k, tile, begin, depth);
    if (copiesRows)
      copyRows(k, tile, begin, depth);
    emitStrips(k, tile, begin, depth);
  });
  forPanels(k, tile, [&](const Panel &panel) {
    epilogue.emitRows(k, {tile.batch, tile.row, panel.column},
                      resultOf(k, panel), tile.rows, panel.vectors, panel.last);
  });
}

void GemmEmitter::packPanels(KernelBuilder &k, const Tile &tile, Val depthBegin,
                             Val depth) {
  if (op.getTransB())
    return forPanels(k, tile, [&](const Panel &panel) {
      packTransposed(k, tile, panel, depthBegin, depth);
    });
  // Row by row through all panels, as B lies in memory.
  k.loop(k.i64(0), depth, 1, [&](Val index) {
    forPanels(k, tile, [&](const Panel &panel) {
      packRow(k, tile, panel, depthBegin, index);
    });
  });
}

void GemmEmitter::packRow(KernelBuilder &k, const Tile &tile,
                          const Panel &panel, Val depthBegin, Val index) {
  llvm::Type *f32 = k.ir.getFloatTy();
  Val source =
      k.address(tile.b, f32,
                k.add(k.mul(k.add(depthBegin, index), bDepth), panel.column));
  Val target =
      k.address(memoryOf(k, panel), f32, k.mul(index, panel.vectors * lanes));
  // Masked loads give zeros beyond the last column.
  for (int64_t j = 0; j < panel.vectors; ++j)
    k.storeVector(k.loadVector(f32, k.address(source, f32, j * lanes),
                               columnMask(k, panel, j)),
                  k.address(target, f32, j * lanes), nullptr);
}

void GemmEmitter::packTransposed(KernelBuilder &k, const Tile &tile,
                                 const Panel &panel, Val depthBegin,
                                 Val depth) {
  llvm::Type *f32 = k.ir.getFloatTy();
  int64_t panelWidth = panel.vectors * lanes;
  Val from =
      k.address(tile.b, f32, k.add(k.mul(panel.column, bColumn), depthBegin));
  Val to = memoryOf(k, panel);
  // `count` values of k from `index` on, of `columns` columns from `column` on;
  // both at most lanes().
  auto packSquare = [&](Val index, int64_t count, Val column, int64_t columns) {
    Val source = k.address(from, f32, k.add(index, k.mul(column, bColumn)));
    Val target = k.address(to, f32, k.add(k.mul(index, panelWidth), column));
    Vals rows;
    for (int64_t i = 0; i < lanes; ++i)
      rows.push_back(
          i < columns ? k.loadVector(f32, k.address(source, f32, i * bColumn),
                                     k.tailMask(count))
                      : k.splat(k.vectorOf(f32), 0));
    rows = k.transpose(rows);
    for (int64_t i = 0; i < count; ++i)
      k.storeVector(rows[i], k.address(target, f32, i * panelWidth), nullptr);
  };
  auto packSquares = [&](Val index, int64_t count) {
    int64_t full = panel.last == lanes ? panelWidth : panelWidth - lanes;
    k.loop(k.i64(0), k.i64(full), lanes,
           [&](Val column) { packSquare(index, count, column, lanes); });
    if (panel.last < lanes)
      packSquare(index, count, k.i64(full), panel.last);
  };
  int64_t rest = depthTotal % lanes;
  Val main = k.mul(k.div(depth, lanes), lanes);
  k.loop(k.i64(0), main, lanes, [&](Val index) { packSquares(index, lanes); });
  // Only the last block of K has a rest.
  if (rest)
    k.ifThen(k.lessThan(main, depth), [&] { packSquares(main, rest); });
}

void GemmEmitter::emitStrips(KernelBuilder &k, const Tile &tile, Val depthBegin,
                             Val depth) {
  // The panels inside: a strip of A stays in L1.
  auto strip = [&](Val row, int64_t rows) {
    llvm::Type *f32 = k.ir.getFloatTy();
    Val a = copiesRows
                ? k.address(copyMemory, f32, row)
                : k.address(tile.a, f32,
                            k.add(k.mul(row, aRow), k.mul(depthBegin, aDepth)));
    forPanels(k, tile, [&](const Panel &panel) {
      emitStrip(k, tile, panel, a, row, rows, depthBegin, depth);
    });
  };
  Val full = k.mul(k.div(tile.rows, tileRows), tileRows);
  k.loop(k.i64(0), full, tileRows, [&](Val row) { strip(row, tileRows); });
  // Blocks are whole strips, but for the end of the last one.
  if (int64_t rest = m % tileRows)
    k.ifThen(k.lessThan(full, tile.rows), [&] { strip(full, rest); });
}

void GemmEmitter::copyRows(KernelBuilder &k, const Tile &tile, Val depthBegin,
                           Val depth) {
  llvm::Type *f32 = k.ir.getFloatTy();
  k.loop(k.i64(0), depth, 1, [&](Val index) {
    Val source =
        k.address(tile.a, f32, k.mul(k.add(depthBegin, index), aDepth));
    Val target = k.address(copyMemory, f32, k.mul(index, copyStride()));
    k.vectorLoop(tile.rows, 4, [&](Val j, Val mask) {
      k.storeVector(k.loadVector(f32, k.address(source, f32, j), mask),
                    k.address(target, f32, j), mask);
    });
  });
}

void GemmEmitter::emitStrip(KernelBuilder &k, const Tile &tile,
                            const Panel &panel, Val a, Val row, int64_t rows,
                            Val depthBegin, Val depth) {
  llvm::Type *f32 = k.ir.getFloatTy();
  int64_t vectors = panel.vectors, panelWidth = vectors * lanes;
  Vals accumulators(rows * vectors, k.splat(k.vectorOf(f32), 0));
  Val b = isDirect ? k.address(tile.b, f32, panel.column) : memoryOf(k, panel);
  int64_t bStride = isDirect ? bDepth : panelWidth;

  Val staged = depthBlocks > 1
                   ? k.address(resultOf(k, panel), f32, k.mul(row, panelWidth))
                   : resultMemory;
  auto stagedAt = [&](int64_t i, int64_t j) {
    return k.address(staged, f32, i * panelWidth + j * lanes);
  };
  if (depthBlocks > 1) {
    Val isFirst = k.ir.CreateICmpEQ(depthBegin, k.i64(0));
    Val zero = accumulators[0];
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < vectors; ++j)
        accumulators[i * vectors + j] = k.ir.CreateSelect(
            isFirst, zero, k.loadVector(f32, stagedAt(i, j), nullptr));
  }
  MicroKernel product = {
      a, aRow, copiesRows ? copyStride() : aDepth, b, bStride, rows, vectors};
  if (isDirect)
    product.lastMask = columnMask(k, panel, vectors - 1);
  accumulators = product.emit(k, depth, accumulators);
  std::array<Val, 3> origin = {tile.batch, k.add(tile.row, row), panel.column};
  if (depthBlocks > 1 || needsStaging()) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < vectors; ++j)
        k.storeVector(accumulators[i * vectors + j], stagedAt(i, j), nullptr);
    if (depthBlocks == 1)
      epilogue.emitRows(k, origin, staged, k.i64(rows), vectors, panel.last);
    return;
  }
  epilogue.emitStrip(k, origin, accumulators, rows, vectors, panel.last);
}

KernelPlan bessemer::cpu::planGemm(kern::GemmOp op, const CPUTarget &target) {
  auto emitter = std::make_shared<GemmEmitter>(op, target);
  return {emitter->getTiles(), emitter->getScratchBytes(),
          [emitter](KernelBuilder &k) { emitter->emit(k); }};
}
