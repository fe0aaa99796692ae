// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kern.table_update of all entries: a unit owns a range of entries (or of the
// columns of them) of one plane of the table. It sorts the indices that name
// them into lists, one for each block of entries, and then goes through its
// blocks: the gradients of a block are added up in a buffer that stays in the
// cache, in the order of the indices as kern.scatter does, and the block is
// updated.

#include "TableUpdate.h"
#include "TableUnits.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::cpu;

TableUpdateEmitter::Context::Context(KernelBuilder &k, kern::TableUpdateOp op)
    : k(k), rows(k.buffer(1u)), indices(k.buffer(2u)),
      region(k, op.getBody().front()) {
  unsigned moments = op.getMoments().size(), scalars = op.getScalars().size();
  unsigned firstScalar = 3 + moments, firstResult = firstScalar + scalars;
  from.push_back(k.buffer(0u));
  for (unsigned i = 0; i < moments; ++i)
    from.push_back(k.buffer(3 + i));
  for (unsigned i = 0; i <= moments; ++i)
    to.push_back(k.buffer(firstResult + i));
  for (unsigned i = 0; i < scalars; ++i)
    region.bind(op.getBody().getArgument(2 + moments + i),
                k.load(k.ir.getFloatTy(), k.buffer(firstScalar + i)));
  region.evaluateKnown();
}

Val TableUpdateEmitter::rowAddress(const Context &c, Val plane, Val number,
                                   Val column) const {
  KernelBuilder &k = c.k;
  Val row = k.add(k.mul(plane, lookup.count), number);
  return k.address(c.rows, k.ir.getFloatTy(),
                   k.add(k.mul(row, lookup.inner), column));
}

void TableUpdateEmitter::clear(KernelBuilder &k, Val sums, Val count) const {
  llvm::Type *f32 = k.ir.getFloatTy();
  k.vectorLoop(count, 4, [&](Val j, Val mask) {
    k.storeVector(k.splat(k.vectorOf(f32), 0), k.address(sums, f32, j), mask);
  });
}

void TableUpdateEmitter::addRow(KernelBuilder &k, Val sums, Val row,
                                Val count) const {
  llvm::Type *f32 = k.ir.getFloatTy();
  if (lookup.inner == 1)
    return k.store(k.ir.CreateFAdd(k.load(f32, sums), k.load(f32, row)), sums);
  k.vectorLoop(count, 4, [&](Val j, Val mask) {
    Val here = k.address(sums, f32, j);
    Val more = k.loadVector(f32, k.address(row, f32, j), mask);
    k.storeVector(k.ir.CreateFAdd(k.loadVector(f32, here, mask), more), here,
                  mask);
  });
}

void TableUpdateEmitter::update(const Context &c, Val first, Val gradient,
                                Val count) const {
  KernelBuilder &k = c.k;
  llvm::Type *f32 = k.ir.getFloatTy();
  Block &body = c.region.getBody();
  k.vectorLoop(count, 2, [&](Val j, Val mask) {
    RegionEmitter scope(&c.region);
    Val at = k.add(first, j);
    auto bind = [&](unsigned argument, Val base, Val offset) {
      scope.bind(body.getArgument(argument),
                 k.loadVector(f32, k.address(base, f32, offset), mask));
    };
    bind(0, c.from[0], at);
    bind(1, gradient, j);
    for (size_t i = 1; i < c.from.size(); ++i)
      bind(1 + i, c.from[i], at);
    Vals values;
    for (Value value : body.getTerminator()->getOperands())
      values.push_back(k.broadcast(scope.get(value)));
    for (auto [base, value] : llvm::zip_equal(c.to, values))
      k.storeVector(value, k.address(base, f32, at), mask);
  });
}

namespace {
/// Elements that cost as much to update as one index costs to look at.
constexpr int64_t kElementsPerIndex = 16;
/// Elements of a block.
constexpr int64_t kBlockElements = 2048;

/// Units that a table is worth.
int64_t wantedUnits(const Lookup &lookup) {
  int64_t planes = lookup.planes(), size = lookup.size, inner = lookup.inner;
  // Each unit looks at all indices of its plane.
  int64_t owned =
      std::max(TableUnits::kUnitElements, kElementsPerIndex * lookup.count);
  int64_t work = planes * (size + lookup.count) * inner;
  return std::max<int64_t>(
      llvm::divideCeil(planes * size * inner, owned),
      std::min<int64_t>(TableUnits::kMinUnits,
                        llvm::divideCeil(work, kTileElements)));
}

class SweepEmitter : TableUpdateEmitter {
public:
  explicit SweepEmitter(kern::TableUpdateOp op)
      : TableUpdateEmitter(op), units(shared(lookup)),
        columns(units.getColumns()),
        blockRows(
            std::clamp<int64_t>(kBlockElements / columns, 1, units.getRows())),
        blocks(llvm::divideCeil(units.getRows(), blockRows)) {}

