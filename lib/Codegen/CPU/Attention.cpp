// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kern.attention. A tile is one batch and head, or some blocks of its queries
// where there are few heads. Keys are packed transposed and values as they are,
// once for the tiles of a call that share them. A block of queries meets all
// keys that it may see at once, so that the softmax is exact without rescaling;
// what causality hides is not computed, but for the last panel of keys.

#include "Approximations.h"
#include "AttentionParts.h"
#include <limits>

using namespace mlir;
using namespace bessemer;
using namespace bessemer::cpu;
using graph::StridedView;

namespace {
/// Tiles that suffice to share the work.
constexpr int64_t kEnoughTiles = 8;

class AttentionEmitter : public AttentionParts {
public:
  AttentionEmitter(kern::AttentionOp op, const CPUTarget &target)
      : AttentionParts(op, target), queryView(viewOf(op.getView(0))),
        keyView(viewOf(op.getView(1))), valueView(viewOf(op.getView(2))),
        hasMask(op.getMask()) {
    if (hasMask)
      maskView = viewOf(op.getView(3));
    resultView = viewOf(op.getView(hasMask ? 4 : 3));
    splits = std::min(blocks(),
                      (int64_t)llvm::divideCeil(kEnoughTiles, batch * heads));
    blocksPerTile = llvm::divideCeil(blocks(), splits);
    splits = llvm::divideCeil(blocks(), blocksPerTile);

    packedKeys = reserve(paddedKeys * depth.size);
    packedValues = reserve(keys * width.padded);
    queryBlock = reserve(kBlockRows * depth.padded);
    scoreBlock = reserve(kBlockRows * scoreStride);
    maxima = reserve(kBlockRows);
    sums = reserve(kBlockRows);
  }

  int64_t getTiles() const { return batch * heads * splits; }
  void emit(KernelBuilder &k);

private:
  /// One head of one image.
  struct Head {
    Val b, h, group;
  };
  void pack(KernelBuilder &k, const Head &head);
  void emitBlock(KernelBuilder &k, const Head &head, Val first, Val rows);
  void emitSoftmax(KernelBuilder &k, const Head &head, Val first, Val row,
                   Val visible);
  void finishRows(KernelBuilder &k, const Head &head, Val first, Val rows);

  StridedView queryView, keyView, valueView, maskView, resultView;
  bool hasMask;
  int64_t splits, blocksPerTile;
  /// Begins in scratch.
  int64_t packedKeys, packedValues, queryBlock, scoreBlock, maxima, sums;
  Val queryBuffer, keyBuffer, valueBuffer, maskBuffer, step, resultBuffer,
      lseBuffer;
};
} // namespace

void AttentionEmitter::emit(KernelBuilder &k) {
  unsigned buffer = 0;
  queryBuffer = k.buffer(buffer++);
  keyBuffer = k.buffer(buffer++);
  valueBuffer = k.buffer(buffer++);
  if (hasMask)
    maskBuffer = k.buffer(buffer++);
  if (hasDropout())
    step = k.buffer(buffer++);
  resultBuffer = k.buffer(buffer++);
  lseBuffer = k.buffer(buffer++);
  // The number of the group whose keys are packed goes from tile to tile.
  k.loop(k.tileBegin, k.tileEnd, 1, {k.i64(-1)},
         [&](Val tile, ArrayRef<Val> carried) {
           Val part = k.rem(tile, splits), number = k.div(tile, splits);
           Head head = {k.div(number, heads), k.rem(number, heads), nullptr};
           head.group = k.div(head.h, headsPerGroup());
           Val packed = k.add(k.mul(head.b, groups), head.group);
           k.ifThen(k.ir.CreateICmpNE(packed, carried[0]),
                    [&] { pack(k, head); });
           int64_t span = blocksPerTile * kBlockRows;
           Val begin = k.mul(part, span);
           Val end = k.min(k.add(begin, span), k.i64(queries));
           k.loop(begin, end, kBlockRows, [&](Val first) {
             Val rows = queries % kBlockRows == 0
                            ? k.i64(kBlockRows)
                            : k.min(k.i64(kBlockRows), k.sub(end, first));
             emitBlock(k, head, first, rows);
           });
           return Vals{packed};
         });
}

void AttentionEmitter::pack(KernelBuilder &k, const Head &head) {
  packKeys(k, at(k, keyBuffer, keyView, head.b, head.group, k.i64(0)),
           keyView.strides[2], depth.size, scratchAt(k, packedKeys));
  copyRows(k, at(k, valueBuffer, valueView, head.b, head.group, k.i64(0)),
           valueView.strides[2], k.i64(keys), width, scratchAt(k, packedValues),
           nullptr);
}

