// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lookups in tables, slices, padding, concatenation.

#include "Operations.h"
#include "llvm/ADT/TypeSwitch.h"
#include <limits>

using namespace mlir;

namespace bessemer::reference {
namespace {

void copyElement(const Tensor &from, int64_t i, Tensor &to, int64_t j) {
  if (to.isFloat())
    to.floats[j] = from.floats[i];
  else
    to.integers[j] = from.integers[i];
}

/// Calls `visit` with the positions of each element of a box of shape `box`: in
/// the box, and in the tensor of shape `whole` where it begins at `offsets`.
void forEachInBox(
    ArrayRef<int64_t> box, ArrayRef<int64_t> offsets, ArrayRef<int64_t> whole,
    llvm::function_ref<void(int64_t inBox, int64_t inWhole)> visit) {
  SmallVector<int64_t> strides = stridesOf(whole);
  int64_t begin = offsetOf(offsets, strides), next = 0;
  forEachIndex(box, [&](ArrayRef<int64_t> index) {
    visit(next++, begin + offsetOf(index, strides));
  });
}

Tensor slice(graph::SliceOp op, const Tensor &in) {
  Tensor out(resultType(op));
  forEachInBox(out.shape(), op.getOffsets(), in.shape(),
               [&](int64_t small, int64_t large) {
                 copyElement(in, large, out, small);
               });
  return out;
}

Tensor pad(graph::PadOp op, const Tensor &in) {
  Tensor out(resultType(op));
  forEachInBox(in.shape(), op.getLow(), out.shape(),
               [&](int64_t small, int64_t large) {
                 copyElement(in, small, out, large);
               });
  return out;
}

Tensor concat(graph::ConcatOp op, Operands inputs) {
  Tensor out(resultType(op));
  SmallVector<int64_t> offsets(out.type.getRank(), 0);
  for (const Tensor *in : inputs) {
    forEachInBox(in->shape(), offsets, out.shape(),
                 [&](int64_t small, int64_t large) {
                   copyElement(*in, small, out, large);
                 });
    offsets[op.getDim()] += in->shape()[op.getDim()];
  }
  return out;
}

/// Calls `visit` for each looked up element: its position, and that of the
/// element in the table, or -1 when its index lies outside.
void forEachLookup(ArrayRef<int64_t> table, const Tensor &indices,
                   ArrayRef<int64_t> rows, int64_t dim, int64_t batch,
                   llvm::function_ref<void(int64_t row, int64_t entry)> visit) {
  SmallVector<int64_t> tableStrides = stridesOf(table);
  SmallVector<int64_t> indexStrides = stridesOf(indices.shape());
  int64_t indexRank = indices.type.getRank(), next = 0;
  forEachIndex(rows, [&](ArrayRef<int64_t> row) {
    SmallVector<int64_t> index(row.take_front(batch));
    llvm::append_range(index, row.slice(dim, indexRank - batch));
    int64_t key = indices.integers[offsetOf(index, indexStrides)];
    SmallVector<int64_t> entry(row.take_front(dim));
    entry.push_back(key);
    llvm::append_range(entry, row.drop_front(dim + indexRank - batch));
    bool isInside = key >= 0 && key < table[dim];
    visit(next++, isInside ? offsetOf(entry, tableStrides) : -1);
  });
}

Tensor gather(graph::GatherOp op, const Tensor &table, const Tensor &indices) {
  Tensor out(resultType(op));
  forEachLookup(table.shape(), indices, out.shape(), op.getDim(), op.getBatch(),
                [&](int64_t row, int64_t entry) {
                  if (entry >= 0)
                    copyElement(table, entry, out, row);
                  else if (out.isFloat())
                    out.floats[row] = std::numeric_limits<double>::quiet_NaN();
                });
  return out;
}

Tensor scatterAdd(graph::ScatterAddOp op, const Tensor &updates,
                  const Tensor &indices) {
  Tensor out(resultType(op));
  forEachLookup(out.shape(), indices, updates.shape(), op.getDim(),
                op.getBatch(), [&](int64_t row, int64_t entry) {
                  if (entry >= 0)
                    out.floats[entry] += updates.floats[row];
                });
  return out;
}

} // namespace

Results evaluateDataMovement(Operation *op, Operands in) {
  using Values = std::vector<Tensor>;
  return llvm::TypeSwitch<Operation *, Results>(op)
      .Case<graph::SliceOp>([&](auto x) { return Values{slice(x, *in[0])}; })
      .Case<graph::PadOp>([&](auto x) { return Values{pad(x, *in[0])}; })
      .Case<graph::ConcatOp>([&](auto x) { return Values{concat(x, in)}; })
      .Case<graph::GatherOp>(
          [&](auto x) { return Values{gather(x, *in[0], *in[1])}; })
      .Case<graph::ScatterAddOp>(
          [&](auto x) { return Values{scatterAdd(x, *in[0], *in[1])}; })
      .Default([](auto) { return std::nullopt; });
}

} // namespace bessemer::reference
