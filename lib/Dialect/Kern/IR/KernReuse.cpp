// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which operand buffers a kernel may overwrite with its results: the contract
// between the kernel families and the memory planner.

#include "bessemer/Dialect/Kern/IR/Kern.h"

using namespace mlir;
using namespace bessemer::kern;

/// Whether both values are tensors of equal size in memory.
static bool sameBytes(Value operand, Value result) {
  auto from = dyn_cast<RankedTensorType>(operand.getType());
  auto to = dyn_cast<RankedTensorType>(result.getType());
  return from && to && from.getElementType() == to.getElementType() &&
         from.getShape() == to.getShape();
}

static AffineMap mapAt(ArrayAttr maps, unsigned index) {
  return cast<AffineMapAttr>(maps[index]).getValue();
}

/// The value that `value` is a reshape of: both are the same bytes.
static Value withoutReshapes(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Whether another operand than `operand` is the same bytes with another map
/// or (read in part) of another shape: its elements would be read after they
/// were overwritten.
static bool readElsewhere(ValueRange inputs, ArrayAttr maps, unsigned operand) {
  for (auto [index, input] : llvm::enumerate(inputs))
    if (index != operand &&
        withoutReshapes(input) == withoutReshapes(inputs[operand]) &&
        (mapAt(maps, index) != mapAt(maps, operand) ||
         input.getType() != inputs[operand].getType()))
      return true;
  return false;
}

bool MapOp::canReuseOperand(unsigned operand, unsigned result) {
  AffineMap map = mapAt(getIndexingMaps(), operand);
  return sameBytes(getInputs()[operand], getResult(result)) &&
         map == mapAt(getIndexingMaps(), getInputs().size() + result) &&
         map.getNumResults() == getBounds().size() &&
         !readElsewhere(getInputs(), getIndexingMaps(), operand);
}

/// A row is read by every phase and written by the last one, element by
/// element; a value per row is read before and written after all of its row.
/// An operand of one kind must not give its buffer to a result of the other.
template <typename OpTy>
static bool canReuseInFolding(OpTy op, unsigned operand, unsigned result) {
  ArrayAttr maps = op.getIndexingMaps();
  AffineMap map = mapAt(maps, operand);
  if (!sameBytes(op.getInputs()[operand], op.getResult(result)) ||
      map != mapAt(maps, op.getInputs().size() + result) ||
      readElsewhere(op.getInputs(), maps, operand))
    return false;
  unsigned reduced = llvm::count_if(
      op.getReduced(), [&](int64_t dim) { return map.isFunctionOfDim(dim); });
  // All iteration dimensions, or exactly those that are not reduced.
  size_t rank = op.getBounds().size();
  return map.getNumResults() == rank ||
         (reduced == 0 && map.getNumResults() == rank - op.getReduced().size());
}

bool RowsOp::canReuseOperand(unsigned operand, unsigned result) {
  return canReuseInFolding(*this, operand, result);
}

bool ColumnsOp::canReuseOperand(unsigned operand, unsigned result) {
  return canReuseInFolding(*this, operand, result);
}

bool GemmOp::canReuseOperand(unsigned operand, unsigned result) {
  // a and b are read by many tiles; an extra is read where it is replaced.
  if (operand < 2)
    return false;
  Value value = getOperand(operand);
  if (withoutReshapes(value) == withoutReshapes(getA()) ||
      withoutReshapes(value) == withoutReshapes(getB()))
    return false;
  unsigned extra = operand - 2;
  AffineMap map = mapAt(getIndexingMaps(), extra);
  return sameBytes(value, getResult(result)) &&
         map == mapAt(getIndexingMaps(), getExtras().size() + result) &&
         map.getNumResults() == getBounds().size() &&
         !readElsewhere(getExtras(), getIndexingMaps(), extra);
}

bool ConvOp::canReuseOperand(unsigned, unsigned) { return false; }
bool WindowOp::canReuseOperand(unsigned, unsigned) { return false; }
bool GatherOp::canReuseOperand(unsigned, unsigned) { return false; }
bool ScatterOp::canReuseOperand(unsigned, unsigned) { return false; }
bool NormOp::canReuseOperand(unsigned, unsigned) { return false; }

bool UpdateOp::canReuseOperand(unsigned operand, unsigned result) {
  // Results are the parameters, then the moments; operands the parameters,
  // the gradients, the moments, the scalars. A gradient may go to its
  // parameter or one of its moments as well: it is read at the same element.
  unsigned count = getParameters().size();
  unsigned moments = getMomentsPerParameter();
  unsigned resultOwner = result < count ? result : (result - count) / moments;
  if (operand < count)
    return operand == result;
  if (operand < 2 * count)
    return operand - count == resultOwner;
  if (operand < 2 * count + getMoments().size())
    return operand - count == result;
  return false;
}

bool TableUpdateOp::canReuseOperand(unsigned operand, unsigned result) {
  // Operands are the table, rows, indices, moments, scalars; results the table,
  // then the moments.
  constexpr unsigned firstMoment = 3;
  if (result == 0)
    return operand == 0;
  return operand - firstMoment == result - 1;
}
