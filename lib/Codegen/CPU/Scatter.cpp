// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kern.scatter: a unit owns a range of rows (or of the columns of them) of one
// plane of the table. It fills them with zeros, walks all indices of the plane
// in order and adds those rows that are its own: no atomics, and one order of
// additions. The walk costs a comparison per index and unit, so that units are
// large.

#include "Families.h"
#include "Lookup.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::cpu;

namespace {
/// Elements of the table that a unit owns, at least.
constexpr int64_t kUnitElements = 1 << 15;
/// Units of one kernel, at most: each walks all indices.
constexpr int64_t kMaxUnits = 32;
/// Units that keep several threads busy.
constexpr int64_t kMinUnits = 8;
/// Columns of a unit, at least: two cache lines or more of each row.
constexpr int64_t kMinColumns = 64;

class ScatterEmitter {
public:
  explicit ScatterEmitter(kern::ScatterOp op)
      : lookup(cast<RankedTensorType>(op.getType()),
               cast<RankedTensorType>(op.getIndices().getType())) {
    int64_t planes = lookup.planes(), inner = lookup.inner;
    int64_t elements = planes * lookup.size * inner;
    int64_t owned =
        std::max<int64_t>(kUnitElements, llvm::divideCeil(elements, kMaxUnits));
    rows = std::clamp<int64_t>(owned / inner, 1, lookup.size);
    ranges = llvm::divideCeil(lookup.size, rows);
    rows = llvm::divideCeil(lookup.size, ranges);
    // A table of few rows is shared by columns.
    pieces = std::clamp<int64_t>(kMinUnits / (planes * ranges), 1,
                                 std::max<int64_t>(inner / kMinColumns, 1));
    columns = llvm::alignTo(llvm::divideCeil(inner, pieces),
                            pieces > 1 ? kMinColumns : 1);
    pieces = llvm::divideCeil(inner, columns);
    units = planes * ranges * pieces;
    unitsPerTile =
        std::max<int64_t>(1, kTileElements / ((rows + lookup.count) * columns));
  }

  int64_t getTiles() const { return llvm::divideCeil(units, unitsPerTile); }

  void emit(KernelBuilder &k) const {
    Val updates = k.buffer(0u), indices = k.buffer(1u), result = k.buffer(2u);
    k.forTiles([&](Val tile) {
      Val first = k.mul(tile, unitsPerTile);
      Val last = k.min(k.add(first, unitsPerTile), k.i64(units));
      k.loop(first, last, 1,
             [&](Val unit) { emitUnit(k, updates, indices, result, unit); });
    });
  }

private:
  void emitUnit(KernelBuilder &k, Val updates, Val indices, Val result,
                Val unit) const {
    llvm::Type *element = k.memoryType(lookup.element);
    Vals at = k.delinearize(unit, {lookup.planes(), ranges, pieces});
    Val plane = at[0], firstRow = k.mul(at[1], rows);
    Val firstColumn = k.mul(at[2], columns);
    Val rowCount = part(k, firstRow, rows, lookup.size);
    Val columnCount = part(k, firstColumn, columns, lookup.inner);
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

  /// Elements of [first, first + length) below `size`.
  static Val part(KernelBuilder &k, Val first, int64_t length, int64_t size) {
    if (size % length == 0)
      return k.i64(length);
    return k.min(k.i64(length), k.sub(k.i64(size), first));
  }

  void fill(KernelBuilder &k, Val own, Val rowCount, Val columnCount) const {
    llvm::Type *element = k.memoryType(lookup.element);
    Val zeros = llvm::Constant::getNullValue(k.vectorOf(element));
    auto fillRun = [&](Val begin, Val count) {
      k.vectorLoop(count, 4, [&](Val j, Val mask) {
        k.storeVector(zeros, k.address(begin, element, j), mask);
      });
    };
    if (pieces == 1)
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
  int64_t rows, ranges, columns, pieces, units, unitsPerTile;
};
} // namespace

KernelPlan bessemer::cpu::planScatter(kern::ScatterOp op, const CPUTarget &) {
  ScatterEmitter emitter(op);
  return {emitter.getTiles(), 0,
          [emitter](KernelBuilder &k) { emitter.emit(k); }};
}
