// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kern.table_update of the entries that are looked up: its cost depends on the
// number of indices alone. A unit owns every n-th group of entries of one plane
// of the table, so that those that are looked up often do not meet in one. It
// collects the positions of its indices, joins those of equal entries by a hash
// table, adds up the rows of each entry in the order of the indices as
// kern.scatter does, and updates it.

#include "TableUpdate.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::cpu;

namespace {
/// Units of a plane, at most: each looks at all indices.
constexpr int64_t kMaxUnits = 16;
/// Neighbouring elements that are one unit's: a cache line.
constexpr int64_t kGroupElements = 16;
/// 2^64 divided by the golden ratio.
constexpr int64_t kHashFactor = -0x61C8864680B583EB;

class TouchedEmitter : TableUpdateEmitter {
public:
  explicit TouchedEmitter(kern::TableUpdateOp op) : TableUpdateEmitter(op) {
    group = llvm::PowerOf2Ceil(llvm::divideCeil(kGroupElements, lookup.inner));
    int64_t work = std::max<int64_t>(lookup.count * lookup.inner, 1);
    shares = std::clamp<int64_t>(llvm::divideCeil(work, kTileElements), 1,
                                 std::min<int64_t>(kMaxUnits, lookup.size));
    shares = llvm::bit_floor(static_cast<uint64_t>(shares));
    units = lookup.planes() * shares;
    unitsPerTile = std::max<int64_t>(1, kTileElements * shares / work);
    slots = llvm::PowerOf2Ceil(2 * lookup.count);
  }

  KernelPlan plan() const {
    return {static_cast<int64_t>(llvm::divideCeil(units, unitsPerTile)),
            sumsAt() + lookup.inner * sizeof(float),
            [emitter = *this](KernelBuilder &k) { emitter.emit(k); }};
  }

private:
  /// Scratch: positions (and one more that is written in vain), the next of
  /// each, the slots' entries and first positions, the sums of an entry.
  uint64_t sumsAt() const {
    return llvm::alignTo((2 * lookup.count + 1 + 2 * slots) * linkBytes(), 64);
  }

  void emit(KernelBuilder &k) const {
    Context c(k, op);
    k.forTiles([&](Val tile) {
      Val first = k.mul(tile, unitsPerTile);
      Val last = k.min(k.add(first, unitsPerTile), k.i64(units));
      k.loop(first, last, 1, [&](Val unit) {
        Vals at = k.delinearize(unit, {lookup.planes(), shares});
        copyOthers(c, at[0], at[1]);
        emitUnit(c, at[0], at[1]);
      });
    });
  }

  /// Whether the unit `share` of a plane owns `entry`.
  Val isOwn(KernelBuilder &k, Val entry, Val share) const {
    Val inside = k.ir.CreateICmpULT(entry, k.i64(lookup.size));
    Val owner = k.ir.CreateAnd(k.ir.CreateLShr(entry, llvm::Log2_64(group)),
                               k.i64(shares - 1));
    return k.ir.CreateAnd(inside, k.ir.CreateICmpEQ(owner, share));
  }

  /// Copies what may stay as it is, where it is not updated in place.
  void copyOthers(const Context &c, Val plane, Val share) const {
    KernelBuilder &k = c.k;
    llvm::Type *f32 = k.ir.getFloatTy();
    int64_t length = group * lookup.inner, plain = lookup.size * lookup.inner;
    for (auto [from, to] : llvm::zip_equal(c.from, c.to))
      k.ifThen(k.ir.CreateICmpNE(from, to), [&] {
        k.loop(k.mul(share, length), k.i64(plain), length * shares,
               [&](Val first) {
                 Val at = k.add(first, k.mul(plane, plain));
                 Val count = k.min(k.i64(length), k.sub(k.i64(plain), first));
                 k.vectorLoop(count, 2, [&](Val j, Val mask) {
                   Val element = k.add(at, j);
                   k.storeVector(
                       k.loadVector(f32, k.address(from, f32, element), mask),
                       k.address(to, f32, element), mask);
                 });
               });
      });
  }