void AttentionEmitter::emitBlock(KernelBuilder &k, const Head &head, Val first,
                                 Val rows) {
  Val query = scratchAt(k, queryBlock), score = scratchAt(k, scoreBlock);
  Val visible = visibleToBlock(k, first, rows);
  copyRows(k, at(k, queryBuffer, queryView, head.b, head.h, first),
           queryView.strides[2], rows, depth, query, k.f32(scale));
  multiplyByKeys(k, query, depth.padded, depth.size, scratchAt(k, packedKeys),
                 rows, visible, score);
  k.loop(k.i64(0), rows, 1,
         [&](Val row) { emitSoftmax(k, head, first, row, visible); });
  finishRows(k, head, first, rows);

  Val result = at(k, resultBuffer, resultView, head.b, head.h, first);
  Val inverse = scratchAt(k, sums);
  bool isWhole = queries % kBlockRows == 0;
  multiplyRows(
      k, {score, scoreStride, 1, scratchAt(k, packedValues), rows, visible},
      width, nullptr, [&](Val row, Val column, Val value, Val mask) {
        auto storeRow = [&] {
          Val factor = k.load(k.ir.getFloatTy(), f32At(k, inverse, row));
          k.storeVector(k.ir.CreateFMul(value, k.broadcast(factor)),
                        f32At(k, result,
                              k.add(k.mul(row, resultView.strides[2]), column)),
                        mask);
        };
        k.ifThen(isWhole ? Val(k.ir.getTrue()) : k.lessThan(row, rows),
                 storeRow);
      });
}

/// exp(score - maximum) of one row, with its maximum and sum.
void AttentionEmitter::emitSoftmax(KernelBuilder &k, const Head &head,
                                   Val first, Val row, Val visible) {
  llvm::Type *f32 = k.ir.getFloatTy(), *vector = k.vectorOf(f32);
  Val query = k.add(first, row), seen = visibleToRow(k, query);
  Val scores = f32At(k, scratchAt(k, scoreBlock), k.mul(row, scoreStride));
  Val maskRow =
      hasMask ? at(k, maskBuffer, maskView, head.b, head.h, query) : nullptr;
  double infinity = std::numeric_limits<double>::infinity();
  Val lowest = k.splat(vector, -infinity), zero = k.splat(vector, 0.0);
  auto maximum = [&](Val a, Val b) { return k.maxKeepFirst(a, b); };
  Vals largest = k.vectorLoop(
      seen, 4, {lowest},
      [&](Val j, Val mask, ArrayRef<Val> carried) {
        Val address = f32At(k, scores, j);
        Val value = k.loadVector(f32, address, mask);
        if (hasMask) {
          value =
              k.ir.CreateFAdd(value, loadMask(k, maskRow, maskView, j, mask));
          k.storeVector(value, address, mask);
        }
        if (mask)
          value = k.select(mask, value, lowest);
        return Vals{maximum(carried[0], value)};
      },
      [&](ArrayRef<Val> a, ArrayRef<Val> b) {
        return Vals{maximum(a[0], b[0])};
      });
  Val most = k.reduceLanes(largest[0], maximum);
  // A row that sees nothing: any finite number gives probabilities of 0.
  most = k.select(k.ir.CreateFCmpOEQ(most, k.splat(f32, -infinity)), k.f32(0),
                  most);
  Val shift = k.broadcast(most), number = scoreNumber(k, head.b, head.h, query);
  auto add = [&](Val a, Val b) { return k.ir.CreateFAdd(a, b); };
  Vals total = k.vectorLoop(
      seen, hasDropout() ? 1 : 2, {zero},
      [&](Val j, Val mask, ArrayRef<Val> carried) {
        Val address = f32At(k, scores, j);
        Val value = buildExp(
            k, k.ir.CreateFSub(k.loadVector(f32, address, mask), shift));
        Val counted = mask ? k.select(mask, value, zero) : value;
        if (hasDropout())
          value = k.ir.CreateFMul(value, keptFactor(k, step, number, j));
        k.storeVector(value, address, mask);
        return Vals{add(carried[0], counted)};
      },
      [&](ArrayRef<Val> a, ArrayRef<Val> b) { return Vals{add(a[0], b[0])}; });
  k.store(most, f32At(k, scratchAt(k, maxima), row));
  k.store(k.reduceLanes(total[0], add), f32At(k, scratchAt(k, sums), row));
  if (isCausal)
    clear(k, scores, seen, visible);
}

/// lse and the inverse of the sums (in their place), a vector of rows at a
/// time.
void AttentionEmitter::finishRows(KernelBuilder &k, const Head &head, Val first,
                                  Val rows) {
  llvm::Type *f32 = k.ir.getFloatTy(), *vector = k.vectorOf(f32);
  Val lse =
      f32At(k, lseBuffer,
            k.add(k.mul(k.add(k.mul(head.b, heads), head.h), queries), first));
  k.vectorLoop(rows, 1, [&](Val row, Val mask) {
    Val address = f32At(k, scratchAt(k, sums), row);
    Val sum = k.loadVector(f32, address, mask);
    Val most = k.loadVector(f32, f32At(k, scratchAt(k, maxima), row), mask);
    k.storeVector(k.ir.CreateFAdd(most, buildLog(k, sum)), f32At(k, lse, row),
                  mask);
    Val one = k.splat(vector, 1.0);
    Val isNone = k.ir.CreateFCmpOEQ(sum, k.splat(vector, 0.0));
    k.storeVector(k.ir.CreateFDiv(one, k.select(isNone, one, sum)), address,
                  mask);
  });
}

KernelPlan bessemer::cpu::planAttention(kern::AttentionOp op,
                                        const CPUTarget &target) {
  auto emitter = std::make_shared<AttentionEmitter>(op, target);
  return {emitter->getTiles(), emitter->getScratchBytes(),
          [emitter](KernelBuilder &k) { emitter->emit(k); }};
}
