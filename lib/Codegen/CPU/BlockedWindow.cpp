// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kern.window on images in blocks of channels: vectors run along the block,
// taps outside the image are left out by the bounds of loops. A tile is one or
// more planes.

#include "WindowGeometry.h"
#include "llvm/IR/Constants.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::cpu;

namespace {
/// The first tap of window `index` at position `limit` or after it, counted
/// from the first element of the image.
Val firstTapFrom(KernelBuilder &k, const WindowAxis &axis, Val index,
                 int64_t limit) {
  Val distance = k.sub(k.i64(limit + axis.padBegin + axis.dilation - 1),
                       k.mul(index, axis.stride));
  Val atLeastZero =
      k.ir.CreateBinaryIntrinsic(llvm::Intrinsic::smax, distance, k.i64(0));
  return k.min(k.div(atLeastZero, axis.dilation), k.i64(axis.window));
}

/// The taps of one window along one axis that lie in the image.
struct Taps {
  Val begin, end;
};

class BlockedWindowEmitter : WindowGeometry {
public:
  BlockedWindowEmitter(kern::WindowOp op, const CPUTarget &target)
      : WindowGeometry(op), lanes(target.lanes) {
    block = large.getDimSize(4);
    assert(block % lanes == 0 && "a block is whole vectors");
    planesPerTile =
        std::max<int64_t>(1, kTileElements / (h.input * w.input * block));
  }

  int64_t getTiles() const { return llvm::divideCeil(planes, planesPerTile); }

  void emit(KernelBuilder &k) {
    Val first = k.buffer(0u), second = k.buffer(1u);
    Val third = kind == kern::WindowKind::MaxGrad ? k.buffer(2u) : nullptr;
    auto large = [&](Val base, Val index) {
      return k.address(base, k.ir.getFloatTy(),
                       k.mul(index, h.input * w.input * block));
    };
    auto small = [&](Val base, Val index) {
      return k.address(base, k.ir.getFloatTy(),
                       k.mul(index, h.output * w.output * block));
    };
    k.forTiles([&](Val tile) {
      Val begin = k.mul(tile, planesPerTile);
      Val end = k.min(k.add(begin, planesPerTile), k.i64(planes));
      k.loop(begin, end, 1, [&](Val index) {
        switch (kind) {
        case kern::WindowKind::Max:
        case kern::WindowKind::Average:
          return emitForward(k, large(first, index), small(second, index));
        case kern::WindowKind::MaxGrad:
          return emitMaxGrad(k, large(first, index), small(second, index),
                             large(third, index));
        case kern::WindowKind::AverageGrad:
          return emitAverageGrad(k, small(first, index), large(second, index));
        }
      });
    });
  }

private:
  /// One vector of channels of one window: the taps in the image, and where
  /// the window's element of the smaller image lies in its plane.
  struct Window {
    Val oh, ow;
    Taps rows, columns;
    Val channel, element;
  };

  void forEachWindow(KernelBuilder &k,
                     llvm::function_ref<void(const Window &)> body) {
    k.loop(k.i64(0), k.i64(h.output), 1, [&](Val oh) {
      Taps rows{firstTapFrom(k, h, oh, 0), firstTapFrom(k, h, oh, h.input)};
      k.loop(k.i64(0), k.i64(w.output), 1, [&](Val ow) {
        Taps columns{firstTapFrom(k, w, ow, 0),
                     firstTapFrom(k, w, ow, w.input)};
        Val pixel = k.add(k.mul(oh, w.output), ow);
        for (int64_t channel = 0; channel < block; channel += lanes)
          body({oh, ow, rows, columns, k.i64(channel),
                k.add(k.mul(pixel, block), channel)});
      });
    });
  }

  /// Visits the taps in row-major order with the address of their vectors in
  /// the larger image and their number in the window.
  Vals forEachTap(
      KernelBuilder &k, const Window &window, Val large, ArrayRef<Val> init,
      llvm::function_ref<Vals(Val address, Val number, ArrayRef<Val> carried)>
          body) {
    return k.loop(
        window.rows.begin, window.rows.end, 1, init,
        [&](Val i, ArrayRef<Val> outer) {
          Val row = k.mul(h.inputIndex(k, window.oh, i), w.input);
          return k.loop(
              window.columns.begin, window.columns.end, 1, outer,
              [&](Val j, ArrayRef<Val> carried) {
                Val pixel = k.add(row, w.inputIndex(k, window.ow, j));
                Val element = k.add(k.mul(pixel, block), window.channel);
                return body(k.address(large, k.ir.getFloatTy(), element),
                            k.add(k.mul(i, w.window), j), carried);
              });
        });
  }

