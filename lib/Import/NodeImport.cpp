// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the op tables share: operands, broadcasts, stable scalar functions.

#include "NodeImport.h"
#include <cmath>

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;
using onnx::TensorProto;

Type ingest::elementTypeOf(MLIRContext *context, int32_t elementType) {
  Builder builder(context);
  switch (elementType) {
  case TensorProto::FLOAT:
    return builder.getF32Type();
  case TensorProto::DOUBLE:
    return builder.getF64Type();
  case TensorProto::INT64:
    return builder.getI64Type();
  case TensorProto::INT32:
    return builder.getI32Type();
  case TensorProto::INT8:
    return builder.getI8Type();
  case TensorProto::BOOL:
    return builder.getI1Type();
  default:
    return {};
  }
}

int32_t ingest::onnxTypeOf(Type elementType) {
  if (elementType.isF32())
    return TensorProto::FLOAT;
  if (elementType.isF64())
    return TensorProto::DOUBLE;
  switch (elementType.getIntOrFloatBitWidth()) {
  case 64:
    return TensorProto::INT64;
  case 32:
    return TensorProto::INT32;
  case 8:
    return TensorProto::INT8;
  default:
    return TensorProto::BOOL;
  }
}

Value ingest::materialize(const Literal &literal, RankedTensorType type,
                          OpBuilder &builder, Location loc) {
  if (literal.isFloat() && literal.isSplat())
    return graph::buildSplat(builder, loc, type, literal.at(0));
  DenseElementsAttr attribute;
  if (type.getElementType().isF32()) {
    SmallVector<float> values(literal.floats.begin(), literal.floats.end());
    attribute = DenseElementsAttr::get(type, ArrayRef(values));
  } else if (type.getElementType().isF64()) {
    attribute = DenseElementsAttr::get(type, ArrayRef(literal.floats));
  } else {
    SmallVector<APInt> values;
    unsigned width = type.getElementTypeBitWidth();
    // One element stands for all where they are equal.
    ArrayRef<int64_t> elements(literal.ints);
    for (int64_t element : literal.isSplat() ? elements.take_front() : elements)
      values.emplace_back(width, static_cast<uint64_t>(element),
                          /*isSigned=*/true, /*implicitTrunc=*/true);
    attribute = DenseElementsAttr::get(type, ArrayRef(values));
  }
  return arith::ConstantOp::create(builder, loc, attribute);
}

Value NodeImport::value(size_t i) {
  Imported &operand = *operands[i];
  if (!operand.value)
    operand.value = materialize(*operand.literal, operand.type, builder, loc);
  return operand.value;
}

std::optional<double> NodeImport::splat(size_t i) const {
  const Literal *known = literal(i);
  if (!known || !known->isSplat())
    return std::nullopt;
  return known->at(0);
}

LogicalResult NodeImport::fail(const Twine &what) {
  if (error.empty())
    error = what.str();
  return failure();
}

/// "float", "int64", ... as ONNX users know them.
static std::string typeName(Type type) {
  if (type.isF32())
    return "float";
  if (type.isF64())
    return "double";
  if (type.isInteger(1))
    return "bool";
  return "int" + std::to_string(type.getIntOrFloatBitWidth());
}

LogicalResult NodeImport::requireFloat(size_t i) {
  if (isFloat(i))
    return success();
  return fail("expected float or double input '" + node.input(i) + "', got " +
              typeName(type(i).getElementType()));
}

LogicalResult NodeImport::requireSameType(size_t i, size_t j) {
  Type a = type(i).getElementType(), b = type(j).getElementType();
  if (a == b)
    return success();
  return fail("expected inputs of one element type, got " + typeName(a) +
              " and " + typeName(b));
}

FailureOr<int64_t> NodeImport::axis(int64_t axis, int64_t rank) {
  int64_t position = axis < 0 ? axis + rank : axis;
  if (position < 0 || position >= rank)
    return fail("expected an axis of a tensor of rank " + Twine(rank) +
                ", got " + Twine(axis));
  return position;
}

FailureOr<std::vector<int64_t>> NodeImport::knownInts(size_t i,
                                                      StringRef what) {
  const Literal *known = literal(i);
  if (!known || known->isFloat())
    return fail("expected " + what +
                " that are known when compiling, got a value computed from "
                "the data");
  return known->ints;
}

