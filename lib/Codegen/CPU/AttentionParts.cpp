// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the kernels of attention and its gradient share.

#include "AttentionParts.h"
#include "ScalarOps.h"

using namespace bessemer;
using namespace bessemer::cpu;
using graph::StridedView;
using llvm::ArrayRef;

//===----------------------------------------------------------------------===//
// Geometry
//===----------------------------------------------------------------------===//

/// Rows of a register tile of `vectors` columns; a divisor of the block's.
static int64_t tileRows(int64_t lanes, int64_t vectors) {
  if (lanes == 8) // 16 registers
    return vectors == 1 ? 8 : 6;
  return vectors >= 4 ? 6 : vectors == 3 ? 8 : 12;
}

AttentionParts::Columns AttentionParts::makeColumns(int64_t size) const {
  Columns columns;
  int64_t vectors = llvm::divideCeil(size, lanes);
  columns.size = size;
  columns.panels = llvm::divideCeil(vectors, lanes == 8 ? 2 : 4);
  columns.vectors = llvm::divideCeil(vectors, columns.panels);
  columns.rows = tileRows(lanes, columns.vectors);
  columns.padded = columns.panels * columns.vectors * lanes;
  return columns;
}

void AttentionParts::chooseKeyPanels() {
  keyVectors =
      std::min(target.maxPanelVectors, (int64_t)llvm::divideCeil(keys, lanes));
  keyRows = tileRows(lanes, keyVectors);
  keyWidth = keyVectors * lanes;
  paddedKeys = llvm::alignTo(keys, keyWidth);
  // Not a multiple of a large power of two: rows would share sets of L1.
  scoreStride = llvm::alignTo(paddedKeys, 16) + 16;
}

int64_t AttentionParts::reserve(int64_t elements) {
  int64_t begin = scratchElements;
  scratchElements += llvm::alignTo(elements, 16);
  return begin;
}

Val AttentionParts::at(KernelBuilder &k, Val base, const StridedView &view,
                       Val b, Val h, Val row) const {
  Val offset =
      k.add(k.add(k.mul(b, view.strides[0]), k.mul(h, view.strides[1])),
            k.mul(row, view.strides[2]));
  return k.address(base, k.ir.getFloatTy(), offset, view.offset);
}

Val AttentionParts::visibleToBlock(KernelBuilder &k, Val first,
                                   Val rows) const {
  return isCausal ? k.min(k.i64(keys), k.add(first, rows)) : k.i64(keys);
}

Val AttentionParts::visibleToRow(KernelBuilder &k, Val query) const {
  return isCausal ? k.min(k.i64(keys), k.add(query, int64_t(1))) : k.i64(keys);
}

