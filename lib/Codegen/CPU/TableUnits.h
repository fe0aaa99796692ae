// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How kern.scatter and kern.table_update share a table among units of work.

#ifndef BESSEMER_LIB_CODEGEN_CPU_TABLEUNITS_H
#define BESSEMER_LIB_CODEGEN_CPU_TABLEUNITS_H

#include "Families.h"
#include "Lookup.h"

namespace bessemer::cpu {

/// A unit owns a range of rows of one plane, or a piece of their columns. It
/// looks at all indices of the plane, so that units are large.
class TableUnits {
public:
  /// Elements of the table that a unit owns, at least.
  static constexpr int64_t kUnitElements = 1 << 15;
  /// Units that keep several threads busy.
  static constexpr int64_t kMinUnits = 8;

  /// Splits the rows into about so many ranges. A table of few rows is shared
  /// by columns: `wantedPieces` says in how many pieces, by the number of
  /// ranges of all planes.
  TableUnits(const Lookup &lookup, int64_t wantedRanges,
             llvm::function_ref<int64_t(int64_t ranges)> wantedPieces)
      : planes(lookup.planes()), size(lookup.size), inner(lookup.inner) {
    rows = llvm::divideCeil(size, wantedRanges);
    ranges = llvm::divideCeil(size, rows);
    pieces = std::clamp<int64_t>(wantedPieces(planes * ranges), 1,
                                 std::max<int64_t>(inner / kMinColumns, 1));
    columns = llvm::alignTo(llvm::divideCeil(inner, pieces),
                            pieces > 1 ? kMinColumns : 1);
    pieces = llvm::divideCeil(inner, columns);
    unitsPerTile =
        std::max<int64_t>(1, kTileElements / ((rows + lookup.count) * columns));
  }

  /// Rows and columns of a unit, but for the last ones.
  int64_t getRows() const { return rows; }
  int64_t getColumns() const { return columns; }
  /// Whether a unit's rows lie one after the other.
  bool hasWholeRows() const { return pieces == 1; }
  int64_t getTiles() const {
    return llvm::divideCeil(planes * ranges * pieces, unitsPerTile);
  }

  struct Unit {
    Val plane, firstRow, firstColumn, rowCount, columnCount;
  };

  /// The units of the kernel's tiles.
  void forEach(KernelBuilder &k,
               llvm::function_ref<void(const Unit &unit)> body) const {
    k.forTiles([&](Val tile) {
      Val first = k.mul(tile, unitsPerTile);
      Val last =
          k.min(k.add(first, unitsPerTile), k.i64(planes * ranges * pieces));
      k.loop(first, last, 1, [&](Val unit) {
        Vals at = k.delinearize(unit, {planes, ranges, pieces});
        Unit result;
        result.plane = at[0];
        result.firstRow = k.mul(at[1], rows);
        result.firstColumn = k.mul(at[2], columns);
        result.rowCount = part(k, result.firstRow, rows, size);
        result.columnCount = part(k, result.firstColumn, columns, inner);
        body(result);
      });
    });
  }

private:
  /// Columns of a piece, at least: two cache lines or more of each row.
  static constexpr int64_t kMinColumns = 64;

  /// Elements of [first, first + length) below `size`.
  static Val part(KernelBuilder &k, Val first, int64_t length, int64_t size) {
    if (size % length == 0)
      return k.i64(length);
    return k.min(k.i64(length), k.sub(k.i64(size), first));
  }

  int64_t planes, size, inner;
  int64_t rows, ranges, columns, pieces, unitsPerTile;
};

} // namespace bessemer::cpu

#endif // BESSEMER_LIB_CODEGEN_CPU_TABLEUNITS_H
