// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kern.scatter: a unit owns a range of rows (or of the columns of them) of one
// plane of the table. It fills them with zeros, walks all indices of the plane
// in order and adds those rows that are its own: no atomics, and one order of
// additions. The walk costs a comparison per index and unit, so that units are
// large.

#include "TableUnits.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::cpu;

namespace {
/// Units of one kernel, at most: each walks all indices.
constexpr int64_t kMaxUnits = 32;

/// About so many ranges of rows.
int64_t rangesOf(const Lookup &lookup) {
  int64_t elements = lookup.planes() * lookup.size * lookup.inner;
  int64_t owned = std::max<int64_t>(TableUnits::kUnitElements,
                                    llvm::divideCeil(elements, kMaxUnits));
  int64_t rows = std::clamp<int64_t>(owned / lookup.inner, 1, lookup.size);
  return llvm::divideCeil(lookup.size, rows);
}

class ScatterEmitter {
public:
  explicit ScatterEmitter(kern::ScatterOp op)
      : lookup(cast<RankedTensorType>(op.getType()),
               cast<RankedTensorType>(op.getIndices().getType())),
        units(lookup, rangesOf(lookup),
              [](int64_t ranges) { return TableUnits::kMinUnits / ranges; }) {}

  int64_t getTiles() const { return units.getTiles(); }

  void emit(KernelBuilder &k) const {
    Val updates = k.buffer(0u), indices = k.buffer(1u), result = k.buffer(2u);
    units.forEach(k, [&](const TableUnits::Unit &unit) {
      emitUnit(k, updates, indices, result, unit);
    });
  }

private:
  void emitUnit(KernelBuilder &k, Val updates, Val indices, Val result,
                const TableUnits::Unit &unit) const {
    auto [plane, firstRow, firstColumn, rowCount, columnCount] = unit;
    llvm::Type *element = k.memoryType(lookup.element);
    Val own = k.address(
        result, element,
        k.add(k.mul(k.add(k.mul(plane, lookup.size), firstRow), lookup.inner),
              firstColumn));
    fill(k, own, rowCount, columnCount);
    Val from = k.address(
        updates, element,
        k.add(k.mul(plane, lookup.count * lookup.inner), firstColumn));
    k.loop(k.i64(0), k.i64(lookup.count), 1, [&](Val number) {
      Val index = lookup.loadIndices(k, indices, plane, number,
                                     /*isVector=*/false, nullptr);
      Val row = k.sub(index, firstRow);
      // Also indices below: they wrap around.
      k.ifThen(k.ir.CreateICmpULT(row, rowCount), [&] {
        addRow(k, k.address(own, element, k.mul(row, lookup.inner)),
               k.address(from, element, k.mul(number, lookup.inner)),
               columnCount);
      });
    });
  }

  void fill(KernelBuilder &k, Val own, Val rowCount, Val columnCount) const {
    llvm::Type *element = k.memoryType(lookup.element);
    Val zeros = llvm::Constant::getNullValue(k.vectorOf(element));
    auto fillRun = [&](Val begin, Val count) {
      k.vectorLoop(count, 4, [&](Val j, Val mask) {
        k.storeVector(zeros, k.address(begin, element, j), mask);
      });
    };
    if (units.hasWholeRows())
      return fillRun(own, k.mul(rowCount, lookup.inner));
    k.loop(k.i64(0), rowCount, 1, [&](Val row) {
      fillRun(k.address(own, element, k.mul(row, lookup.inner)), columnCount);
    });
  }

  void addRow(KernelBuilder &k, Val to, Val from, Val count) const {
    llvm::Type *element = k.memoryType(lookup.element);
    if (lookup.inner == 1)
      return k.store(
          k.ir.CreateFAdd(k.load(element, to), k.load(element, from)), to);
    k.vectorLoop(count, 4, [&](Val j, Val mask) {
      Val here = k.address(to, element, j);
      Val sum = k.ir.CreateFAdd(
          k.loadVector(element, here, mask),
          k.loadVector(element, k.address(from, element, j), mask));
      k.storeVector(sum, here, mask);
    });
  }

  Lookup lookup;
  TableUnits units;
};
} // namespace

KernelPlan bessemer::cpu::planScatter(kern::ScatterOp op, const CPUTarget &) {
  ScatterEmitter emitter(op);
  return {emitter.getTiles(), 0,
          [emitter](KernelBuilder &k) { emitter.emit(k); }};
}
