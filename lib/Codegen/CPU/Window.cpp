// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kern.window: pooling over planes [h, w] and its gradient. Windows of 2x2 that
// tile the plane are computed a vector of windows at a time; the general forms
// accept any geometry: the forward one is vectorised along the output's rows,
// the gradients are scalar.

#include "WindowGeometry.h"
#include "llvm/IR/Constants.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::cpu;

namespace {
using Axis = WindowAxis;

class WindowEmitter : WindowGeometry {
public:
  explicit WindowEmitter(kern::WindowOp op);

  int64_t getTiles() const { return llvm::divideCeil(planes, planesPerTile); }
  void emit(KernelBuilder &k);

private:
  int64_t inputElements() const { return h.input * w.input; }
  int64_t outputElements() const { return h.output * w.output; }

  void emitForward(KernelBuilder &k, Val x, Val y);
  void emitMaxGrad(KernelBuilder &k, Val x, Val dy, Val dx);
  void emitAverageGrad(KernelBuilder &k, Val dy, Val dx);
  void clear(KernelBuilder &k, Val dx);

  /// Windows of 2x2, each input element in at most one.
  void emitPairs(KernelBuilder &k, Val x, Val dy, Val result);
  struct Quad {
    Val a, b, c, d; // row-major
  };
  Quad loadQuad(KernelBuilder &k, Val row, Val count);
  void storeQuad(KernelBuilder &k, const Quad &quad, Val row, Val count);

  static Val isInside(KernelBuilder &k, const Axis &axis, Val index) {
    return k.ir.CreateICmpULT(index, k.i64(axis.input));
  }
  /// Whether a tap counts in an average.
  Val isCounted(KernelBuilder &k, const Axis &axis, Val index) {
    if (!countsPads)
      return isInside(k, axis, index);
    return k.ir.CreateICmpULT(k.add(index, axis.padBegin),
                              k.i64(axis.input + axis.padBegin + axis.padEnd));
  }
  /// Number of taps of window `index` that count, along one axis.
  Val countTaps(KernelBuilder &k, const Axis &axis, Val index) {
    return k.loop(
        k.i64(0), k.i64(axis.window), 1, {k.i64(0)},
        [&](Val tap, ArrayRef<Val> carried) {
          Val counted = isCounted(k, axis, axis.inputIndex(k, index, tap));
          return Vals{
              k.add(carried[0], k.ir.CreateZExt(counted, k.ir.getInt64Ty()))};
        })[0];
  }

  bool isPairs;
  int64_t planesPerTile;
};
} // namespace

WindowEmitter::WindowEmitter(kern::WindowOp op) : WindowGeometry(op) {
  planesPerTile = std::max<int64_t>(1, kTileElements / inputElements());
  auto isPair = [](const Axis &axis) {
    return axis.window == 2 && axis.stride == 2 && axis.dilation == 1 &&
           axis.padBegin == 0 && axis.padEnd == 0 &&
           2 * axis.output <= axis.input;
  };
  isPairs = isPair(h) && isPair(w);
}

void WindowEmitter::emit(KernelBuilder &k) {
  llvm::Type *f32 = k.ir.getFloatTy();
  Val first = k.buffer(0u), second = k.buffer(1u);
  Val third = kind == kern::WindowKind::MaxGrad ? k.buffer(2u) : nullptr;
  auto large = [&](Val base, Val plane) {
    return k.address(base, f32, k.mul(plane, inputElements()));
  };
  auto small = [&](Val base, Val plane) {
    return k.address(base, f32, k.mul(plane, outputElements()));
  };
  k.forTiles([&](Val tile) {
    Val begin = k.mul(tile, planesPerTile);
    Val end = k.min(k.add(begin, planesPerTile), k.i64(planes));
    k.loop(begin, end, 1, [&](Val plane) {
      switch (kind) {
      case kern::WindowKind::Max:
      case kern::WindowKind::Average:
        if (isPairs)
          return emitPairs(k, large(first, plane), nullptr,
                           small(second, plane));
        return emitForward(k, large(first, plane), small(second, plane));
      case kern::WindowKind::MaxGrad:
        if (isPairs)
          return emitPairs(k, large(first, plane), small(second, plane),
                           large(third, plane));
        return emitMaxGrad(k, large(first, plane), small(second, plane),
                           large(third, plane));
      case kern::WindowKind::AverageGrad:
        if (isPairs)
          return emitPairs(k, nullptr, small(first, plane),
                           large(second, plane));
        return emitAverageGrad(k, small(first, plane), large(second, plane));
      }
    });
  });
}