  KernelPlan plan() const {
    return {units.getTiles(), sumsAt() + blockRows * columns * sizeof(float),
            [emitter = *this](KernelBuilder &k) { emitter.emit(k); }};
  }

private:
  static TableUnits shared(const Lookup &lookup) {
    int64_t wanted = wantedUnits(lookup);
    return TableUnits(
        lookup,
        std::min<int64_t>(llvm::divideCeil(wanted, lookup.planes()),
                          lookup.size),
        [&](int64_t ranges) -> int64_t {
          return llvm::divideCeil(wanted, ranges);
        });
  }

  /// Scratch: the first position of each block's list, the next position of
  /// each position, the sums of a block.
  uint64_t sumsAt() const {
    return llvm::alignTo((blocks + lookup.count) * linkBytes(), 64);
  }

  void emit(KernelBuilder &k) const {
    Context c(k, op);
    units.forEach(k, [&](const TableUnits::Unit &unit) { emitUnit(c, unit); });
  }

  void emitUnit(const Context &c, const TableUnits::Unit &unit) const {
    KernelBuilder &k = c.k;
    auto [plane, firstRow, firstColumn, rowCount, columnCount] = unit;
    Val heads = k.scratch;
    Val next = k.address(heads, linkType(k), k.i64(blocks));
    sortIndices(c, plane, firstRow, rowCount, heads, next);

    Val sums = k.address(k.scratch, k.ir.getInt8Ty(), k.i64(sumsAt()));
    llvm::Type *f32 = k.ir.getFloatTy();
    Val blockCount = k.div(k.add(rowCount, blockRows - 1), blockRows);
    k.loop(k.i64(0), blockCount, 1, [&](Val block) {
      Val before = k.mul(block, blockRows);
      Val count = k.min(k.i64(blockRows), k.sub(rowCount, before));
      Val begin = k.add(firstRow, before);
      clear(k, sums, k.mul(count, columns));
      k.follow(loadLink(k, heads, block), [&](Val number) {
        Val row = k.sub(index(c, plane, number), begin);
        addRow(k, k.address(sums, f32, k.mul(row, columns)),
               rowAddress(c, plane, number, firstColumn), columnCount);
        return loadLink(k, next, number);
      });
      Val first =
          k.add(k.mul(k.add(k.mul(plane, lookup.size), begin), lookup.inner),
                firstColumn);
      if (units.hasWholeRows())
        return update(c, first, sums, k.mul(count, columns));
      k.loop(k.i64(0), count, 1, [&](Val row) {
        update(c, k.add(first, k.mul(row, lookup.inner)),
               k.address(sums, f32, k.mul(row, columns)), columnCount);
      });
    });
  }

  /// Makes the lists of positions in the order of the indices.
  void sortIndices(const Context &c, Val plane, Val firstRow, Val rowCount,
                   Val heads, Val next) const {
    KernelBuilder &k = c.k;
    k.loop(k.i64(0), k.i64(blocks), 1,
           [&](Val block) { storeLink(k, k.i64(-1), heads, block); });
    k.loop(k.i64(0), k.i64(lookup.count), 1, [&](Val fromLast) {
      Val number = k.sub(k.i64(lookup.count - 1), fromLast);
      Val row = k.sub(index(c, plane, number), firstRow);
      // Also indices below: they wrap around.
      k.ifThen(k.ir.CreateICmpULT(row, rowCount), [&] {
        Val block = k.div(row, blockRows);
        storeLink(k, loadLink(k, heads, block), next, number);
        storeLink(k, number, heads, block);
      });
    });
  }

  TableUnits units;
  int64_t columns, blockRows, blocks;
};
} // namespace

KernelPlan bessemer::cpu::planTableUpdate(kern::TableUpdateOp op,
                                          const CPUTarget &) {
  return op.getTouchedOnly() ? planTouchedUpdate(op) : SweepEmitter(op).plan();
}
