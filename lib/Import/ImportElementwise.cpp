// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementwise ops: arithmetic, activations, comparisons, casts.

#include "NodeImport.h"
#include <cmath>
#include <limits>

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Binary ops
//===----------------------------------------------------------------------===//

/// Broadcasts both operands to one shape; fails with a message.
static LogicalResult broadcastBoth(NodeImport &n, Value &a, Value &b) {
  if (failed(n.requireSameType(0, 1)))
    return failure();
  auto shape = n.broadcastShape();
  if (failed(shape))
    return failure();
  a = n.broadcastTo(0, *shape);
  b = n.broadcastTo(1, *shape);
  return success();
}

template <typename FloatOp, typename IntOp>
static LogicalResult importBinary(NodeImport &n) {
  Value a, b;
  if (failed(broadcastBoth(n, a, b)))
    return failure();
  n.setResult(n.isFloat(0) ? Value(FloatOp::create(n.builder, n.loc, a, b))
                           : Value(IntOp::create(n.builder, n.loc, a, b)));
  return success();
}

template <arith::CmpFPredicate onFloats, arith::CmpIPredicate onInts>
static LogicalResult importCompare(NodeImport &n) {
  Value a, b;
  if (failed(broadcastBoth(n, a, b)))
    return failure();
  n.setResult(
      n.isFloat(0)
          ? Value(arith::CmpFOp::create(n.builder, n.loc, onFloats, a, b))
          : Value(arith::CmpIOp::create(n.builder, n.loc, onInts, a, b)));
  return success();
}

template <typename Op> static LogicalResult importLogical(NodeImport &n) {
  Value a, b;
  if (failed(broadcastBoth(n, a, b)))
    return failure();
  if (!n.type(0).getElementType().isInteger(1))
    return n.fail("expected bool inputs");
  n.setResult(Op::create(n.builder, n.loc, a, b));
  return success();
}

/// Sub; 1 - sigmoid(x) is sigmoid(-x), which keeps its small values.
static LogicalResult importSub(NodeImport &n) {
  if (n.splat(0) == 1 && !n.literal(1)) {
    auto sigmoid = n.state.sigmoidOf.find(n.value(1));
    auto shape = n.broadcastShape();
    if (sigmoid != n.state.sigmoidOf.end() && succeeded(shape) &&
        ArrayRef<int64_t>(*shape) == n.shape(1)) {
      Value negated = arith::NegFOp::create(n.builder, n.loc, sigmoid->second);
      Value result = n.sigmoid(negated);
      n.state.sigmoidOf[result] = negated;
      n.setResult(result);
      return success();
    }
  }
  return importBinary<arith::SubFOp, arith::SubIOp>(n);
}

/// Max, Min, Sum and Mean take any number of operands.
template <typename FloatOp, typename IntOp>
static LogicalResult importVariadic(NodeImport &n) {
  auto shape = n.broadcastShape();
  if (failed(shape))
    return failure();
  Value result;
  for (size_t i = 0; i < n.operandCount(); ++i) {
    if (failed(n.requireSameType(0, i)))
      return failure();
    Value next = n.broadcastTo(i, *shape);
    if (!result)
      result = next;
    else if (n.isFloat(0))
      result = FloatOp::create(n.builder, n.loc, result, next);
    else
      result = IntOp::create(n.builder, n.loc, result, next);
  }
  n.setResult(result);
  return success();
}

static LogicalResult importMean(NodeImport &n) {
  if (failed(n.requireFloat(0)) ||
      failed(importVariadic<arith::AddFOp, arith::AddIOp>(n)))
    return failure();
  Value sum = n.getResults().front();
  n.setResult(arith::MulFOp::create(n.builder, n.loc, sum,
                                    n.splatLike(sum, 1.0 / n.operandCount())));
  return success();
}

