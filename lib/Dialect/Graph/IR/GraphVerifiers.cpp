// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of graph ops: shapes and attributes agree.

#include "Geometry.h"
#include "bessemer/Dialect/Graph/IR/TensorType.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::graph;

LogicalResult StateOp::verify() {
  auto init = cast<RankedTensorType>(getInit().getShapedType());
  if (getLayout() && *getLayout() != kBlockedWeights)
    return emitOpError("expected layout ")
           << kBlockedWeights << ", got " << *getLayout();
  if (getLayout() ? getBlockedWeights(init) != getType() : init != getType())
    return emitOpError("expected init of type ")
           << getType() << (getLayout() ? " when in its layout" : "")
           << ", got " << init;
  if (getTrainable() && getRole() != StateRole::Parameter)
    return emitOpError("expected role parameter of a trainable state, got ")
           << stringifyStateRole(getRole());
  return success();
}

/// Checks that `symbol` names a state of type `type`.
static LogicalResult verifyStateUse(Operation *op, SymbolTableCollection &table,
                                    FlatSymbolRefAttr symbol, Type type) {
  auto state = table.lookupNearestSymbolFrom<StateOp>(op, symbol);
  if (!state)
    return op->emitOpError("expected a graph.state named ") << symbol;
  if (state.getType() != type)
    return op->emitOpError("expected type ")
           << state.getType() << " of state " << symbol << ", got " << type;
  return success();
}

LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &table) {
  return verifyStateUse(*this, table, getStateAttr(), getType());
}

LogicalResult WriteOp::verifySymbolUses(SymbolTableCollection &table) {
  return verifyStateUse(*this, table, getStateAttr(), getValue().getType());
}

LogicalResult StepValueOp::verify() {
  Builder builder(getContext());
  Type element = getField() == StepField::LearningRate
                     ? Type(builder.getF32Type())
                     : builder.getI64Type();
  auto expected = RankedTensorType::get({}, element);
  if (getType() != expected)
    return emitOpError("expected result type ")
           << expected << ", got " << getType();
  return success();
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType input = tensorOf(getInput()), result = tensorOf(getResult());
  if (input.getElementType() != result.getElementType())
    return emitOpError("expected element type ")
           << input.getElementType() << ", got " << result.getElementType();
  if (static_cast<int64_t>(getDims().size()) != input.getRank())
    return emitOpError("expected one entry of dims per input dimension (")
           << input.getRank() << "), got " << getDims().size();
  int64_t previous = -1;
  for (auto [index, dim] : llvm::enumerate(getDims())) {
    if (dim <= previous || dim >= result.getRank())
      return emitOpError("expected strictly increasing dims below ")
             << result.getRank() << ", got " << dim << " at " << index;
    if (input.getDimSize(index) != result.getDimSize(dim))
      return emitOpError("expected result dimension ")
             << dim << " of size " << input.getDimSize(index) << ", got "
             << result.getDimSize(dim);
    previous = dim;
  }
  return success();
}

LogicalResult TransposeOp::verify() {
  RankedTensorType input = tensorOf(getInput()), result = tensorOf(getResult());
  SmallVector<int64_t> sorted(getPermutation());
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, input.getRank())))
    return emitOpError("expected a permutation of ")
           << input.getRank() << " dimensions";
  if (result.getRank() != input.getRank() ||
      result.getElementType() != input.getElementType())
    return emitOpError("expected a result of rank and element type of ")
           << input << ", got " << result;
  for (auto [index, dim] : llvm::enumerate(getPermutation()))
    if (result.getDimSize(index) != input.getDimSize(dim))
      return emitOpError("expected result dimension ")
             << index << " of size " << input.getDimSize(dim) << ", got "
             << result.getDimSize(index);
  return success();
}

LogicalResult IotaOp::verify() {
  int64_t rank = cast<RankedTensorType>(getType()).getRank();
  if (getDim() < 0 || static_cast<int64_t>(getDim()) >= rank)
    return emitOpError("expected dim below ") << rank << ", got " << getDim();
  return success();
}

