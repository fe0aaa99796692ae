// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Indexing maps whose results are dimensions plus constants.

#include "bessemer/Dialect/Kern/IR/Kern.h"

using namespace mlir;
using namespace bessemer::kern;

/// `expr` as a dimension plus a constant.
static std::optional<MapEntry> toEntry(AffineExpr expr) {
  int64_t offset = 0;
  if (auto sum = dyn_cast<AffineBinaryOpExpr>(expr);
      sum && sum.getKind() == AffineExprKind::Add)
    if (auto constant = dyn_cast<AffineConstantExpr>(sum.getRHS())) {
      offset = constant.getValue();
      expr = sum.getLHS();
    }
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return MapEntry{dim.getPosition(), offset};
  return std::nullopt;
}

MapEntry bessemer::kern::getEntry(AffineMap map, unsigned i) {
  return *toEntry(map.getResult(i));
}

bool bessemer::kern::isShiftedProjection(AffineMap map) {
  if (map.getNumSymbols())
    return false;
  llvm::SmallDenseSet<int64_t> seen;
  return llvm::all_of(map.getResults(), [&](AffineExpr expr) {
    std::optional<MapEntry> entry = toEntry(expr);
    return entry && seen.insert(entry->dim).second;
  });
}

AffineMap bessemer::kern::getShiftedMap(ArrayRef<MapEntry> entries,
                                        unsigned rank, MLIRContext *context) {
  SmallVector<AffineExpr> exprs;
  for (MapEntry entry : entries)
    exprs.push_back(getAffineDimExpr(entry.dim, context) + entry.offset);
  return AffineMap::get(rank, 0, exprs, context);
}
