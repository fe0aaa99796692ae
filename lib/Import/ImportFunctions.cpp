// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementwise functions that the dialect writes with others: signs, remainders,
// inverse and hyperbolic functions.

#include "NodeImport.h"

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

namespace {
/// Arithmetic on tensors of one type.
struct Arithmetic {
  NodeImport &n;

  Value add(Value a, Value b) {
    return arith::AddFOp::create(n.builder, n.loc, a, b);
  }
  Value sub(Value a, Value b) {
    return arith::SubFOp::create(n.builder, n.loc, a, b);
  }
  Value mul(Value a, Value b) {
    return arith::MulFOp::create(n.builder, n.loc, a, b);
  }
  Value div(Value a, Value b) {
    return arith::DivFOp::create(n.builder, n.loc, a, b);
  }
  Value neg(Value a) { return arith::NegFOp::create(n.builder, n.loc, a); }
  Value sqrt(Value a) { return math::SqrtOp::create(n.builder, n.loc, a); }
  Value atan(Value a) { return math::AtanOp::create(n.builder, n.loc, a); }
  Value log1p(Value a) { return math::Log1pOp::create(n.builder, n.loc, a); }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(n.builder, n.loc, condition, a, b);
  }
  Value isBelow(Value a, Value b) {
    return arith::CmpFOp::create(n.builder, n.loc, arith::CmpFPredicate::OLT, a,
                                 b);
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(n.builder, n.loc, predicate, a, b);
  }
};
} // namespace

/// -1, 0 or 1; no gradient flows. NaN stays.
static LogicalResult importSign(NodeImport &n) {
  Value x = n.value(0), zero = n.splatLike(x, 0);
  Value one = n.splatLike(x, 1), minusOne = n.splatLike(x, -1);
  Arithmetic a{n};
  if (!n.isFloat(0)) {
    Value below =
        a.select(a.compare(arith::CmpIPredicate::slt, x, zero), minusOne, zero);
    n.setResult(
        a.select(a.compare(arith::CmpIPredicate::sgt, x, zero), one, below));
    return success();
  }
  Value rest = graph::StopGradientOp::create(n.builder, n.loc, x);
  Value below = a.select(a.isBelow(x, zero), minusOne, rest);
  n.setResult(a.select(a.isBelow(zero, x), one, below));
  return success();
}

/// Mod: the remainder with the sign of the divisor, or (`fmod`) the dividend.
static LogicalResult importMod(NodeImport &n) {
  auto shape = n.broadcastShape();
  if (failed(shape) || failed(n.requireSameType(0, 1)))
    return failure();
  bool isTruncated = intAttribute(n.node, "fmod", 0) != 0;
  Value x = n.broadcastTo(0, *shape), y = n.broadcastTo(1, *shape);
  Arithmetic a{n};
  if (n.isFloat(0)) {
    if (!isTruncated)
      return n.fail("expected fmod = 1 for floats, got 0");
    Value quotient =
        math::TruncOp::create(n.builder, n.loc, a.div(x, y)).getResult();
    n.setResult(a.sub(x, a.mul(y, quotient)));
    return success();
  }
  Value remainder = arith::RemSIOp::create(n.builder, n.loc, x, y);
  if (!isTruncated) {
    using Predicate = arith::CmpIPredicate;
    Value zero = n.splatLike(x, 0);
    Value hasOtherSign = arith::XOrIOp::create(
        n.builder, n.loc, a.compare(Predicate::slt, remainder, zero),
        a.compare(Predicate::slt, y, zero));
    Value isMoved =
        arith::AndIOp::create(n.builder, n.loc, hasOtherSign,
                              a.compare(Predicate::ne, remainder, zero));
    remainder =
        a.select(isMoved, arith::AddIOp::create(n.builder, n.loc, remainder, y),
                 remainder);
  }
  n.setResult(remainder);
  return success();
}

