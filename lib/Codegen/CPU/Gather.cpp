// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kern.gather: a row of the table is copied by vectors; single elements are
// gathered, a vector of indices at a time.

#include "Lookup.h"
#include "RunTiling.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::cpu;

namespace {
class GatherEmitter {
public:
  GatherEmitter(kern::GatherOp op, const CPUTarget &target)
      : lookup(cast<RankedTensorType>(op.getTable().getType()),
               cast<RankedTensorType>(op.getIndices().getType())) {
    isElementwise = lookup.inner == 1;
    tiling = isElementwise
                 ? RunTiling(lookup.planes(), lookup.count, target.lanes)
                 : RunTiling(lookup.planes() * lookup.count, lookup.inner,
                             target.lanes);
  }

  int64_t getTiles() const { return tiling.getTiles(); }

  void emit(KernelBuilder &k) const {
    Val table = k.buffer(0u), indices = k.buffer(1u), result = k.buffer(2u);
    llvm::Type *element = k.memoryType(lookup.element);
    Val missing = element->isFloatingPointTy()
                      ? llvm::ConstantFP::getNaN(element)
                      : Val(llvm::Constant::getNullValue(element));
    tiling.forRuns(k, [&](Val run, Val first, Val count) {
      if (isElementwise)
        gatherElements(k, table, indices, result, run, first, count, missing);
      else
        copyRow(k, table, indices, result, run, first, count, missing);
    });
  }

private:
  Val isInside(KernelBuilder &k, Val index) const {
    Val size = k.i64(lookup.size);
    return k.ir.CreateICmpULT(index,
                              k.isVector(index) ? k.broadcast(size) : size);
  }

  void gatherElements(KernelBuilder &k, Val table, Val indices, Val result,
                      Val plane, Val first, Val count, Val missing) const {
    llvm::Type *element = missing->getType();
    Val entries = k.address(table, element, k.mul(plane, lookup.size));
    Val target = k.address(result, element, k.mul(plane, lookup.count));
    k.vectorLoop(count, 2, [&](Val j, Val mask) {
      Val number = k.add(first, j);
      Val index = lookup.loadIndices(k, indices, plane, number,
                                     /*isVector=*/true, mask);
      Val lanes = isInside(k, index);
      if (mask)
        lanes = k.ir.CreateAnd(lanes, mask);
      Val pointers = k.ir.CreateGEP(element, entries, index);
      Val value = k.ir.CreateMaskedGather(
          k.vectorOf(element), pointers,
          llvm::Align(element->getScalarSizeInBits() / 8), lanes,
          k.broadcast(missing));
      k.storeVector(value, k.address(target, element, number), mask);
    });
  }

  /// Elements [first, first + count) of row `run` of the result.
  void copyRow(KernelBuilder &k, Val table, Val indices, Val result, Val run,
               Val first, Val count, Val missing) const {
    llvm::Type *element = missing->getType();
    Val plane = k.div(run, lookup.count), number = k.rem(run, lookup.count);
    Val index = lookup.loadIndices(k, indices, plane, number,
                                   /*isVector=*/false, nullptr);
    Val inside = isInside(k, index);
    // Outside, any row of the table is read and dropped.
    Val row =
        k.add(k.mul(plane, lookup.size), k.select(inside, index, k.i64(0)));
    Val from =
        k.address(table, element, k.add(k.mul(row, lookup.inner), first));
    Val to = k.address(result, element, k.add(k.mul(run, lookup.inner), first));
    k.vectorLoop(count, 4, [&](Val j, Val mask) {
      Val value = k.loadVector(element, k.address(from, element, j), mask);
      k.storeVector(k.select(inside, value, k.broadcast(missing)),
                    k.address(to, element, j), mask);
    });
  }

  Lookup lookup;
  bool isElementwise;
  RunTiling tiling;
};
} // namespace

KernelPlan bessemer::cpu::planGather(kern::GatherOp op,
                                     const CPUTarget &target) {
  GatherEmitter emitter(op, target);
  return {emitter.getTiles(), 0,
          [emitter](KernelBuilder &k) { emitter.emit(k); }};
}
