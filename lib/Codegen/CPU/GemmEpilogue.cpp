// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Epilogues of kern.gemm: vectors run along the columns.

#include "GemmEpilogue.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::cpu;

/// Dimensions of the space.
static constexpr int64_t kBatch = 0, kRow = 1, kColumn = 2;

std::vector<GemmEpilogue::Column>
GemmEpilogue::beginColumns(KernelBuilder &k, RegionEmitter &outer,
                           const Position &position, int64_t vectors,
                           int64_t last) {
  bindScalars(k, outer, space, position, {kRow, kColumn});
  outer.evaluateKnown();
  std::vector<Column> columns;
  for (int64_t j = 0; j < vectors; ++j) {
    Val offset = k.i64(j * k.lanes());
    Val mask = j + 1 == vectors ? k.tailMask(last) : nullptr;
    columns.push_back({offset, mask, RegionEmitter(&outer)});
    bindVectors(k, columns[j].scope, space,
                position.at(k, space, {kColumn}, {offset}), kColumn, mask,
                {kRow});
    columns[j].scope.evaluateKnown();
  }
  return columns;
}

void GemmEpilogue::emitElement(KernelBuilder &k, Column &column,
                               const Position &row, Val accumulator) {
  Position here = row.at(k, space, {kColumn}, {column.offset});
  RegionEmitter scope(&column.scope);
  scope.bind(body.getArgument(0), accumulator);
  bindScalars(k, scope, space, here, {kColumn});
  bindVectors(k, scope, space, here, kColumn, column.mask);
  Vals values;
  for (Value value : body.getTerminator()->getOperands())
    values.push_back(scope.get(value));
  for (auto [i, access] : llvm::enumerate(space.results))
    k.storeElements(values[i], access.type, here.results[i],
                    access.strides[kColumn], column.mask);
}

void GemmEpilogue::emitStrip(KernelBuilder &k, Origin origin,
                             ArrayRef<Val> accumulators, int64_t rows,
                             int64_t vectors, int64_t last) {
  Position position = buffers.at(k, space, {kBatch, kRow, kColumn}, origin);
  RegionEmitter outer(k, body);
  std::vector<Column> columns = beginColumns(k, outer, position, vectors, last);
  for (int64_t i = 0; i < rows; ++i) {
    Position row = position.at(k, space, {kRow}, {k.i64(i)});
    for (int64_t j = 0; j < vectors; ++j)
      emitElement(k, columns[j], row, accumulators[i * vectors + j]);
  }
}

void GemmEpilogue::emitRows(KernelBuilder &k, Origin origin, Val accumulators,
                            Val rows, int64_t vectors, int64_t last) {
  llvm::Type *f32 = k.ir.getFloatTy();
  Position position = buffers.at(k, space, {kBatch, kRow, kColumn}, origin);
  RegionEmitter outer(k, body);
  std::vector<Column> columns = beginColumns(k, outer, position, vectors, last);
  k.loop(k.i64(0), rows, 1, [&](Val index) {
    Position row = position.at(k, space, {kRow}, {index});
    Val from = k.address(accumulators, f32, k.mul(index, vectors * k.lanes()));
    for (int64_t j = 0; j < vectors; ++j)
      emitElement(
          k, columns[j], row,
          k.loadVector(f32, k.address(from, f32, j * k.lanes()), nullptr));
  });
}