//===----------------------------------------------------------------------===//
// Any geometry
//===----------------------------------------------------------------------===//

void WindowEmitter::emitForward(KernelBuilder &k, Val x, Val y) {
  llvm::Type *f32 = k.ir.getFloatTy(), *vector = k.vectorOf(f32);
  Val start = isMax() ? llvm::ConstantFP::getInfinity(vector, true)
                      : k.splat(vector, 0);
  Val zero = k.splat(vector, 0), one = k.splat(vector, 1);
  k.loop(k.i64(0), k.i64(h.output), 1, [&](Val oh) {
    k.vectorLoop(k.i64(w.output), 1, [&](Val ow, Val mask) {
      // Value and number of taps, over the window in row-major order.
      Vals sums = k.loop(
          k.i64(0), k.i64(h.window), 1, {start, zero},
          [&](Val i, ArrayRef<Val> outer) {
            Val ih = h.inputIndex(k, oh, i);
            return k.loop(
                k.i64(0), k.i64(w.window), 1, outer,
                [&](Val j, ArrayRef<Val> carried) {
                  Val iw = w.inputIndex(k, ow, j);
                  Val columns = k.ir.CreateAdd(
                      k.broadcast(iw),
                      k.ir.CreateMul(
                          k.iota(64),
                          k.splatInt(k.vectorOf(k.ir.getInt64Ty()), w.stride)));
                  auto below = [&](int64_t offset, int64_t limit) {
                    Val shifted = k.ir.CreateAdd(
                        columns, k.splatInt(columns->getType(), offset));
                    return k.ir.CreateICmpULT(
                        shifted, k.splatInt(columns->getType(), limit));
                  };
                  auto both = [&](Val lanes, Val row) {
                    Val result = k.ir.CreateAnd(lanes, k.broadcast(row));
                    return mask ? k.ir.CreateAnd(result, mask) : result;
                  };
                  Val inside = both(below(0, w.input), isInside(k, h, ih));
                  Val value = k.loadElements(
                      large.getElementType(),
                      k.address(x, f32, k.add(k.mul(ih, w.input), iw)),
                      w.stride, inside);
                  if (isMax())
                    return Vals{k.select(inside, k.maximum(carried[0], value),
                                         carried[0]),
                                carried[1]};
                  Val counted = inside;
                  if (countsPads)
                    counted =
                        both(below(w.padBegin, w.input + w.padBegin + w.padEnd),
                             isCounted(k, h, ih));
                  return Vals{k.ir.CreateFAdd(carried[0], value),
                              k.ir.CreateFAdd(carried[1],
                                              k.select(counted, one, zero))};
                });
          });
      Val result = isMax() ? sums[0] : k.ir.CreateFDiv(sums[0], sums[1]);
      k.storeVector(result, k.address(y, f32, k.add(k.mul(oh, w.output), ow)),
                    mask);
    });
  });
}

void WindowEmitter::clear(KernelBuilder &k, Val dx) {
  llvm::Type *f32 = k.ir.getFloatTy();
  k.vectorLoop(k.i64(inputElements()), 1, [&](Val j, Val mask) {
    k.storeVector(k.splat(k.vectorOf(f32), 0), k.address(dx, f32, j), mask);
  });
}

