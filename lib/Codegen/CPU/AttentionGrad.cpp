// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kern.attention_grad. A tile is one batch and group of heads: it adds up dk
// and dv in scratch, over the heads of the group and their blocks of queries in
// order, so that the sums do not depend on threads. Probabilities are computed
// again from the scores and lse.

#include "Approximations.h"
#include "AttentionParts.h"
#include <limits>

using namespace mlir;
using namespace bessemer;
using namespace bessemer::cpu;
using graph::StridedView;

namespace {
class AttentionGradEmitter : public AttentionParts {
public:
  AttentionGradEmitter(kern::AttentionGradOp op, const CPUTarget &target)
      : AttentionParts(op, target), hasMask(op.getMask()) {
    unsigned view = 0;
    queryView = viewOf(op.getView(view++));
    keyView = viewOf(op.getView(view++));
    valueView = viewOf(op.getView(view++));
    resultView = viewOf(op.getView(view++));
    slopeView = viewOf(op.getView(view++));
    if (hasMask)
      maskView = viewOf(op.getView(view++));
    for (StridedView &gradient : gradientViews)
      gradient = viewOf(op.getView(view++));
    into.assign(op.getInto().begin(), op.getInto().end());

    // Strips of keys may reach beyond the last key.
    int64_t stripKeys = llvm::alignTo(keys, kBlockRows);
    transposedKeys = reserve(paddedKeys * depth.size);
    transposedValues = reserve(paddedKeys * width.size);
    keyRowsAt = reserve(keys * depth.padded);
    keySums = reserve(stripKeys * depth.padded);
    valueSums = reserve(stripKeys * width.padded);
    queryBlock = reserve(kBlockRows * depth.padded);
    slopeBlock = reserve(kBlockRows * width.padded);
    scoreBlock = reserve(kBlockRows * scoreStride + kBlockRows);
    productBlock = reserve(kBlockRows * scoreStride + kBlockRows);
  }

  int64_t getTiles() const { return batch * groups; }
  void emit(KernelBuilder &k);

private:
  void emitGroup(KernelBuilder &k, Val b, Val group);
  void emitBlock(KernelBuilder &k, Val b, Val h, Val first, Val rows);
  void emitRow(KernelBuilder &k, Val b, Val h, Val first, Val row, Val cleared);
  Val rowProduct(KernelBuilder &k, Val a, Val b) const;
  void addToKeys(KernelBuilder &k, Val weights, Val right,
                 const Columns &columns, Val rows, Val visible, Val sums) const;
  void storeSums(KernelBuilder &k, Val sums, const Columns &columns,
                 unsigned gradient, Val b, Val group);

  bool hasMask;
  StridedView queryView, keyView, valueView, resultView, slopeView, maskView;
  /// Of dq, dk, dv, and the results that they go to.
  std::array<StridedView, 3> gradientViews;
  SmallVector<int64_t> into;
  /// Begins in scratch.
  int64_t transposedKeys, transposedValues, keyRowsAt, keySums, valueSums,
      queryBlock, slopeBlock, scoreBlock, productBlock;
  Val queryBuffer, keyBuffer, valueBuffer, resultBuffer, lseBuffer, slopeBuffer,
      maskBuffer, step;
  std::array<Val, 3> gradientBuffers;
};
} // namespace

void AttentionGradEmitter::emit(KernelBuilder &k) {
  unsigned buffer = 0;
  queryBuffer = k.buffer(buffer++);
  keyBuffer = k.buffer(buffer++);
  valueBuffer = k.buffer(buffer++);
  resultBuffer = k.buffer(buffer++);
  lseBuffer = k.buffer(buffer++);
  slopeBuffer = k.buffer(buffer++);
  if (hasMask)
    maskBuffer = k.buffer(buffer++);
  if (hasDropout())
    step = k.buffer(buffer++);
  for (auto [i, result] : llvm::enumerate(into))
    gradientBuffers[i] = k.buffer(buffer + unsigned(result));
  k.forTiles([&](Val tile) {
    emitGroup(k, k.div(tile, groups), k.rem(tile, groups));
  });
}