LogicalResult ReduceOp::verify() {
  RankedTensorType input = tensorOf(getInput()), result = tensorOf(getResult());
  SmallVector<int64_t> shape;
  int64_t previous = -1;
  for (int64_t dim : getDims()) {
    if (dim <= previous || dim >= input.getRank())
      return emitOpError("expected strictly increasing dims below ")
             << input.getRank() << ", got " << dim;
    previous = dim;
  }
  for (int64_t dim = 0; dim < input.getRank(); ++dim)
    if (!llvm::is_contained(getDims(), dim))
      shape.push_back(input.getDimSize(dim));
  auto expected = RankedTensorType::get(shape, input.getElementType());
  if (result != expected)
    return emitOpError("expected result type ")
           << expected << ", got " << result;
  return success();
}

LogicalResult ContractOp::verify() {
  RankedTensorType lhs = tensorOf(getLhs()), rhs = tensorOf(getRhs());
  if (getLhsBatch().size() != getRhsBatch().size() ||
      getLhsContract().size() != getRhsContract().size())
    return emitOpError("expected as many left as right batch and contract "
                       "dimensions");
  auto checkPairs = [&](ArrayRef<int64_t> left, ArrayRef<int64_t> right,
                        StringRef what) -> LogicalResult {
    for (auto [a, b] : llvm::zip_equal(left, right)) {
      if (a < 0 || a >= lhs.getRank() || b < 0 || b >= rhs.getRank())
        return emitOpError("expected ")
               << what << " dimensions inside the operands, got " << a
               << " and " << b;
      if (lhs.getDimSize(a) != rhs.getDimSize(b))
        return emitOpError("expected equal sizes of ")
               << what << " dimensions " << a << " and " << b << ", got "
               << lhs.getDimSize(a) << " and " << rhs.getDimSize(b);
    }
    return success();
  };
  if (failed(checkPairs(getLhsBatch(), getRhsBatch(), "batch")) ||
      failed(checkPairs(getLhsContract(), getRhsContract(), "contract")))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t dim : getLhsBatch())
    shape.push_back(lhs.getDimSize(dim));
  for (int64_t dim = 0; dim < lhs.getRank(); ++dim)
    if (!llvm::is_contained(getLhsBatch(), dim) &&
        !llvm::is_contained(getLhsContract(), dim))
      shape.push_back(lhs.getDimSize(dim));
  for (int64_t dim = 0; dim < rhs.getRank(); ++dim)
    if (!llvm::is_contained(getRhsBatch(), dim) &&
        !llvm::is_contained(getRhsContract(), dim))
      shape.push_back(rhs.getDimSize(dim));
  auto expected = RankedTensorType::get(shape, lhs.getElementType());
  if (getType() != expected)
    return emitOpError("expected result type ")
           << expected << ", got " << getType();
  return success();
}

LogicalResult graph::verifyConvolution(Operation *op, RankedTensorType x,
                                       RankedTensorType w, RankedTensorType y,
                                       ArrayRef<int64_t> strides,
                                       ArrayRef<int64_t> pads,
                                       ArrayRef<int64_t> dilations,
                                       int64_t groups) {
  if (x.getRank() != 4 || w.getRank() != 4 || y.getRank() != 4)
    return op->emitOpError("expected tensors of rank 4, got ")
           << x << ", " << w << " and " << y;
  if (strides.size() != 2 || dilations.size() != 2 || pads.size() != 4)
    return op->emitOpError("expected 2 strides, 2 dilations and 4 pads");
  if (groups < 1 || x.getDimSize(1) != w.getDimSize(1) * groups ||
      w.getDimSize(0) % groups)
    return op->emitOpError("expected ")
           << x.getDimSize(1) << " input channels in " << groups
           << " groups to match weights " << w;
  if (y.getDimSize(0) != x.getDimSize(0) || y.getDimSize(1) != w.getDimSize(0))
    return op->emitOpError("expected batch and channels of y to be ")
           << x.getDimSize(0) << " and " << w.getDimSize(0) << ", got "
           << y.getDimSize(0) << " and " << y.getDimSize(1);
  for (int dim = 0; dim < 2; ++dim) {
    if (strides[dim] < 1 || dilations[dim] < 1 || pads[dim] < 0 ||
        pads[dim + 2] < 0)
      return op->emitOpError("expected positive strides and dilations and "
                             "pads of at least 0");
    int64_t reach = dilations[dim] * (w.getDimSize(dim + 2) - 1) + 1;
    int64_t padded = x.getDimSize(dim + 2) + pads[dim] + pads[dim + 2];
    int64_t expected = padded < reach ? 0 : (padded - reach) / strides[dim] + 1;
    if (y.getDimSize(dim + 2) != expected)
      return op->emitOpError("expected spatial dimension ")
             << dim << " of y to be " << expected << ", got "
             << y.getDimSize(dim + 2);
  }
  return success();
}