void WindowEmitter::emitMaxGrad(KernelBuilder &k, Val x, Val dy, Val dx) {
  llvm::Type *f32 = k.ir.getFloatTy();
  clear(k, dx);
  k.loop(k.i64(0), k.i64(h.output), 1, [&](Val oh) {
    k.loop(k.i64(0), k.i64(w.output), 1, [&](Val ow) {
      // The largest value, and its index or -1.
      Vals best = k.loop(
          k.i64(0), k.i64(h.window), 1, {k.f32(0), k.i64(-1)},
          [&](Val i, ArrayRef<Val> outer) {
            Val ih = h.inputIndex(k, oh, i);
            return k.loop(
                k.i64(0), k.i64(w.window), 1, outer,
                [&](Val j, ArrayRef<Val> carried) {
                  Val iw = w.inputIndex(k, ow, j);
                  Val inside =
                      k.ir.CreateAnd(isInside(k, h, ih), isInside(k, w, iw));
                  Val index = k.ir.CreateSelect(
                      inside, k.add(k.mul(ih, w.input), iw), k.i64(0));
                  Val value = k.load(f32, k.address(x, f32, index));
                  // Larger, or the first NaN.
                  Val better = k.ir.CreateAnd(
                      k.ir.CreateFCmpUGT(value, carried[0]),
                      k.ir.CreateFCmpORD(carried[0], carried[0]));
                  Val isFirst = k.lessThan(carried[1], k.i64(0));
                  Val takes =
                      k.ir.CreateAnd(inside, k.ir.CreateOr(isFirst, better));
                  return Vals{k.ir.CreateSelect(takes, value, carried[0]),
                              k.ir.CreateSelect(takes, index, carried[1])};
                });
          });
      k.ifThen(k.ir.CreateICmpSGE(best[1], k.i64(0)), [&] {
        Val gradient =
            k.load(f32, k.address(dy, f32, k.add(k.mul(oh, w.output), ow)));
        Val place = k.address(dx, f32, best[1]);
        k.store(k.ir.CreateFAdd(k.load(f32, place), gradient), place);
      });
    });
  });
}

void WindowEmitter::emitAverageGrad(KernelBuilder &k, Val dy, Val dx) {
  llvm::Type *f32 = k.ir.getFloatTy();
  clear(k, dx);
  k.loop(k.i64(0), k.i64(h.output), 1, [&](Val oh) {
    Val rows = countTaps(k, h, oh);
    k.loop(k.i64(0), k.i64(w.output), 1, [&](Val ow) {
      Val count = k.ir.CreateMul(rows, countTaps(k, w, ow));
      Val gradient = k.ir.CreateFDiv(
          k.load(f32, k.address(dy, f32, k.add(k.mul(oh, w.output), ow))),
          k.ir.CreateSIToFP(count, f32));
      k.loop(k.i64(0), k.i64(h.window), 1, [&](Val i) {
        Val ih = h.inputIndex(k, oh, i);
        k.ifThen(isInside(k, h, ih), [&] {
          k.loop(k.i64(0), k.i64(w.window), 1, [&](Val j) {
            Val iw = w.inputIndex(k, ow, j);
            k.ifThen(isInside(k, w, iw), [&] {
              Val place = k.address(dx, f32, k.add(k.mul(ih, w.input), iw));
              k.store(k.ir.CreateFAdd(k.load(f32, place), gradient), place);
            });
          });
        });
      });
    });
  });
}

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

/// Mask of the `half`-th vector of 2 * `count` elements.
static Val pairMask(KernelBuilder &k, Val count, int64_t half) {
  return k.maskBelow(k.add(k.mul(count, 2), -half * k.lanes()));
}

WindowEmitter::Quad WindowEmitter::loadQuad(KernelBuilder &k, Val row,
                                            Val count) {
  llvm::Type *f32 = k.ir.getFloatTy();
  SmallVector<int> even, odd;
  for (int i = 0; i < k.lanes(); ++i) {
    even.push_back(2 * i);
    odd.push_back(2 * i + 1);
  }
  auto load = [&](Val pointer) {
    Vals halves;
    for (int64_t half = 0; half < 2; ++half)
      halves.push_back(
          k.loadVector(f32, k.address(pointer, f32, half * k.lanes()),
                       count ? pairMask(k, count, half) : nullptr));
    return halves;
  };
  Vals top = load(row), bottom = load(k.address(row, f32, w.input));
  return {k.shuffle(top[0], top[1], even), k.shuffle(top[0], top[1], odd),
          k.shuffle(bottom[0], bottom[1], even),
          k.shuffle(bottom[0], bottom[1], odd)};
}