void AttentionGradEmitter::emitGroup(KernelBuilder &k, Val b, Val group) {
  Val keyBase = at(k, keyBuffer, keyView, b, group, k.i64(0));
  Val valueBase = at(k, valueBuffer, valueView, b, group, k.i64(0));
  packKeys(k, keyBase, keyView.strides[2], depth.size,
           scratchAt(k, transposedKeys));
  packKeys(k, valueBase, valueView.strides[2], width.size,
           scratchAt(k, transposedValues));
  copyRows(k, keyBase, keyView.strides[2], k.i64(keys), depth,
           scratchAt(k, keyRowsAt), nullptr);
  // dk and dv lie next to each other.
  clear(k, scratchAt(k, keySums), k.i64(0), k.i64(queryBlock - keySums));

  k.loop(k.i64(0), k.i64(headsPerGroup()), 1, [&](Val member) {
    Val h = k.add(k.mul(group, headsPerGroup()), member);
    k.loop(k.i64(0), k.i64(queries), kBlockRows, [&](Val first) {
      Val rows = queries % kBlockRows == 0
                     ? k.i64(kBlockRows)
                     : k.min(k.i64(kBlockRows), k.sub(k.i64(queries), first));
      emitBlock(k, b, h, first, rows);
    });
  });
  storeSums(k, scratchAt(k, keySums), depth, 1, b, group);
  storeSums(k, scratchAt(k, valueSums), width, 2, b, group);
}

void AttentionGradEmitter::storeSums(KernelBuilder &k, Val sums,
                                     const Columns &columns, unsigned gradient,
                                     Val b, Val group) {
  llvm::Type *f32 = k.ir.getFloatTy();
  const StridedView &view = gradientViews[gradient];
  Val base = at(k, gradientBuffers[gradient], view, b, group, k.i64(0));
  k.loop(k.i64(0), k.i64(keys), 1, [&](Val key) {
    Val from = f32At(k, sums, k.mul(key, columns.padded));
    Val to = f32At(k, base, k.mul(key, view.strides[2]));
    k.vectorLoop(k.i64(columns.size), 1, [&](Val j, Val mask) {
      k.storeVector(k.loadVector(f32, f32At(k, from, j), mask), f32At(k, to, j),
                    mask);
    });
  });
}

void AttentionGradEmitter::emitBlock(KernelBuilder &k, Val b, Val h, Val first,
                                     Val rows) {
  Val query = scratchAt(k, queryBlock), slope = scratchAt(k, slopeBlock);
  Val score = scratchAt(k, scoreBlock), product = scratchAt(k, productBlock);
  Val visible = visibleToBlock(k, first, rows);
  copyRows(k, at(k, queryBuffer, queryView, b, h, first), queryView.strides[2],
           rows, depth, query, k.f32(scale));
  copyRows(k, at(k, slopeBuffer, slopeView, b, h, first), slopeView.strides[2],
           rows, width, slope, nullptr);
  multiplyByKeys(k, query, depth.padded, depth.size,
                 scratchAt(k, transposedKeys), rows, visible, score);
  multiplyByKeys(k, slope, width.padded, width.size,
                 scratchAt(k, transposedValues), rows, visible, product);
  // Strips of keys read scores up to a multiple of their size.
  Val cleared = k.add(visible, kBlockRows);
  cleared = k.min(cleared, k.i64(scoreStride));
  k.loop(k.i64(0), rows, 1,
         [&](Val row) { emitRow(k, b, h, first, row, cleared); });

  addToKeys(k, score, slope, width, rows, visible, scratchAt(k, valueSums));
  addToKeys(k, product, query, depth, rows, visible, scratchAt(k, keySums));
  const StridedView &view = gradientViews[0];
  Val target = at(k, gradientBuffers[0], view, b, h, first);
  bool isWhole = queries % kBlockRows == 0;
  Val factor = k.broadcast(k.f32(scale));
  multiplyRows(
      k, {product, scoreStride, 1, scratchAt(k, keyRowsAt), rows, visible},
      depth, nullptr, [&](Val row, Val column, Val value, Val mask) {
        k.ifThen(isWhole ? Val(k.ir.getTrue()) : k.lessThan(row, rows), [&] {
          Val offset = k.add(k.mul(row, view.strides[2]), column);
          k.storeVector(k.ir.CreateFMul(value, factor),
                        f32At(k, target, offset), mask);
        });
      });
}