Val AttentionParts::scoreNumber(KernelBuilder &k, Val b, Val h,
                                Val query) const {
  return k.mul(k.add(k.mul(k.add(k.mul(b, heads), h), queries), query), keys);
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

void AttentionParts::packKeys(KernelBuilder &k, Val source, int64_t rowStride,
                              int64_t size, Val target) const {
  llvm::Type *f32 = k.ir.getFloatTy();
  Val zero = k.splat(k.vectorOf(f32), 0);
  auto columnOf = [&](Val key) {
    return f32At(k, target,
                 k.add(k.mul(k.div(key, keyWidth), keyWidth * size),
                       k.rem(key, keyWidth)));
  };
  // `count` keys from `key` on, at most a vector of them.
  auto packGroup = [&](Val key, int64_t count) {
    Val from = f32At(k, source, k.mul(key, rowStride)), to = columnOf(key);
    auto packSquare = [&](Val index, int64_t elements) {
      Vals rows;
      for (int64_t i = 0; i < lanes; ++i)
        rows.push_back(
            i < count
                ? k.loadVector(f32, k.address(from, f32, index, i * rowStride),
                               k.tailMask(elements))
                : zero);
      rows = k.transpose(rows);
      for (int64_t i = 0; i < elements; ++i)
        k.storeVector(rows[i],
                      k.address(to, f32, k.mul(index, keyWidth), i * keyWidth),
                      nullptr);
    };
    int64_t whole = size / lanes * lanes;
    k.loop(k.i64(0), k.i64(whole), lanes,
           [&](Val index) { packSquare(index, lanes); });
    if (whole < size)
      packSquare(k.i64(whole), size - whole);
  };
  int64_t whole = keys / lanes * lanes;
  k.loop(k.i64(0), k.i64(whole), lanes,
         [&](Val key) { packGroup(key, lanes); });
  if (whole < keys)
    packGroup(k.i64(whole), keys - whole);
  for (int64_t key = llvm::alignTo(keys, lanes); key < paddedKeys;
       key += lanes) {
    Val to = columnOf(k.i64(key));
    k.loop(k.i64(0), k.i64(size), 1, [&](Val index) {
      k.storeVector(zero, f32At(k, to, k.mul(index, keyWidth)), nullptr);
    });
  }
}

void AttentionParts::copyRows(KernelBuilder &k, Val source, int64_t rowStride,
                              Val rows, const Columns &columns, Val target,
                              Val factor) const {
  llvm::Type *f32 = k.ir.getFloatTy();
  k.loop(k.i64(0), rows, 1, [&](Val row) {
    Val from = f32At(k, source, k.mul(row, rowStride));
    Val to = f32At(k, target, k.mul(row, columns.padded));
    for (int64_t j = 0; j < columns.padded; j += lanes) {
      Val value = k.splat(k.vectorOf(f32), 0);
      if (j < columns.size)
        value = k.loadVector(f32, k.address(from, f32, j),
                             k.tailMask(columns.size - j));
      if (factor)
        value = k.ir.CreateFMul(value, k.broadcast(factor));
      k.storeVector(value, k.address(to, f32, j), nullptr);
    }
  });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

void AttentionParts::multiplyByKeys(KernelBuilder &k, Val a, int64_t aStride,
                                    int64_t size, Val panels, Val rows,
                                    Val visible, Val target) const {
  llvm::Type *f32 = k.ir.getFloatTy();
  Val count = k.div(k.add(visible, keyWidth - 1), keyWidth);
  k.loop(k.i64(0), count, 1, [&](Val panel) {
    Val b = f32At(k, panels, k.mul(panel, keyWidth * size));
    k.loop(k.i64(0), rows, keyRows, [&](Val row) {
      MicroKernel product = {f32At(k, a, k.mul(row, aStride)),
                             aStride,
                             /*aDepth=*/1,
                             b,
                             keyWidth,
                             keyRows,
                             keyVectors};
      Vals sums =
          product.emit(k, k.i64(size),
                       Vals(keyRows * keyVectors, k.splat(k.vectorOf(f32), 0)));
      Val to = f32At(k, target,
                     k.add(k.mul(row, scoreStride), k.mul(panel, keyWidth)));
      for (int64_t i = 0; i < keyRows; ++i)
        for (int64_t j = 0; j < keyVectors; ++j)
          k.storeVector(sums[i * keyVectors + j],
                        k.address(to, f32, i * scoreStride + j * lanes),
                        nullptr);
    });
  });
}

void AttentionParts::multiplyRows(KernelBuilder &k, const RowProduct &product,
                                  const Columns &columns, VectorAt load,
                                  StoreAt store) const {
  llvm::Type *f32 = k.ir.getFloatTy();
  int64_t panelWidth = columns.vectors * lanes;
  k.loop(k.i64(0), k.i64(columns.padded), panelWidth, [&](Val panel) {
    auto columnAt = [&](int64_t j) { return k.add(panel, j * lanes); };
    Vals masks;
    for (int64_t j = 0; j < columns.vectors; ++j)
      masks.push_back(
          columns.size == columns.padded
              ? nullptr
              : k.maskBelow(k.sub(k.i64(columns.size), columnAt(j))));
    k.loop(k.i64(0), product.rows, columns.rows, [&](Val row) {
      MicroKernel strip = {f32At(k, product.a, k.mul(row, product.aRow)),
                           product.aRow,
                           product.aDepth,
                           f32At(k, product.b, panel),
                           columns.padded,
                           columns.rows,
                           columns.vectors};
      Vals sums;
      for (int64_t i = 0; i < columns.rows; ++i)
        for (int64_t j = 0; j < columns.vectors; ++j)
          sums.push_back(load ? load(k.add(row, i), columnAt(j))
                              : k.splat(k.vectorOf(f32), 0));
      sums = strip.emit(k, product.depth, sums);
      for (int64_t i = 0; i < columns.rows; ++i)
        for (int64_t j = 0; j < columns.vectors; ++j)
          store(k.add(row, i), columnAt(j), sums[i * columns.vectors + j],
                masks[j]);
    });
  });
}

//===----------------------------------------------------------------------===//
// Rows of scores
//===----------------------------------------------------------------------===//

Val AttentionParts::loadMask(KernelBuilder &k, Val maskRow,
                             const StridedView &view, Val key,
                             Val lanesOn) const {
  llvm::Type *f32 = k.ir.getFloatTy();
  if (view.strides[3] == 0)
    return k.broadcast(k.load(f32, maskRow));
  return k.loadVector(f32, f32At(k, maskRow, key), lanesOn);
}

Val AttentionParts::keptFactor(KernelBuilder &k, Val step, Val row,
                               Val key) const {
  llvm::Type *f32 = k.ir.getFloatTy(), *vector = k.vectorOf(f32);
  Val element = k.ir.CreateAdd(k.broadcast(k.add(row, key)), k.iota(64));
  Val random = emitRandom(k, step, element, id, f32);
  Val keep = k.ir.CreateFCmpOGE(random, k.splat(vector, ratio));
  return k.select(keep, k.splat(vector, 1.0 / (1.0 - ratio)),
                  k.splat(vector, 0.0));
}

void AttentionParts::clear(KernelBuilder &k, Val row, Val from, Val to) const {
  llvm::Type *f32 = k.ir.getFloatTy();
  Val zero = k.splat(k.vectorOf(f32), 0);
  k.vectorLoop(k.sub(to, from), 1, [&](Val j, Val mask) {
    k.storeVector(zero, f32At(k, row, k.add(from, j)), mask);
  });
}