LogicalResult ConvOp::verify() {
  if (getBias() && tensorOf(getBias()).getShape() !=
                       ArrayRef<int64_t>{tensorOf(getWeight()).getDimSize(0)})
    return emitOpError("expected a bias of ")
           << tensorOf(getWeight()).getDimSize(0) << " elements, got "
           << getBias().getType();
  return verifyConvolution(*this, tensorOf(getX()), tensorOf(getWeight()),
                           tensorOf(getResult()), getStrides(), getPads(),
                           getDilations(), getGroups());
}

LogicalResult ConvInputGradOp::verify() {
  return verifyConvolution(*this, tensorOf(getResult()), tensorOf(getWeight()),
                           tensorOf(getDy()), getStrides(), getPads(),
                           getDilations(), getGroups());
}

LogicalResult ConvWeightGradOp::verify() {
  return verifyConvolution(*this, tensorOf(getX()), tensorOf(getResult()),
                           tensorOf(getDy()), getStrides(), getPads(),
                           getDilations(), getGroups());
}

LogicalResult graph::verifyPool(Operation *op, RankedTensorType x,
                                RankedTensorType y, ArrayRef<int64_t> window,
                                ArrayRef<int64_t> strides,
                                ArrayRef<int64_t> pads,
                                ArrayRef<int64_t> dilations) {
  if (x.getRank() != 4 || y.getRank() != 4 ||
      x.getShape().take_front(2) != y.getShape().take_front(2))
    return op->emitOpError("expected rank 4 and equal batch and channels, got ")
           << x << " and " << y;
  if (window.size() != 2 || strides.size() != 2 || dilations.size() != 2 ||
      pads.size() != 4)
    return op->emitOpError(
        "expected 2 window sizes, 2 strides, 2 dilations and 4 pads");
  for (int dim = 0; dim < 2; ++dim) {
    if (window[dim] < 1 || strides[dim] < 1 || dilations[dim] < 1 ||
        pads[dim] < 0 || pads[dim + 2] < 0)
      return op->emitOpError("expected positive window, strides and dilations "
                             "and pads of at least 0");
    // The last window must start inside the input or its leading padding, so
    // that none is empty.
    int64_t last = (y.getDimSize(dim + 2) - 1) * strides[dim];
    if (last >= x.getDimSize(dim + 2) + pads[dim])
      return op->emitOpError("expected the last window of spatial dimension ")
             << dim << " to start inside the input, got offset " << last;
  }
  return success();
}

LogicalResult PoolOp::verify() {
  return verifyPool(*this, tensorOf(getX()), tensorOf(getResult()), getWindow(),
                    getStrides(), getPads(), getDilations());
}

LogicalResult MaxPoolGradOp::verify() {
  if (getX().getType() != getType())
    return emitOpError("expected a result of the type of x");
  return verifyPool(*this, tensorOf(getResult()), tensorOf(getDy()),
                    getWindow(), getStrides(), getPads(), getDilations());
}

LogicalResult AveragePoolGradOp::verify() {
  return verifyPool(*this, tensorOf(getResult()), tensorOf(getDy()),
                    getWindow(), getStrides(), getPads(), getDilations());
}