  void emitUnit(const Context &c, Val plane, Val share) const {
    KernelBuilder &k = c.k;
    llvm::Type *link = linkType(k);
    Val positions = k.scratch;
    Val next = k.address(positions, link, k.i64(lookup.count + 1));
    Val entries = k.address(next, link, k.i64(lookup.count));
    Val heads = k.address(entries, link, k.i64(slots));
    Val sums = k.address(k.scratch, k.ir.getInt8Ty(), k.i64(sumsAt()));

    Val found = collect(c, plane, share, positions);
    k.ifThen(k.lessThan(k.i64(0), found), [&] {
      // The least power of two from 2 found on.
      Val zeros = k.ir.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz,
                                             k.sub(k.mul(found, 2), k.i64(1)),
                                             k.ir.getFalse());
      Val used = k.ir.CreateShl(k.i64(1), k.sub(k.i64(64), zeros));
      join(c, plane, found, used, positions, next, entries, heads);
      k.loop(k.i64(0), used, 1, [&](Val slot) {
        Val entry = loadLink(k, entries, slot);
        k.ifThen(k.ir.CreateICmpSGE(entry, k.i64(0)), [&] {
          clear(k, sums, k.i64(lookup.inner));
          k.follow(loadLink(k, heads, slot), [&](Val item) {
            Val number = loadLink(k, positions, item);
            addRow(k, sums, rowAddress(c, plane, number, k.i64(0)),
                   k.i64(lookup.inner));
            return loadLink(k, next, item);
          });
          Val row = k.add(k.mul(plane, lookup.size), entry);
          update(c, k.mul(row, lookup.inner), sums, k.i64(lookup.inner));
        });
      });
    });
  }

  /// Lists the positions of the unit's indices in order; returns their number.
  Val collect(const Context &c, Val plane, Val share, Val positions) const {
    KernelBuilder &k = c.k;
    return k.loop(k.i64(0), k.i64(lookup.count), 1, {k.i64(0)},
                  [&](Val number, llvm::ArrayRef<Val> carried) {
                    storeLink(k, number, positions, carried[0]);
                    Val own = isOwn(k, index(c, plane, number), share);
                    return Vals{k.add(carried[0],
                                      k.ir.CreateZExt(own, k.ir.getInt64Ty()))};
                  })[0];
  }

  /// Fills `used` slots: each has an entry and the list of its positions in
  /// order, or the entry -1.
  void join(const Context &c, Val plane, Val found, Val used, Val positions,
            Val next, Val entries, Val heads) const {
    KernelBuilder &k = c.k;
    k.loop(k.i64(0), used, 1,
           [&](Val slot) { storeLink(k, k.i64(-1), entries, slot); });
    Val most = k.sub(used, k.i64(1));
    k.loop(k.i64(0), found, 1, [&](Val fromLast) {
      Val item = k.sub(k.sub(found, fromLast), k.i64(1));
      Val entry = index(c, plane, loadLink(k, positions, item));
      // The upper half has the mixed bits.
      Val hash = k.ir.CreateLShr(k.mul(entry, kHashFactor), 32);
      Val slot = probe(k, k.ir.CreateAnd(hash, most), most, entries, entry);
      Val isNew = k.lessThan(loadLink(k, entries, slot), k.i64(0));
      storeLink(k, k.select(isNew, k.i64(-1), loadLink(k, heads, slot)), next,
                item);
      storeLink(k, entry, entries, slot);
      storeLink(k, item, heads, slot);
    });
  }

  /// The slot of `entry`, or the first free one, from `slot` on.
  Val probe(KernelBuilder &k, Val slot, Val most, Val entries,
            Val entry) const {
    return k.search(slot, [&](Val slot) {
      Val other = loadLink(k, entries, slot);
      Val isHere = k.ir.CreateOr(k.ir.CreateICmpEQ(other, entry),
                                 k.lessThan(other, k.i64(0)));
      return std::pair(isHere, k.ir.CreateAnd(k.add(slot, 1), most));
    });
  }

  int64_t group, shares, units, unitsPerTile, slots;
};
} // namespace

KernelPlan bessemer::cpu::planTouchedUpdate(kern::TableUpdateOp op) {
  return TouchedEmitter(op).plan();
}
