// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random numbers. The seeds that nodes may have are not used: the numbers of a
// step depend on the session's seed.

#include "NodeImport.h"
#include "llvm/ADT/SetVector.h"
#include <numbers>

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

/// The type of the result: `shape`, and the element type that the node names,
/// or `otherwise`.
static FailureOr<RankedTensorType>
resultType(NodeImport &n, ArrayRef<int64_t> shape, Type otherwise) {
  Type element = otherwise;
  if (const auto *attribute = findAttribute(n.node, "dtype"))
    element = elementTypeOf(n.builder.getContext(),
                            static_cast<int32_t>(attribute->i()));
  if (!element || failed(n.requireSizes(shape)))
    return n.fail("expected an element type that is supported");
  return RankedTensorType::get(shape, element);
}

/// The result's type of a node whose numbers are f32.
template <bool isLike>
static FailureOr<RankedTensorType> floats(NodeImport &n) {
  std::vector<int64_t> shape;
  Type otherwise = n.builder.getF32Type();
  if (isLike) {
    shape = n.shape(0).vec();
    otherwise = n.type(0).getElementType();
  } else {
    if (!findAttribute(n.node, "shape"))
      return n.fail("expected an attribute 'shape'");
    shape = intsAttribute(n.node, "shape", {});
  }
  auto type = resultType(n, shape, otherwise);
  if (succeeded(type) && !type->getElementType().isF32())
    return n.fail("expected random numbers of type float32");
  return type;
}

/// Whether `value` is computed from an input that accumulation splits.
static bool isFromBatch(Value value) {
  llvm::SetVector<Value> pending;
  pending.insert(value);
  for (size_t i = 0; i < pending.size(); ++i) {
    Value next = pending[i];
    if (Operation *op = next.getDefiningOp()) {
      pending.insert_range(op->getOperands());
      continue;
    }
    auto argument = cast<BlockArgument>(next);
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    if (function &&
        function.getArgAttr(argument.getArgNumber(), graph::kBatchAttr))
      return true;
  }
  return false;
}

/// In [0, 1); `isLike` for as many as the first operand has.
static Value uniform(NodeImport &n, RankedTensorType type, bool isLike) {
  auto random =
      graph::RandomOp::create(n.builder, n.loc, type, n.state.step(), Value(),
                              n.builder.getI64IntegerAttr(n.state.randomIds++));
  if (isLike && !n.literal(0) && isFromBatch(n.value(0)))
    random->setAttr(graph::kBatchAttr, n.builder.getUnitAttr());
  return random;
}

/// value * scale + shift.
static Value scaled(NodeImport &n, Value value, double scale, double shift) {
  if (scale != 1)
    value = arith::MulFOp::create(n.builder, n.loc, value,
                                  n.splatLike(value, scale));
  if (shift != 0)
    value = arith::AddFOp::create(n.builder, n.loc, value,
                                  n.splatLike(value, shift));
  return value;
}

template <bool isLike> static LogicalResult importUniform(NodeImport &n) {
  auto type = floats<isLike>(n);
  if (failed(type))
    return failure();
  double low = floatAttribute(n.node, "low", 0);
  double high = floatAttribute(n.node, "high", 1);
  n.setResult(scaled(n, uniform(n, *type, isLike), high - low, low));
  return success();
}

/// Box and Muller, "A Note on the Generation of Random Normal Deviates", 1958:
/// sqrt(-2 log(1 - u)) cos(2 pi v), where 1 - u is never 0.
template <bool isLike> static LogicalResult importNormal(NodeImport &n) {
  auto type = floats<isLike>(n);
  if (failed(type))
    return failure();
  Value u = uniform(n, *type, isLike), v = uniform(n, *type, isLike);
  Value rest = arith::SubFOp::create(n.builder, n.loc, n.splatLike(u, 1), u);
  Value log = math::LogOp::create(n.builder, n.loc, rest);
  Value radius = math::SqrtOp::create(n.builder, n.loc, scaled(n, log, -2, 0));
  Value angle = math::CosOp::create(n.builder, n.loc,
                                    scaled(n, v, 2 * std::numbers::pi, 0));
  Value normal = arith::MulFOp::create(n.builder, n.loc, radius, angle);
  n.setResult(scaled(n, normal, floatAttribute(n.node, "scale", 1),
                     floatAttribute(n.node, "mean", 0)));
  return success();
}

/// 1 with the probability that the input holds, else 0.
static LogicalResult importBernoulli(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  auto type = resultType(n, n.shape(0), n.type(0).getElementType());
  if (failed(type))
    return failure();
  if (!n.type(0).getElementType().isF32())
    return n.fail("expected probabilities of type float32");
  Value drawn = uniform(n, n.type(0), /*isLike=*/true);
  Value isOne = arith::CmpFOp::create(
      n.builder, n.loc, arith::CmpFPredicate::OLT, drawn, n.value(0));
  Type element = type->getElementType();
  if (element.isInteger(1))
    n.setResult(isOne);
  else if (isa<FloatType>(element))
    n.setResult(arith::UIToFPOp::create(n.builder, n.loc, *type, isOne));
  else
    n.setResult(arith::ExtUIOp::create(n.builder, n.loc, *type, isOne));
  return success();
}

void ingest::addRandomHandlers(HandlerTable &table) {
  table["Bernoulli"] = importBernoulli;
  table["RandomNormal"] = importNormal<false>;
  table["RandomNormalLike"] = importNormal<true>;
  table["RandomUniform"] = importUniform<false>;
  table["RandomUniformLike"] = importUniform<true>;
}