LogicalResult NodeImport::requireSizes(ArrayRef<int64_t> shape) {
  std::string problem = sizeProblem(shape);
  return problem.empty() ? success() : LogicalResult(fail(problem));
}

Value NodeImport::splatLike(Value like, double value) {
  return graph::buildSplat(builder, loc, cast<RankedTensorType>(like.getType()),
                           value);
}

Value NodeImport::reshape(Value value, ArrayRef<int64_t> shape) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return graph::buildReshape(builder, loc, value, shape);
}

Value NodeImport::transpose(Value value, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> composed(permutation);
  if (auto inner = value.getDefiningOp<graph::TransposeOp>()) {
    for (int64_t &dim : composed)
      dim = inner.getPermutation()[dim];
    value = inner.getInput();
  }
  permutation = composed;
  if (llvm::is_sorted(permutation))
    return value;
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(type.getDimSize(dim));
  return graph::TransposeOp::create(builder, loc, type.clone(shape), value,
                                    permutation);
}

Value NodeImport::slice(Value value, int64_t dim, int64_t begin,
                        int64_t count) {
  auto type = cast<RankedTensorType>(value.getType());
  if (count == type.getDimSize(dim))
    return value;
  SmallVector<int64_t> shape(type.getShape()), offsets(type.getRank(), 0);
  shape[dim] = count;
  offsets[dim] = begin;
  return graph::SliceOp::create(builder, loc, type.clone(shape), value,
                                offsets);
}

FailureOr<SmallVector<int64_t>> NodeImport::broadcastShape() {
  SmallVector<int64_t> result;
  for (size_t i = 0; i < operandCount(); ++i) {
    if (!has(i))
      continue;
    SmallVector<int64_t> other(shape(i));
    SmallVector<int64_t> before = result;
    if (other.size() > result.size())
      result.insert(result.begin(), other.size() - result.size(), 1);
    for (size_t k = 0; k < other.size(); ++k) {
      int64_t size = other[other.size() - 1 - k];
      int64_t &mine = result[result.size() - 1 - k];
      if (mine != size && mine != 1 && size != 1)
        return fail("shapes " + shapeText(before) + " and " + shapeText(other) +
                    " do not broadcast");
      if (mine == 1)
        mine = size;
    }
  }
  return result;
}

Value NodeImport::broadcastTo(size_t i, ArrayRef<int64_t> target) {
  // A splat needs no broadcast: it is a constant of any shape.
  auto wanted = RankedTensorType::get(target, type(i).getElementType());
  if (const Literal *known = literal(i);
      known && known->isSplat() && type(i) != wanted)
    return materialize(*known, wanted, builder, loc);
  return broadcastTo(value(i), target);
}

Value NodeImport::broadcastTo(Value value, ArrayRef<int64_t> target) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t shift = target.size() - type.getRank();
  // Unit dimensions that grow are dropped first; the others keep their place.
  SmallVector<int64_t> kept, dims;
  for (auto [i, size] : llvm::enumerate(type.getShape()))
    if (size == target[shift + i]) {
      kept.push_back(size);
      dims.push_back(shift + i);
    }
  value = reshape(value, kept);
  return graph::buildBroadcast(
      builder, loc, value, RankedTensorType::get(target, type.getElementType()),
      dims);
}

// Both functions take exp of a value that is never positive, and choose with
// `select`: a maximum or an absolute value would have no gradient at 0, where
// a layer that starts with zeros lies.

FailureOr<double> NodeImport::epsilon() {
  double value = floatAttribute(node, "epsilon", 1e-5f);
  if (!(value >= 0 && std::isfinite(value)))
    return fail("expected epsilon of at least 0, got " + std::to_string(value));
  return value;
}

Value NodeImport::sigmoid(Value x) {
  return graph::SigmoidOp::create(builder, loc, x.getType(), x);
}

Value NodeImport::softplus(Value x) {
  Value zero = splatLike(x, 0);
  Value positive =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGE, x, zero);
  Value negated = arith::NegFOp::create(builder, loc, x);
  Value exponent = arith::SelectOp::create(builder, loc, positive, negated, x);
  Value e = math::ExpOp::create(builder, loc, exponent);
  Value tail = math::Log1pOp::create(builder, loc, e);
  Value head = arith::SelectOp::create(builder, loc, positive, x, zero);
  return arith::AddFOp::create(builder, loc, head, tail);
}
