// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Retypes a kernel's scalar region to graph ops on tensors.

#include "RegionExpansion.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::kern;

Value RegionExpansion::transpose(Value value, ArrayRef<int64_t> permutation) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(type.getDimSize(dim));
  return builder.createOrFold<graph::TransposeOp>(loc, type.clone(shape), value,
                                                  permutation);
}

RegionExpansion::Expanded RegionExpansion::sortDims(Value tensor,
                                                    ArrayRef<int64_t> dims) {
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, dims.size()));
  llvm::sort(order, [&](int64_t a, int64_t b) { return dims[a] < dims[b]; });
  SmallVector<int64_t> sorted;
  for (int64_t position : order)
    sorted.push_back(dims[position]);
  return {transpose(tensor, order), sorted};
}

Value RegionExpansion::broadcastTo(const Expanded &value,
                                   ArrayRef<int64_t> dims) {
  auto type = cast<RankedTensorType>(value.tensor.getType());
  SmallVector<int64_t> shape, positions;
  for (auto [position, dim] : llvm::enumerate(dims)) {
    shape.push_back(bounds[dim]);
    if (llvm::is_contained(value.dims, dim))
      positions.push_back(position);
  }
  return builder.createOrFold<graph::BroadcastOp>(loc, type.clone(shape),
                                                  value.tensor, positions);
}

Value RegionExpansion::readAlong(Value tensor, AffineMap map) {
  auto type = cast<RankedTensorType>(tensor.getType());
  // What lies within the tensor, and where that lies among what is read.
  SmallVector<int64_t> offsets, low, inside, shape;
  bool isEmpty = false;
  for (unsigned i = 0; i < map.getNumResults(); ++i) {
    auto [dim, offset] = getEntry(map, i);
    int64_t begin = std::max<int64_t>(offset, 0);
    int64_t end = std::min(offset + bounds[dim], type.getDimSize(i));
    isEmpty |= begin >= end;
    offsets.push_back(begin);
    low.push_back(begin - offset);
    inside.push_back(end - begin);
    shape.push_back(bounds[dim]);
  }
  if (isEmpty)
    return graph::buildSplat(builder, loc, type.clone(shape), 0);
  Value slice = builder.createOrFold<graph::SliceOp>(loc, type.clone(inside),
                                                     tensor, offsets);
  return builder.createOrFold<graph::PadOp>(loc, type.clone(shape), slice, low);
}

void RegionExpansion::bind(Value argument, Value operand, AffineMap map) {
  if (!isa<RankedTensorType>(operand.getType())) {
    values[argument] = {operand, {}};
    return;
  }
  SmallVector<int64_t> dims;
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    dims.push_back(getEntry(map, i).dim);
  values[argument] = sortDims(readAlong(operand, map), dims);
}

FailureOr<Value> RegionExpansion::take(Value value, AffineMap map) {
  const Expanded &expanded = values[value];
  SmallVector<int64_t> dims;
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    dims.push_back(map.getDimPosition(i));
  for (int64_t dim : expanded.dims)
    if (!llvm::is_contained(dims, dim) && bounds[dim] != 1)
      return emitError(loc, "expected a yielded value that does not depend on "
                            "iteration dimension ")
             << dim;
  SmallVector<int64_t> sorted(dims);
  llvm::sort(sorted);
  // A dimension of size 1 that the result lacks is dropped by a reshape.
  Expanded kept = expanded;
  SmallVector<int64_t> keptDims, keptShape;
  for (int64_t dim : expanded.dims)
    if (llvm::is_contained(sorted, dim)) {
      keptDims.push_back(dim);
      keptShape.push_back(bounds[dim]);
    }
  if (keptDims.size() != expanded.dims.size())
    kept = {graph::buildReshape(builder, loc, expanded.tensor, keptShape),
            keptDims};
  Value full = broadcastTo(kept, sorted);
  SmallVector<int64_t> permutation;
  for (int64_t dim : dims)
    permutation.push_back(llvm::find(sorted, dim) - sorted.begin());
  return transpose(full, permutation);
}

LogicalResult RegionExpansion::expandElementwise(Operation &op) {
  SmallVector<int64_t> dims;
  for (Value operand : op.getOperands())
    for (int64_t dim : values[operand].dims)
      if (!llvm::is_contained(dims, dim))
        dims.push_back(dim);
  llvm::sort(dims);
  SmallVector<int64_t> shape;
  for (int64_t dim : dims)
    shape.push_back(bounds[dim]);
  SmallVector<Value> operands;
  for (Value operand : op.getOperands())
    operands.push_back(broadcastTo(values[operand], dims));
  SmallVector<Type> types;
  for (Type type : op.getResultTypes())
    types.push_back(RankedTensorType::get(shape, type));
  Operation *tensorOp = builder.create(loc, op.getName().getIdentifier(),
                                       operands, types, op.getAttrs());
  for (auto [scalar, tensor] :
       llvm::zip_equal(op.getResults(), tensorOp->getResults()))
    values[scalar] = {tensor, dims};
  return success();
}

