// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kern.update and kern.norm: tiles are chunks of many tensors, found through a
// table in the code.

#include "Families.h"
#include "RegionEmitter.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::cpu;

namespace {
/// Chunks of tensors in a row.
struct Segments {
  int64_t chunk;
  SmallVector<int64_t> sizes;
  /// First tile of each tensor, then the number of tiles.
  SmallVector<int64_t> firstTiles = {0};

  Segments(ValueRange tensors, int64_t chunk) : chunk(chunk) {
    for (Value tensor : tensors) {
      int64_t size = cast<RankedTensorType>(tensor.getType()).getNumElements();
      sizes.push_back(size);
      firstTiles.push_back(firstTiles.back() + llvm::divideCeil(size, chunk));
    }
  }
  int64_t getTiles() const { return firstTiles.back(); }

  /// Runs `body` for each tile of the call with the tensor's number and the
  /// chunk's first element and length.
  void
  forTiles(KernelBuilder &k,
           llvm::function_ref<void(Val tile, Val tensor, Val first, Val count)>
               body) const {
    llvm::Type *i64 = k.ir.getInt64Ty();
    Val tileTable = k.table(firstTiles), sizeTable = k.table(sizes);
    auto entry = [&](Val table, Val index) {
      return k.load(i64, k.address(table, i64, index));
    };
    k.forTiles([&](Val tile) {
      // The tensor is the last one that begins at or before the tile: the
      // number of beginnings passed, less one. A scan over some hundred entries
      // costs little beside a chunk.
      Vals passed =
          k.loop(k.i64(1), k.i64(sizes.size()), 1, {k.i64(0)},
                 [&](Val i, llvm::ArrayRef<Val> carried) {
                   Val begun = k.ir.CreateICmpSLE(entry(tileTable, i), tile);
                   return Vals{k.add(carried[0], k.ir.CreateZExt(begun, i64))};
                 });
      Val tensor = passed[0];
      Val first = k.mul(k.sub(tile, entry(tileTable, tensor)), chunk);
      Val count = k.min(k.i64(chunk), k.sub(entry(sizeTable, tensor), first));
      body(tile, tensor, first, count);
    });
  }
};
} // namespace

static void emitUpdate(KernelBuilder &k, kern::UpdateOp op,
                       const Segments &segments) {
  Block &body = op.getBody().front();
  llvm::Type *f32 = k.ir.getFloatTy();
  int64_t parameters = op.getParameters().size();
  int64_t moments = op.getMomentsPerParameter();
  int64_t operands = op->getNumOperands();
  int64_t firstScalar = operands - op.getScalars().size();

  RegionEmitter outer(k, body);
  for (size_t i = 0; i < op.getScalars().size(); ++i)
    outer.bind(body.getArgument(2 + moments + i),
               k.load(f32, k.buffer(unsigned(firstScalar + i))));
  outer.evaluateKnown();

  segments.forTiles(k, [&](Val, Val tensor, Val first, Val count) {
    auto pointer = [&](int64_t base, int64_t perTensor, int64_t which) {
      Val number = k.add(k.mul(tensor, perTensor), base + which);
      return k.address(k.buffer(number), f32, first);
    };
    // Parameter, gradient, moments; new parameter, new moments.
    Vals from = {pointer(0, 1, 0), pointer(parameters, 1, 0)};
    Vals to = {pointer(operands, 1, 0)};
    for (int64_t m = 0; m < moments; ++m) {
      from.push_back(pointer(2 * parameters, moments, m));
      to.push_back(pointer(operands + parameters, moments, m));
    }
    k.vectorLoop(count, 2, [&](Val j, Val mask) {
      RegionEmitter scope(&outer);
      for (auto [i, base] : llvm::enumerate(from))
        scope.bind(body.getArgument(i),
                   k.loadVector(f32, k.address(base, f32, j), mask));
      Vals values;
      for (Value value : body.getTerminator()->getOperands())
        values.push_back(k.broadcast(scope.get(value)));
      for (auto [base, value] : llvm::zip(to, values))
        k.storeVector(value, k.address(base, f32, j), mask);
    });
  });
}

static void emitNorm(KernelBuilder &k, kern::NormOp op,
                     const Segments &segments) {
  llvm::Type *f32 = k.ir.getFloatTy();
  Val result = k.buffer(unsigned(op.getInputs().size()));
  auto addVals = [&](llvm::ArrayRef<Val> a, llvm::ArrayRef<Val> b) {
    return Vals{k.ir.CreateFAdd(a[0], b[0])};
  };
  segments.forTiles(k, [&](Val tile, Val tensor, Val first, Val count) {
    Val base = k.address(k.buffer(tensor), f32, first);
    // Masked lanes load zero and add nothing.
    Vals sums = k.vectorLoop(
        count, 4, {k.splat(k.vectorOf(f32), 0)},
        [&](Val j, Val mask, llvm::ArrayRef<Val> carried) {
          Val x = k.loadVector(f32, k.address(base, f32, j), mask);
          return Vals{k.fma(x, x, carried[0])};
        },
        addVals);
    Val sum = k.reduceLanes(
        sums[0], [&](Val a, Val b) { return k.ir.CreateFAdd(a, b); });
    k.store(sum, k.address(result, f32, tile));
  });
}

KernelPlan bessemer::cpu::planUpdate(kern::UpdateOp op, const CPUTarget &) {
  Segments segments(op.getParameters(), op.getChunk());
  return {segments.getTiles(), 0,
          [op, segments](KernelBuilder &k) { emitUpdate(k, op, segments); }};
}

KernelPlan bessemer::cpu::planNorm(kern::NormOp op, const CPUTarget &) {
  Segments segments(op.getInputs(), op.getChunk());
  return {segments.getTiles(), 0,
          [op, segments](KernelBuilder &k) { emitNorm(k, op, segments); }};
}