/// sums[key] += weights[row][key] right[row], over the rows of a block.
void AttentionGradEmitter::addToKeys(KernelBuilder &k, Val weights, Val right,
                                     const Columns &columns, Val rows,
                                     Val visible, Val sums) const {
  auto addressOf = [&](Val key, Val column) {
    return f32At(k, sums, k.add(k.mul(key, columns.padded), column));
  };
  multiplyRows(
      k, {weights, /*aRow=*/1, /*aDepth=*/scoreStride, right, visible, rows},
      columns,
      [&](Val key, Val column) {
        return k.loadVector(k.ir.getFloatTy(), addressOf(key, column), nullptr);
      },
      [&](Val key, Val column, Val value, Val) {
        k.storeVector(value, addressOf(key, column), nullptr);
      });
}

/// The sum of the products of two contiguous rows as wide as the values.
Val AttentionGradEmitter::rowProduct(KernelBuilder &k, Val a, Val b) const {
  llvm::Type *f32 = k.ir.getFloatTy();
  auto add = [&](Val x, Val y) { return k.ir.CreateFAdd(x, y); };
  Vals sum = k.vectorLoop(
      k.i64(width.size), 2, {k.splat(k.vectorOf(f32), 0.0)},
      [&](Val j, Val mask, ArrayRef<Val> carried) {
        return Vals{k.fma(k.loadVector(f32, f32At(k, a, j), mask),
                          k.loadVector(f32, f32At(k, b, j), mask), carried[0])};
      },
      [&](ArrayRef<Val> x, ArrayRef<Val> y) { return Vals{add(x[0], y[0])}; });
  return k.reduceLanes(sum[0], add);
}

/// Scores become (dropped) probabilities, products with v the slopes of scores
/// but for the scale.
void AttentionGradEmitter::emitRow(KernelBuilder &k, Val b, Val h, Val first,
                                   Val row, Val cleared) {
  llvm::Type *f32 = k.ir.getFloatTy();
  Val query = k.add(first, row), seen = visibleToRow(k, query);
  Val scores = f32At(k, scratchAt(k, scoreBlock), k.mul(row, scoreStride));
  Val products = f32At(k, scratchAt(k, productBlock), k.mul(row, scoreStride));
  Val delta = k.broadcast(
      rowProduct(k, at(k, resultBuffer, resultView, b, h, query),
                 f32At(k, scratchAt(k, slopeBlock), k.mul(row, width.padded))));
  Val lse = k.load(
      f32, f32At(k, lseBuffer,
                 k.add(k.mul(k.add(k.mul(b, heads), h), queries), query)));
  // A row that sees nothing: against plus infinity all probabilities are 0.
  double infinity = std::numeric_limits<double>::infinity();
  lse = k.select(k.ir.CreateFCmpOEQ(lse, k.splat(f32, -infinity)),
                 k.splat(f32, infinity), lse);
  Val shift = k.broadcast(lse), number = scoreNumber(k, b, h, query);
  Val maskRow = hasMask ? at(k, maskBuffer, maskView, b, h, query) : nullptr;
  k.vectorLoop(seen, hasDropout() ? 1 : 2, [&](Val j, Val mask) {
    Val scoreAddress = f32At(k, scores, j);
    Val productAddress = f32At(k, products, j);
    Val score = k.loadVector(f32, scoreAddress, mask);
    Val slope = k.loadVector(f32, productAddress, mask);
    if (hasMask)
      score = k.ir.CreateFAdd(score, loadMask(k, maskRow, maskView, j, mask));
    Val p = buildExp(k, k.ir.CreateFSub(score, shift)), dropped = p;
    if (hasDropout()) {
      Val kept = keptFactor(k, step, number, j);
      dropped = k.ir.CreateFMul(p, kept);
      slope = k.ir.CreateFMul(slope, kept);
    }
    k.storeVector(dropped, scoreAddress, mask);
    k.storeVector(k.ir.CreateFMul(p, k.ir.CreateFSub(slope, delta)),
                  productAddress, mask);
  });
  clear(k, scores, seen, cleared);
  clear(k, products, seen, cleared);
}

KernelPlan bessemer::cpu::planAttentionGrad(kern::AttentionGradOp op,
                                            const CPUTarget &target) {
  auto emitter = std::make_shared<AttentionGradEmitter>(op, target);
  return {emitter->getTiles(), emitter->getScratchBytes(),
          [emitter](KernelBuilder &k) { emitter->emit(k); }};
}
