// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers that build common graph ops.

#include "bessemer/Dialect/Graph/IR/Graph.h"
#include <limits>

using namespace mlir;

namespace bessemer::graph {

Value buildReshape(OpBuilder &builder, Location loc, Value value,
                   ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() == shape)
    return value;
  auto result = RankedTensorType::get(shape, type.getElementType());
  int64_t inputRank = type.getRank(), resultRank = result.getRank();

  // Group dimensions of both shapes into the smallest runs of equal product;
  // each run is one dimension of the shape between the two reshapes.
  SmallVector<ReassociationIndices> collapse, expand;
  SmallVector<int64_t> middle;
  int64_t i = 0, j = 0;
  while (i < inputRank || j < resultRank) {
    ReassociationIndices from, to;
    int64_t a = 1, b = 1;
    if (i < inputRank) {
      a = type.getDimSize(i);
      from.push_back(i++);
    }
    if (j < resultRank) {
      b = result.getDimSize(j);
      to.push_back(j++);
    }
    while (a != b) {
      if (a < b && i < inputRank) {
        a *= type.getDimSize(i);
        from.push_back(i++);
      } else if (b < a && j < resultRank) {
        b *= result.getDimSize(j);
        to.push_back(j++);
      } else {
        break; // products with zeros; handled by the single-run fallback
      }
    }
    if (a != b || from.empty() || to.empty()) {
      // Trailing unit dimensions join the last run.
      bool units = a == 1 && b == 1 && !collapse.empty();
      if (!units) {
        collapse.clear();
        break;
      }
      llvm::append_range(collapse.back(), from);
      llvm::append_range(expand.back(), to);
      continue;
    }
    middle.push_back(a);
    collapse.push_back(from);
    expand.push_back(to);
  }

  if (collapse.empty()) {
    // A scalar on one side, or no common factorisation: go through rank 1.
    middle.assign(1, type.getNumElements());
    collapse.assign(1, llvm::to_vector(llvm::seq<int64_t>(0, inputRank)));
    expand.assign(1, llvm::to_vector(llvm::seq<int64_t>(0, resultRank)));
    if (resultRank == 0 || inputRank == 0) {
      collapse.clear();
      expand.clear();
      middle.clear();
    }
  }

  auto middleType = RankedTensorType::get(middle, type.getElementType());
  if (middleType != type)
    value = tensor::CollapseShapeOp::create(builder, loc, middleType, value,
                                            collapse);
  if (middleType != result)
    value = tensor::ExpandShapeOp::create(builder, loc, result, value, expand);
  return value;
}

Value buildSplat(OpBuilder &builder, Location loc, RankedTensorType type,
                 double value) {
  Attribute element;
  if (auto floatType = dyn_cast<FloatType>(type.getElementType()))
    element = builder.getFloatAttr(floatType, value);
  else
    // The conversion is undefined outside of the type's range.
    element = builder.getIntegerAttr(
        type.getElementType(),
        value >= 0x1p63   ? std::numeric_limits<int64_t>::max()
        : value > -0x1p63 ? static_cast<int64_t>(value)
                          : std::numeric_limits<int64_t>::min());
  return arith::ConstantOp::create(builder, loc,
                                   SplatElementsAttr::get(type, element));
}

Value buildBroadcast(OpBuilder &builder, Location loc, Value value,
                     RankedTensorType type, ArrayRef<int64_t> dims) {
  if (value.getType() == type)
    return value;
  return BroadcastOp::create(builder, loc, type, value, dims);
}

Value buildTouched(OpBuilder &builder, Location loc, Value indices,
                   int64_t batch, int64_t size) {
  auto type = cast<RankedTensorType>(indices.getType());
  SmallVector<int64_t> shape(type.getShape().take_front(batch));
  shape.push_back(size);
  auto counts = RankedTensorType::get(shape, builder.getF32Type());
  Value ones = buildSplat(
      builder, loc,
      RankedTensorType::get(type.getShape(), builder.getF32Type()), 1.0);
  Value count = ScatterAddOp::create(builder, loc, counts, ones, indices,
                                     /*dim=*/batch, batch);
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, count,
                               buildSplat(builder, loc, counts, 0.0));
}

Value buildReduce(OpBuilder &builder, Location loc, ReduceKind kind,
                  Value value, ArrayRef<int64_t> dims) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (!llvm::is_contained(dims, dim))
      shape.push_back(type.getDimSize(dim));
  auto result = RankedTensorType::get(shape, type.getElementType());
  return ReduceOp::create(builder, loc, result, kind, value, dims);
}

void ContractOp::build(OpBuilder &builder, OperationState &state, Value lhs,
                       Value rhs, ArrayRef<int64_t> lhsBatch,
                       ArrayRef<int64_t> rhsBatch,
                       ArrayRef<int64_t> lhsContract,
                       ArrayRef<int64_t> rhsContract) {
  auto lhsType = cast<RankedTensorType>(lhs.getType());
  auto rhsType = cast<RankedTensorType>(rhs.getType());
  SmallVector<int64_t> shape;
  for (int64_t dim : lhsBatch)
    shape.push_back(lhsType.getDimSize(dim));
  auto addFree = [&](RankedTensorType type, ArrayRef<int64_t> batch,
                     ArrayRef<int64_t> contract) {
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (!llvm::is_contained(batch, dim) && !llvm::is_contained(contract, dim))
        shape.push_back(type.getDimSize(dim));
  };
  addFree(lhsType, lhsBatch, lhsContract);
  addFree(rhsType, rhsBatch, rhsContract);
  build(builder, state, RankedTensorType::get(shape, lhsType.getElementType()),
        lhs, rhs, lhsBatch, rhsBatch, lhsContract, rhsContract);
}

} // namespace bessemer::graph