static LogicalResult importPow(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  auto shape = n.broadcastShape();
  if (failed(shape))
    return failure();
  Value x = n.broadcastTo(0, *shape);
  auto multiply = [&](Value a, Value b) -> Value {
    return arith::MulFOp::create(n.builder, n.loc, a, b);
  };
  if (auto exponent = n.splat(1)) {
    // The usual exponents, whose gradients are then exact at 0 as well.
    if (*exponent == 1) {
      n.setResult(x);
    } else if (*exponent == 2) {
      n.setResult(multiply(x, x));
    } else if (*exponent == 3) {
      n.setResult(multiply(multiply(x, x), x));
    } else if (*exponent == 0.5) {
      n.setResult(math::SqrtOp::create(n.builder, n.loc, x));
    } else if (*exponent == -1) {
      n.setResult(
          arith::DivFOp::create(n.builder, n.loc, n.splatLike(x, 1), x));
    } else {
      n.setResult(
          math::PowFOp::create(n.builder, n.loc, x, n.splatLike(x, *exponent)));
    }
    return success();
  }
  Value exponent = n.broadcastTo(1, *shape);
  Type element = n.type(0).getElementType();
  if (!n.isFloat(1))
    exponent = arith::SIToFPOp::create(
        n.builder, n.loc, RankedTensorType::get(*shape, element), exponent);
  else if (failed(n.requireSameType(0, 1)))
    return failure();
  n.setResult(math::PowFOp::create(n.builder, n.loc, x, exponent));
  return success();
}

//===----------------------------------------------------------------------===//
// Unary ops
//===----------------------------------------------------------------------===//

template <typename Op> static LogicalResult importUnary(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  n.setResult(Op::create(n.builder, n.loc, n.value(0)));
  return success();
}

static LogicalResult importNeg(NodeImport &n) {
  Value x = n.value(0);
  n.setResult(n.isFloat(0) ? Value(arith::NegFOp::create(n.builder, n.loc, x))
                           : Value(arith::SubIOp::create(
                                 n.builder, n.loc, n.splatLike(x, 0), x)));
  return success();
}

static LogicalResult importAbs(NodeImport &n) {
  Value x = n.value(0);
  n.setResult(n.isFloat(0) ? Value(math::AbsFOp::create(n.builder, n.loc, x))
                           : Value(math::AbsIOp::create(n.builder, n.loc, x)));
  return success();
}

static LogicalResult importReciprocal(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  Value x = n.value(0);
  n.setResult(arith::DivFOp::create(n.builder, n.loc, n.splatLike(x, 1), x));
  return success();
}

static LogicalResult importNot(NodeImport &n) {
  if (!n.type(0).getElementType().isInteger(1))
    return n.fail("expected a bool input");
  Value x = n.value(0);
  n.setResult(arith::XOrIOp::create(n.builder, n.loc, x, n.splatLike(x, 1)));
  return success();
}

/// log(sigmoid(x)) and log(softmax(x)) lose everything where the inner value
/// underflows: take the forms that do not.
static LogicalResult importLog(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  Value x = n.value(0);
  if (auto it = n.state.sigmoidOf.find(x); it != n.state.sigmoidOf.end()) {
    Value negated = arith::NegFOp::create(n.builder, n.loc, it->second);
    n.setResult(arith::NegFOp::create(n.builder, n.loc, n.softplus(negated)));
  } else if (auto it = n.state.softmaxOf.find(x);
             it != n.state.softmaxOf.end()) {
    n.setResult(graph::LogSoftmaxOp::create(
        n.builder, n.loc, x.getType(), it->second.first, it->second.second));
  } else {
    n.setResult(math::LogOp::create(n.builder, n.loc, x));
  }
  return success();
}

static LogicalResult importIsNaN(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  Value x = n.value(0);
  n.setResult(
      arith::CmpFOp::create(n.builder, n.loc, arith::CmpFPredicate::UNO, x, x));
  return success();
}

