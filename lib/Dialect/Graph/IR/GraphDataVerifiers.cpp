// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of the ops that move elements.

#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "bessemer/Dialect/Graph/IR/TensorType.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::graph;

/// Checks that looking up `indices` in `table` gives `rows`.
static LogicalResult verifyLookup(Operation *op, RankedTensorType table,
                                  RankedTensorType indices,
                                  RankedTensorType rows, int64_t dim,
                                  int64_t batch) {
  if (batch < 0 || batch > indices.getRank())
    return op->emitOpError("expected at most ")
           << indices.getRank() << " batch dimensions, got " << batch;
  if (dim < batch || dim >= table.getRank())
    return op->emitOpError("expected dim in [")
           << batch << ", " << table.getRank() << "), got " << dim;
  if (table.getShape().take_front(batch) !=
      indices.getShape().take_front(batch))
    return op->emitOpError("expected the first ")
           << batch << " dimensions of the table and the indices to be equal, "
           << "got " << table << " and " << indices;
  SmallVector<int64_t> shape(table.getShape().take_front(dim));
  llvm::append_range(shape, indices.getShape().drop_front(batch));
  llvm::append_range(shape, table.getShape().drop_front(dim + 1));
  auto expected = RankedTensorType::get(shape, table.getElementType());
  if (rows != expected)
    return op->emitOpError("expected looked up elements of type ")
           << expected << ", got " << rows;
  return success();
}

LogicalResult GatherOp::verify() {
  return verifyLookup(*this, tensorOf(getTable()), tensorOf(getIndices()),
                      tensorOf(getResult()), getDim(), getBatch());
}

LogicalResult ScatterAddOp::verify() {
  return verifyLookup(*this, tensorOf(getResult()), tensorOf(getIndices()),
                      tensorOf(getUpdates()), getDim(), getBatch());
}

/// Checks that `small` lies in `large` at `offsets`.
static LogicalResult verifyBox(Operation *op, RankedTensorType small,
                               RankedTensorType large,
                               ArrayRef<int64_t> offsets, StringRef what) {
  if (small.getElementType() != large.getElementType() ||
      small.getRank() != large.getRank())
    return op->emitOpError("expected equal element types and ranks, got ")
           << small << " and " << large;
  if (static_cast<int64_t>(offsets.size()) != small.getRank())
    return op->emitOpError("expected ")
           << small.getRank() << ' ' << what << ", got " << offsets.size();
  for (auto [dim, offset] : llvm::enumerate(offsets))
    if (offset < 0 || offset > large.getDimSize(dim) - small.getDimSize(dim))
      return op->emitOpError("expected dimension ")
             << dim << " of size " << small.getDimSize(dim) << " at " << offset
             << " to lie within size " << large.getDimSize(dim);
  return success();
}

LogicalResult SliceOp::verify() {
  return verifyBox(*this, tensorOf(getResult()), tensorOf(getInput()),
                   getOffsets(), "offsets");
}

LogicalResult PadOp::verify() {
  return verifyBox(*this, tensorOf(getInput()), tensorOf(getResult()), getLow(),
                   "sizes of low padding");
}

LogicalResult ConcatOp::verify() {
  RankedTensorType result = tensorOf(getResult());
  int64_t dim = getDim(), total = 0;
  if (dim < 0 || dim >= result.getRank())
    return emitOpError("expected dim below ")
           << result.getRank() << ", got " << dim;
  for (Value input : getInputs()) {
    RankedTensorType type = tensorOf(input);
    SmallVector<int64_t> shape(type.getShape());
    if (static_cast<int64_t>(shape.size()) == result.getRank()) {
      total += shape[dim];
      shape[dim] = result.getDimSize(dim);
    }
    if (result.clone(shape) != result ||
        type.getElementType() != result.getElementType())
      return emitOpError("expected inputs that differ from ")
             << result << " in dimension " << dim << " only, got " << type;
  }
  if (total != result.getDimSize(dim))
    return emitOpError("expected dimension ")
           << dim << " of the inputs to add up to " << result.getDimSize(dim)
           << ", got " << total;
  return success();
}