template <typename Op> static LogicalResult importFunction(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  n.setResult(Op::create(n.builder, n.loc, n.value(0)));
  return success();
}

/// asin(x) = atan(x / sqrt((1 - x) (1 + x)))
static LogicalResult importAsin(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  Arithmetic a{n};
  Value x = n.value(0), one = n.splatLike(x, 1);
  n.setResult(a.atan(a.div(x, a.sqrt(a.mul(a.sub(one, x), a.add(one, x))))));
  return success();
}

/// acos(x) = 2 atan(sqrt((1 - x) / (1 + x)))
static LogicalResult importAcos(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  Arithmetic a{n};
  Value x = n.value(0), one = n.splatLike(x, 1);
  Value half = a.atan(a.sqrt(a.div(a.sub(one, x), a.add(one, x))));
  n.setResult(a.add(half, half));
  return success();
}

/// asinh(x), of |x| as log(1 + u) with u = |x| + x^2 / (1 + sqrt(1 + x^2)):
/// nothing cancels, and the gradient at 0 is 1.
static LogicalResult importAsinh(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  Arithmetic a{n};
  Value x = n.value(0), one = n.splatLike(x, 1);
  Value isNegative = a.isBelow(x, n.splatLike(x, 0));
  Value size = a.select(isNegative, a.neg(x), x);
  Value square = a.mul(size, size);
  Value root = a.sqrt(a.add(one, square));
  Value y = a.log1p(a.add(size, a.div(square, a.add(one, root))));
  n.setResult(a.select(isNegative, a.neg(y), y));
  return success();
}

/// acosh(1 + t) = log(1 + t + sqrt(2t + t^2))
static LogicalResult importAcosh(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  Arithmetic a{n};
  Value t = a.sub(n.value(0), n.splatLike(n.value(0), 1));
  Value root = a.sqrt(a.add(a.add(t, t), a.mul(t, t)));
  n.setResult(a.log1p(a.add(t, root)));
  return success();
}

/// atanh(x) = (log(1 + x) - log(1 - x)) / 2
static LogicalResult importAtanh(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  Arithmetic a{n};
  Value x = n.value(0);
  n.setResult(a.mul(n.splatLike(x, 0.5), a.sub(a.log1p(x), a.log1p(a.neg(x)))));
  return success();
}

template <typename Op> static LogicalResult importBitwise(NodeImport &n) {
  auto shape = n.broadcastShape();
  if (failed(shape) || failed(n.requireSameType(0, 1)))
    return failure();
  if (n.isFloat(0))
    return n.fail("expected integer inputs");
  n.setResult(Op::create(n.builder, n.loc, n.broadcastTo(0, *shape),
                         n.broadcastTo(1, *shape)));
  return success();
}

static LogicalResult importBitwiseNot(NodeImport &n) {
  if (n.isFloat(0))
    return n.fail("expected an integer input");
  Value x = n.value(0);
  n.setResult(arith::XOrIOp::create(n.builder, n.loc, x, n.splatLike(x, -1)));
  return success();
}

void ingest::addFunctionHandlers(HandlerTable &table) {
  static constexpr std::pair<const char *, Handler> entries[] = {
      {"Acos", importAcos},
      {"Acosh", importAcosh},
      {"Asin", importAsin},
      {"Asinh", importAsinh},
      {"Atan", importFunction<math::AtanOp>},
      {"Atanh", importAtanh},
      {"BitwiseAnd", importBitwise<arith::AndIOp>},
      {"BitwiseNot", importBitwiseNot},
      {"BitwiseOr", importBitwise<arith::OrIOp>},
      {"BitwiseXor", importBitwise<arith::XOrIOp>},
      {"Cosh", importFunction<math::CoshOp>},
      {"Mod", importMod},
      {"Sign", importSign},
      {"Sinh", importFunction<math::SinhOp>},
      {"Tan", importFunction<math::TanOp>},
  };
  for (auto [name, handler] : entries)
    table[name] = handler;
}