static LogicalResult importIsInf(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  Value x = n.value(0);
  double infinity = std::numeric_limits<double>::infinity();
  auto equals = [&](double value) -> Value {
    return arith::CmpFOp::create(n.builder, n.loc, arith::CmpFPredicate::OEQ, x,
                                 n.splatLike(x, value));
  };
  bool positive = intAttribute(n.node, "detect_positive", 1) != 0;
  bool negative = intAttribute(n.node, "detect_negative", 1) != 0;
  if (positive && negative)
    n.setResult(arith::OrIOp::create(n.builder, n.loc, equals(infinity),
                                     equals(-infinity)));
  else if (positive || negative)
    n.setResult(equals(positive ? infinity : -infinity));
  else
    n.setResult(graph::buildSplat(n.builder, n.loc,
                                  n.type(0).clone(n.builder.getI1Type()), 0));
  return success();
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

static Value maximum(NodeImport &n, Value x, double bound) {
  return arith::MaximumFOp::create(n.builder, n.loc, x, n.splatLike(x, bound));
}

static Value minimum(NodeImport &n, Value x, double bound) {
  return arith::MinimumFOp::create(n.builder, n.loc, x, n.splatLike(x, bound));
}

static Value scaled(NodeImport &n, Value x, double factor) {
  return arith::MulFOp::create(n.builder, n.loc, x, n.splatLike(x, factor));
}

static Value shifted(NodeImport &n, Value x, double offset) {
  return arith::AddFOp::create(n.builder, n.loc, x, n.splatLike(x, offset));
}

static LogicalResult importRelu(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  n.setResult(maximum(n, n.value(0), 0));
  return success();
}

/// `positive` where x > 0, else `negative`.
static Value bySign(NodeImport &n, Value x, Value positive, Value negative) {
  Value isPositive = arith::CmpFOp::create(
      n.builder, n.loc, arith::CmpFPredicate::OGT, x, n.splatLike(x, 0));
  return arith::SelectOp::create(n.builder, n.loc, isPositive, positive,
                                 negative);
}

static LogicalResult importLeakyRelu(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  Value x = n.value(0);
  double alpha = floatAttribute(n.node, "alpha", 0.01f);
  n.setResult(bySign(n, x, x, scaled(n, x, alpha)));
  return success();
}

static LogicalResult importPRelu(NodeImport &n) {
  if (failed(n.requireFloat(0)) || failed(n.requireSameType(0, 1)))
    return failure();
  auto shape = n.broadcastShape();
  if (failed(shape))
    return failure();
  if (ArrayRef<int64_t>(*shape) != n.shape(0))
    return n.fail("the slope is larger than the input");
  Value x = n.value(0);
  Value negative =
      arith::MulFOp::create(n.builder, n.loc, x, n.broadcastTo(1, *shape));
  n.setResult(bySign(n, x, x, negative));
  return success();
}

static LogicalResult importSigmoid(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  Value x = n.value(0), result = n.sigmoid(x);
  n.state.sigmoidOf[result] = x;
  n.setResult(result);
  return success();
}

static LogicalResult importSoftplus(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  n.setResult(n.softplus(n.value(0)));
  return success();
}

/// gamma * (x > 0 ? x : alpha * (exp(x / divisor) - 1))
static LogicalResult importExponentialUnit(NodeImport &n, double alpha,
                                           double gamma, double divisor) {
  if (failed(n.requireFloat(0)))
    return failure();
  Value x = n.value(0);
  // exp never sees a positive number: its gradient stays finite.
  Value negative = bySign(n, x, n.splatLike(x, 0), x);
  if (divisor != 1)
    negative = scaled(n, negative, 1 / divisor);
  Value tail =
      scaled(n, math::ExpM1Op::create(n.builder, n.loc, negative), alpha);
  Value result = bySign(n, x, x, tail);
  n.setResult(gamma == 1 ? result : scaled(n, result, gamma));
  return success();
}
static LogicalResult importElu(NodeImport &n) {
  return importExponentialUnit(n, floatAttribute(n.node, "alpha", 1), 1, 1);
}
static LogicalResult importSelu(NodeImport &n) {
  return importExponentialUnit(
      n, floatAttribute(n.node, "alpha", 1.67326319217681884765625),
      floatAttribute(n.node, "gamma", 1.05070102214813232421875), 1);
}
static LogicalResult importCelu(NodeImport &n) {
  double alpha = floatAttribute(n.node, "alpha", 1);
  return importExponentialUnit(n, alpha, 1, alpha);
}

static Value hardSigmoid(NodeImport &n, Value x, double alpha, double beta) {
  return minimum(n, maximum(n, shifted(n, scaled(n, x, alpha), beta), 0), 1);
}
static LogicalResult importHardSigmoid(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  n.setResult(hardSigmoid(n, n.value(0), floatAttribute(n.node, "alpha", 0.2f),
                          floatAttribute(n.node, "beta", 0.5f)));
  return success();
}
static LogicalResult importHardSwish(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  Value x = n.value(0);
  n.setResult(arith::MulFOp::create(n.builder, n.loc, x,
                                    hardSigmoid(n, x, 1.0 / 6, 0.5)));
  return success();
}

static LogicalResult importSwish(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  Value x = n.value(0);
  double alpha = floatAttribute(n.node, "alpha", 1);
  n.setResult(alpha == 1
                  ? Value(graph::SiluOp::create(n.builder, n.loc, n.type(0), x))
                  : Value(arith::MulFOp::create(
                        n.builder, n.loc, x, n.sigmoid(scaled(n, x, alpha)))));
  return success();
}

static LogicalResult importGelu(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  StringRef form = stringAttribute(n.node, "approximate", "none");
  std::optional<graph::GeluKind> kind = graph::symbolizeGeluKind(form);
  if (!kind)
    return n.fail("expected approximate 'none' or 'tanh', got '" + form + "'");
  n.setResult(
      graph::GeluOp::create(n.builder, n.loc, n.type(0), *kind, n.value(0)));
  return success();
}

static LogicalResult importClip(NodeImport &n) {
  Value x = n.value(0);
  for (size_t i : {1, 2}) {
    if (!n.has(i))
      continue;
    if (failed(n.requireSameType(0, i)))
      return failure();
    if (n.type(i).getNumElements() != 1)
      return n.fail("expected bounds that are scalars");
    Value bound = n.literal(i)
                      ? n.broadcastTo(i, n.shape(0))
                      : n.broadcastTo(n.reshape(n.value(i), {}), n.shape(0));
    if (n.isFloat(0))
      x = i == 1 ? Value(arith::MaximumFOp::create(n.builder, n.loc, x, bound))
                 : Value(arith::MinimumFOp::create(n.builder, n.loc, x, bound));
    else
      x = i == 1 ? Value(arith::MaxSIOp::create(n.builder, n.loc, x, bound))
                 : Value(arith::MinSIOp::create(n.builder, n.loc, x, bound));
  }
  n.setResult(x);
  return success();
}

//===----------------------------------------------------------------------===//
// Choice and casts
//===----------------------------------------------------------------------===//

static LogicalResult importWhere(NodeImport &n) {
  if (!n.type(0).getElementType().isInteger(1))
    return n.fail("expected a bool condition");
  if (failed(n.requireSameType(1, 2)))
    return failure();
  auto shape = n.broadcastShape();
  if (failed(shape))
    return failure();
  Value condition = n.broadcastTo(0, *shape);
  Value a = n.broadcastTo(1, *shape), b = n.broadcastTo(2, *shape);
  n.setResult(arith::SelectOp::create(n.builder, n.loc, condition, a, b));
  return success();
}

static LogicalResult importCastTo(NodeImport &n, Type to) {
  Value x = n.value(0);
  Type from = n.type(0).getElementType();
  auto result = RankedTensorType::get(n.shape(0), to);
  unsigned fromWidth = from.getIntOrFloatBitWidth();
  unsigned toWidth = to.getIntOrFloatBitWidth();
  auto &b = n.builder;
  if (from == to) {
    n.setResult(x);
  } else if (isa<FloatType>(from) && isa<FloatType>(to)) {
    n.setResult(fromWidth < toWidth
                    ? Value(arith::ExtFOp::create(b, n.loc, result, x))
                    : Value(arith::TruncFOp::create(b, n.loc, result, x)));
  } else if (to.isInteger(1)) {
    Value zero = n.splatLike(x, 0);
    n.setResult(isa<FloatType>(from)
                    ? Value(arith::CmpFOp::create(
                          b, n.loc, arith::CmpFPredicate::UNE, x, zero))
                    : Value(arith::CmpIOp::create(
                          b, n.loc, arith::CmpIPredicate::ne, x, zero)));
  } else if (isa<FloatType>(from)) {
    n.setResult(arith::FPToSIOp::create(b, n.loc, result, x));
  } else if (isa<FloatType>(to)) {
    n.setResult(from.isInteger(1)
                    ? Value(arith::UIToFPOp::create(b, n.loc, result, x))
                    : Value(arith::SIToFPOp::create(b, n.loc, result, x)));
  } else if (fromWidth > toWidth) {
    n.setResult(arith::TruncIOp::create(b, n.loc, result, x));
  } else {
    n.setResult(from.isInteger(1)
                    ? Value(arith::ExtUIOp::create(b, n.loc, result, x))
                    : Value(arith::ExtSIOp::create(b, n.loc, result, x)));
  }
  return success();
}

static LogicalResult importCast(NodeImport &n) {
  int32_t to = intAttribute(n.node, "to", 0);
  Type type = elementTypeOf(n.builder.getContext(), to);
  if (!type)
    return n.fail("cannot cast to " +
                  StringRef(onnx::TensorProto::DataType_Name(
                                static_cast<onnx::TensorProto::DataType>(to)))
                      .lower());
  return importCastTo(n, type);
}

static LogicalResult importCastLike(NodeImport &n) {
  return importCastTo(n, n.type(1).getElementType());
}

void ingest::addElementwiseHandlers(HandlerTable &table) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  static constexpr std::pair<const char *, Handler> entries[] = {
      {"Abs", importAbs},
      {"Add", importBinary<arith::AddFOp, arith::AddIOp>},
      {"And", importLogical<arith::AndIOp>},
      {"Cast", importCast},
      {"CastLike", importCastLike},
      {"Ceil", importUnary<math::CeilOp>},
      {"Celu", importCelu},
      {"Clip", importClip},
      {"Cos", importUnary<math::CosOp>},
      {"Div", importBinary<arith::DivFOp, arith::DivSIOp>},
      {"Elu", importElu},
      {"Equal", importCompare<F::OEQ, I::eq>},
      {"Erf", importUnary<math::ErfOp>},
      {"Exp", importUnary<math::ExpOp>},
      {"Floor", importUnary<math::FloorOp>},
      {"Gelu", importGelu},
      {"Greater", importCompare<F::OGT, I::sgt>},
      {"GreaterOrEqual", importCompare<F::OGE, I::sge>},
      {"HardSigmoid", importHardSigmoid},
      {"HardSwish", importHardSwish},
      {"IsInf", importIsInf},
      {"IsNaN", importIsNaN},
      {"LeakyRelu", importLeakyRelu},
      {"Less", importCompare<F::OLT, I::slt>},
      {"LessOrEqual", importCompare<F::OLE, I::sle>},
      {"Log", importLog},
      {"Max", importVariadic<arith::MaximumFOp, arith::MaxSIOp>},
      {"Mean", importMean},
      {"Min", importVariadic<arith::MinimumFOp, arith::MinSIOp>},
      {"Mul", importBinary<arith::MulFOp, arith::MulIOp>},
      {"Neg", importNeg},
      {"Not", importNot},
      {"Or", importLogical<arith::OrIOp>},
      {"PRelu", importPRelu},
      {"Pow", importPow},
      {"Reciprocal", importReciprocal},
      {"Relu", importRelu},
      {"Round", importUnary<math::RoundEvenOp>},
      {"Selu", importSelu},
      {"Sigmoid", importSigmoid},
      {"Sin", importUnary<math::SinOp>},
      {"Softplus", importSoftplus},
      {"Sqrt", importUnary<math::SqrtOp>},
      {"Sub", importSub},
      {"Sum", importVariadic<arith::AddFOp, arith::AddIOp>},
      {"Swish", importSwish},
      {"Tanh", importUnary<math::TanhOp>},
      {"Where", importWhere},
      {"Xor", importLogical<arith::XOrIOp>},
  };
  for (auto [name, handler] : entries)
    table[name] = handler;
}