namespace {
/// An element's number: constant + sum of coefficients times iteration indices
/// + microCoefficient times a scalar operand, the number of a micro-batch.
struct ElementForm {
  int64_t constant = 0, microCoefficient = 0;
  SmallVector<int64_t> coefficients;
  Value micro;
};
} // namespace

static LogicalResult linearForm(Value value, int64_t factor,
                                ElementForm &form) {
  Operation *op = value.getDefiningOp();
  if (!op) {
    if (form.micro && form.micro != value)
      return failure();
    form.micro = value;
    form.microCoefficient += factor;
    return success();
  }
  if (auto index = dyn_cast<IndexOp>(op)) {
    form.coefficients[index.getDim()] += factor;
    return success();
  }
  IntegerAttr attr;
  if (matchPattern(op, m_Constant(&attr))) {
    form.constant += factor * attr.getInt();
    return success();
  }
  if (auto add = dyn_cast<arith::AddIOp>(op))
    return success(succeeded(linearForm(add.getLhs(), factor, form)) &&
                   succeeded(linearForm(add.getRhs(), factor, form)));
  if (auto mul = dyn_cast<arith::MulIOp>(op)) {
    if (matchPattern(mul.getRhs(), m_Constant(&attr)))
      return linearForm(mul.getLhs(), factor * attr.getInt(), form);
    if (matchPattern(mul.getLhs(), m_Constant(&attr)))
      return linearForm(mul.getRhs(), factor * attr.getInt(), form);
  }
  return failure();
}

LogicalResult RegionExpansion::expandRandom(RandomOp op) {
  // graph.random counts the row-major index of its own shape, so `element` must
  // be the row-major index over some iteration dimensions in some order.
  ElementForm form;
  form.coefficients.assign(bounds.size(), 0);
  ArrayRef<int64_t> coefficients(form.coefficients);
  SmallVector<int64_t> dims;
  if (failed(linearForm(op.getElement(), 1, form)) || form.constant != 0)
    return op.emitOpError(
        "expected an element that is a linear form of kern.index to expand");
  for (int64_t dim = 0; dim < static_cast<int64_t>(bounds.size()); ++dim)
    if (bounds[dim] != 1 && coefficients[dim] != 0)
      dims.push_back(dim);
  llvm::sort(dims, [&](int64_t a, int64_t b) {
    return coefficients[a] > coefficients[b];
  });
  int64_t stride = 1;
  for (int64_t dim : llvm::reverse(dims)) {
    if (coefficients[dim] != stride)
      return op.emitOpError("expected an element that is a row-major index "
                            "over iteration dimensions to expand");
    stride *= bounds[dim];
  }
  Value micro;
  if (form.micro) {
    const Expanded &operand = values[form.micro];
    if (!operand.dims.empty() || form.microCoefficient != stride)
      return op.emitOpError("expected the number of a micro-batch times its ")
             << stride << " elements to expand";
    micro = operand.tensor;
  }
  SmallVector<int64_t> shape;
  for (int64_t dim : dims)
    shape.push_back(bounds[dim]);
  Value tensor = graph::RandomOp::create(
      builder, loc, RankedTensorType::get(shape, op.getType()),
      values[op.getStep()].tensor, micro, op.getIdAttr());
  values[op.getResult()] = sortDims(tensor, dims);
  return success();
}

LogicalResult RegionExpansion::expand(Block &body) {
  for (Operation &op : body.without_terminator()) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto type = RankedTensorType::get({}, constant.getType());
      auto splat = SplatElementsAttr::get(type, constant.getValue());
      values[constant] = {arith::ConstantOp::create(builder, loc, splat), {}};
    } else if (auto index = dyn_cast<IndexOp>(op)) {
      int64_t dim = index.getDim();
      auto type = RankedTensorType::get({bounds[dim]}, builder.getI64Type());
      values[index] = {graph::IotaOp::create(builder, loc, type,
                                             builder.getI64IntegerAttr(0)),
                       {dim}};
    } else if (auto fold = dyn_cast<FoldOp>(op)) {
      // A fold runs over all reduced dimensions, also those that its operand
      // does not depend on.
      const Expanded &operand = values[fold.getValue()];
      SmallVector<int64_t> dims(operand.dims), positions, kept;
      for (int64_t dim : reduced)
        if (!llvm::is_contained(dims, dim))
          dims.push_back(dim);
      llvm::sort(dims);
      for (auto [position, dim] : llvm::enumerate(dims)) {
        if (llvm::is_contained(reduced, dim))
          positions.push_back(position);
        else
          kept.push_back(dim);
      }
      auto kind = static_cast<graph::ReduceKind>(fold.getKind());
      Value full = broadcastTo(operand, dims);
      values[fold] = {graph::buildReduce(builder, loc, kind, full, positions),
                      kept};
    } else if (auto random = dyn_cast<RandomOp>(op)) {
      if (failed(expandRandom(random)))
        return failure();
    } else if (op.hasTrait<OpTrait::Elementwise>()) {
      if (failed(expandElementwise(op)))
        return failure();
    } else {
      return op.emitOpError("has no expansion in a kernel region");
    }
  }
  return success();
}