  Val load(KernelBuilder &k, Val address) {
    return k.loadVector(k.ir.getFloatTy(), address, nullptr);
  }
  Val small(KernelBuilder &k, Val base, const Window &window) {
    return k.address(base, k.ir.getFloatTy(), window.element);
  }

  /// By what an average divides, as a vector.
  Val countTaps(KernelBuilder &k, const Window &window) {
    auto along = [&](const WindowAxis &axis, Val index, const Taps &inside) {
      if (!countsPads)
        return k.sub(inside.end, inside.begin);
      // Taps before the image count as well, those after its padding do not.
      return firstTapFrom(k, axis, index, axis.input + axis.padEnd);
    };
    Val count = k.ir.CreateMul(along(h, window.oh, window.rows),
                               along(w, window.ow, window.columns));
    return k.broadcast(k.ir.CreateSIToFP(count, k.ir.getFloatTy()));
  }

  void emitForward(KernelBuilder &k, Val x, Val y) {
    llvm::Type *vector = k.vectorOf(k.ir.getFloatTy());
    Val start = isMax() ? llvm::ConstantFP::getInfinity(vector, true)
                        : k.splat(vector, 0);
    forEachWindow(k, [&](const Window &window) {
      Val result = forEachTap(
          k, window, x, {start}, [&](Val address, Val, ArrayRef<Val> carried) {
            Val value = load(k, address);
            return Vals{isMax() ? k.maximum(carried[0], value)
                                : k.ir.CreateFAdd(carried[0], value)};
          })[0];
      if (!isMax())
        result = k.ir.CreateFDiv(result, countTaps(k, window));
      k.storeVector(result, small(k, y, window), nullptr);
    });
  }

  void clear(KernelBuilder &k, Val dx) {
    llvm::Type *f32 = k.ir.getFloatTy();
    k.vectorLoop(k.i64(h.input * w.input * block), 4, [&](Val j, Val mask) {
      k.storeVector(k.splat(k.vectorOf(f32), 0), k.address(dx, f32, j), mask);
    });
  }

  void emitMaxGrad(KernelBuilder &k, Val x, Val dy, Val dx) {
    llvm::Type *f32 = k.ir.getFloatTy(), *i32 = k.ir.getInt32Ty();
    Val none = k.splatInt(k.vectorOf(i32), ~uint64_t(0));
    clear(k, dx);
    forEachWindow(k, [&](const Window &window) {
      auto asLanes = [&](Val number) {
        return k.broadcast(k.ir.CreateTrunc(number, i32));
      };
      // The largest value, and the number of its tap or -1.
      Vals best = forEachTap(
          k, window, x, {k.splat(k.vectorOf(f32), 0), none},
          [&](Val address, Val number, ArrayRef<Val> carried) {
            Val value = load(k, address);
            // Larger, or the first NaN.
            Val better =
                k.ir.CreateAnd(k.ir.CreateFCmpUGT(value, carried[0]),
                               k.ir.CreateFCmpORD(carried[0], carried[0]));
            Val isFirst = k.ir.CreateICmpEQ(carried[1], none);
            Val takes = k.ir.CreateOr(isFirst, better);
            return Vals{k.select(takes, value, carried[0]),
                        k.select(takes, asLanes(number), carried[1])};
          });
      Val gradient = load(k, small(k, dy, window));
      Val zero = k.splat(k.vectorOf(f32), 0);
      forEachTap(k, window, dx, {},
                 [&](Val address, Val number, ArrayRef<Val>) {
                   Val isBest = k.ir.CreateICmpEQ(best[1], asLanes(number));
                   Val share = k.select(isBest, gradient, zero);
                   k.storeVector(k.ir.CreateFAdd(load(k, address), share),
                                 address, nullptr);
                   return Vals{};
                 });
    });
  }

  void emitAverageGrad(KernelBuilder &k, Val dy, Val dx) {
    clear(k, dx);
    forEachWindow(k, [&](const Window &window) {
      Val share =
          k.ir.CreateFDiv(load(k, small(k, dy, window)), countTaps(k, window));
      forEachTap(k, window, dx, {}, [&](Val address, Val, ArrayRef<Val>) {
        k.storeVector(k.ir.CreateFAdd(load(k, address), share), address,
                      nullptr);
        return Vals{};
      });
    });
  }

  int64_t lanes, block, planesPerTile;
};
} // namespace

KernelPlan bessemer::cpu::planBlockedWindow(kern::WindowOp op,
                                            const CPUTarget &target) {
  auto emitter = std::make_shared<BlockedWindowEmitter>(op, target);
  return {emitter->getTiles(), 0,
          [emitter](KernelBuilder &k) { emitter->emit(k); }};
}