void WindowEmitter::storeQuad(KernelBuilder &k, const Quad &quad, Val row,
                              Val count) {
  llvm::Type *f32 = k.ir.getFloatTy();
  SmallVector<int> halves[2];
  int lanes = k.lanes();
  for (int i = 0; i < lanes; ++i)
    halves[2 * i >= lanes].append({i, i + lanes});
  auto store = [&](Val left, Val right, Val pointer) {
    for (int64_t half = 0; half < 2; ++half)
      k.storeVector(k.shuffle(left, right, halves[half]),
                    k.address(pointer, f32, half * k.lanes()),
                    count ? pairMask(k, count, half) : nullptr);
  };
  store(quad.a, quad.b, row);
  store(quad.c, quad.d, k.address(row, f32, w.input));
}

void WindowEmitter::emitPairs(KernelBuilder &k, Val x, Val dy, Val result) {
  llvm::Type *f32 = k.ir.getFloatTy();
  if (!isForward() && (h.input != 2 * h.output || w.input != 2 * w.output))
    clear(k, result);
  k.loop(k.i64(0), k.i64(h.output), 1, [&](Val oh) {
    k.vectorLoop(k.i64(w.output), 1, [&](Val ow, Val mask) {
      Val count = mask ? k.sub(k.i64(w.output), ow) : nullptr;
      Val from = k.add(k.mul(oh, 2 * w.input), k.mul(ow, 2));
      Val to = k.add(k.mul(oh, w.output), ow);
      Quad quad = {};
      if (x)
        quad = loadQuad(k, k.address(x, f32, from), count);
      Val gradient =
          dy ? k.loadVector(f32, k.address(dy, f32, to), mask) : nullptr;
      Val quarter = k.splat(k.vectorOf(f32), 0.25);
      switch (kind) {
      case kern::WindowKind::Max: {
        Val best = k.maximum(quad.a, quad.b);
        best = k.maximum(k.maximum(best, quad.c), quad.d);
        k.storeVector(best, k.address(result, f32, to), mask);
        break;
      }
      case kern::WindowKind::Average: {
        Val sum = k.ir.CreateFAdd(k.ir.CreateFAdd(quad.a, quad.b), quad.c);
        sum = k.ir.CreateFAdd(sum, quad.d);
        k.storeVector(k.ir.CreateFMul(sum, quarter), k.address(result, f32, to),
                      mask);
        break;
      }
      case kern::WindowKind::MaxGrad: {
        // Each later element takes over if it is larger, or the first NaN.
        Val best = quad.a, takes[3];
        Val others[3] = {quad.b, quad.c, quad.d};
        for (int i = 0; i < 3; ++i) {
          takes[i] = k.ir.CreateAnd(k.ir.CreateFCmpUGT(others[i], best),
                                    k.ir.CreateFCmpORD(best, best));
          best = k.select(takes[i], others[i], best);
        }
        Val zero = k.splat(k.vectorOf(f32), 0);
        Quad gradients = {};
        Val rest = gradient;
        gradients.d = k.select(takes[2], rest, zero);
        rest = k.select(takes[2], zero, rest);
        gradients.c = k.select(takes[1], rest, zero);
        rest = k.select(takes[1], zero, rest);
        gradients.b = k.select(takes[0], rest, zero);
        gradients.a = k.select(takes[0], zero, rest);
        storeQuad(k, gradients, k.address(result, f32, from), count);
        break;
      }
      case kern::WindowKind::AverageGrad: {
        Val share = k.ir.CreateFMul(gradient, quarter);
        storeQuad(k, {share, share, share, share}, k.address(result, f32, from),
                  count);
        break;
      }
      }
    });
  });
}

KernelPlan bessemer::cpu::planWindow(kern::WindowOp op,
                                     const CPUTarget &target) {
  if (op.getType().getRank() == 5)
    return planBlockedWindow(op, target);
  auto emitter = std::make_shared<WindowEmitter>(op);
  return {emitter->getTiles(), 0,
          [emitter](KernelBuilder &k) { emitter->emit(k); }};
}
