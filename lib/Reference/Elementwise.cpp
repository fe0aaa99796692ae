// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream arith and math ops on tensors, element by element.

#include "Operations.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace bessemer::reference {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return kNaN;
  return a > b ? a : b;
}
double minimum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return kNaN;
  return a < b ? a : b;
}

/// The function of a float op with one operand; null when there is none.
double (*unaryFunction(Operation *op))(double) {
  using Function = double (*)(double);
  return llvm::TypeSwitch<Operation *, Function>(op)
      .Case<arith::NegFOp>([](auto) { return [](double x) { return -x; }; })
      .Case<math::AbsFOp>([](auto) -> Function { return std::fabs; })
      .Case<math::AcosOp>([](auto) -> Function { return std::acos; })
      .Case<math::AsinOp>([](auto) -> Function { return std::asin; })
      .Case<math::AtanOp>([](auto) -> Function { return std::atan; })
      .Case<math::CeilOp>([](auto) -> Function { return std::ceil; })
      .Case<math::CosOp>([](auto) -> Function { return std::cos; })
      .Case<math::CoshOp>([](auto) -> Function { return std::cosh; })
      .Case<math::ErfOp>([](auto) -> Function { return std::erf; })
      .Case<math::ExpOp>([](auto) -> Function { return std::exp; })
      .Case<math::Exp2Op>([](auto) -> Function { return std::exp2; })
      .Case<math::ExpM1Op>([](auto) -> Function { return std::expm1; })
      .Case<math::FloorOp>([](auto) -> Function { return std::floor; })
      .Case<math::LogOp>([](auto) -> Function { return std::log; })
      .Case<math::Log10Op>([](auto) -> Function { return std::log10; })
      .Case<math::Log1pOp>([](auto) -> Function { return std::log1p; })
      .Case<math::Log2Op>([](auto) -> Function { return std::log2; })
      .Case<math::RoundOp>([](auto) -> Function { return std::round; })
      // The default rounding mode is to nearest even.
      .Case<math::RoundEvenOp>([](auto) -> Function { return std::nearbyint; })
      .Case<math::RsqrtOp>(
          [](auto) { return [](double x) { return 1.0 / std::sqrt(x); }; })
      .Case<math::SinOp>([](auto) -> Function { return std::sin; })
      .Case<math::SinhOp>([](auto) -> Function { return std::sinh; })
      .Case<math::SqrtOp>([](auto) -> Function { return std::sqrt; })
      .Case<math::TanOp>([](auto) -> Function { return std::tan; })
      .Case<math::TanhOp>([](auto) -> Function { return std::tanh; })
      .Case<math::TruncOp>([](auto) -> Function { return std::trunc; })
      .Default([](auto) -> Function { return nullptr; });
}

/// The function of a float op with two operands; null when there is none.
double (*binaryFunction(Operation *op))(double, double) {
  using Function = double (*)(double, double);
  return llvm::TypeSwitch<Operation *, Function>(op)
      .Case<arith::AddFOp>(
          [](auto) { return [](double a, double b) { return a + b; }; })
      .Case<arith::SubFOp>(
          [](auto) { return [](double a, double b) { return a - b; }; })
      .Case<arith::MulFOp>(
          [](auto) { return [](double a, double b) { return a * b; }; })
      .Case<arith::DivFOp>(
          [](auto) { return [](double a, double b) { return a / b; }; })
      .Case<arith::RemFOp>([](auto) -> Function { return std::fmod; })
      .Case<arith::MaximumFOp>([](auto) { return maximum; })
      .Case<arith::MinimumFOp>([](auto) { return minimum; })
      .Case<arith::MaxNumFOp>([](auto) -> Function { return std::fmax; })
      .Case<arith::MinNumFOp>([](auto) -> Function { return std::fmin; })
      .Case<math::PowFOp>([](auto) -> Function { return std::pow; })
      .Case<math::Atan2Op>([](auto) -> Function { return std::atan2; })
      .Case<math::CopySignOp>([](auto) -> Function { return std::copysign; })
      .Default([](auto) -> Function { return nullptr; });
}

/// The function of an integer op with two operands; null when there is none.
/// The result is wrapped afterwards.
int64_t (*integerFunction(Operation *op))(int64_t, int64_t) {
  using Function = int64_t (*)(int64_t, int64_t);
  using Word = uint64_t;
  return llvm::TypeSwitch<Operation *, Function>(op)
      .Case<arith::AddIOp>([](auto) -> Function {
        return [](int64_t a, int64_t b) { return int64_t(Word(a) + Word(b)); };
      })
      .Case<arith::SubIOp>([](auto) -> Function {
        return [](int64_t a, int64_t b) { return int64_t(Word(a) - Word(b)); };
      })
      .Case<arith::MulIOp>([](auto) -> Function {
        return [](int64_t a, int64_t b) { return int64_t(Word(a) * Word(b)); };
      })
      .Case<arith::DivSIOp>([](auto) -> Function {
        return [](int64_t a, int64_t b) { return b ? a / b : int64_t(0); };
      })
      .Case<arith::RemSIOp>([](auto) -> Function {
        return [](int64_t a, int64_t b) { return b ? a % b : int64_t(0); };
      })
      .Case<arith::AndIOp>([](auto) -> Function {
        return [](int64_t a, int64_t b) { return a & b; };
      })
      .Case<arith::OrIOp>([](auto) -> Function {
        return [](int64_t a, int64_t b) { return a | b; };
      })
      .Case<arith::XOrIOp>([](auto) -> Function {
        return [](int64_t a, int64_t b) { return a ^ b; };
      })
      .Case<arith::MaxSIOp>([](auto) -> Function {
        return [](int64_t a, int64_t b) { return std::max(a, b); };
      })
      .Case<arith::MinSIOp>([](auto) -> Function {
        return [](int64_t a, int64_t b) { return std::min(a, b); };
      })
      .Default([](auto) -> Function { return nullptr; });
}

bool compareFloats(arith::CmpFPredicate predicate, double a, double b) {
  using P = arith::CmpFPredicate;
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case P::AlwaysFalse:
    return false;
  case P::OEQ:
    return a == b;
  case P::OGT:
    return a > b;
  case P::OGE:
    return a >= b;
  case P::OLT:
    return a < b;
  case P::OLE:
    return a <= b;
  case P::ONE:
    return !unordered && a != b;
  case P::ORD:
    return !unordered;
  case P::UEQ:
    return unordered || a == b;
  case P::UGT:
    return unordered || a > b;
  case P::UGE:
    return unordered || a >= b;
  case P::ULT:
    return unordered || a < b;
  case P::ULE:
    return unordered || a <= b;
  case P::UNE:
    return unordered || a != b;
  case P::UNO:
    return unordered;
  case P::AlwaysTrue:
    return true;
  }
  llvm_unreachable("unknown predicate");
}

/// The bits of a sign-extended integer as an unsigned number.
uint64_t asUnsigned(Type elementType, int64_t value) {
  unsigned width = elementType.getIntOrFloatBitWidth();
  return width >= 64
             ? static_cast<uint64_t>(value)
             : static_cast<uint64_t>(value) & ((uint64_t(1) << width) - 1);
}

bool compareIntegers(arith::CmpIPredicate predicate, Type type, int64_t a,
                     int64_t b) {
  using P = arith::CmpIPredicate;
  uint64_t ua = asUnsigned(type, a), ub = asUnsigned(type, b);
  switch (predicate) {
  case P::eq:
    return a == b;
  case P::ne:
    return a != b;
  case P::slt:
    return a < b;
  case P::sle:
    return a <= b;
  case P::sgt:
    return a > b;
  case P::sge:
    return a >= b;
  case P::ult:
    return ua < ub;
  case P::ule:
    return ua <= ub;
  case P::ugt:
    return ua > ub;
  case P::uge:
    return ua >= ub;
  }
  llvm_unreachable("unknown predicate");
}

/// A float as an integer of the type, saturated, NaN as 0.
int64_t toInteger(IntegerType type, double value, bool isSigned) {
  llvm::APSInt result(type.getWidth(), !isSigned);
  bool isExact;
  llvm::APFloat(value).convertToInteger(result, llvm::APFloat::rmTowardZero,
                                        &isExact);
  return wrapTo(type, isSigned ? result.getSExtValue()
                               : static_cast<int64_t>(result.getZExtValue()));
}

/// Casts, comparisons and selections: the ops that mix types.
bool evaluateMixed(Operation *op, Operands in, Tensor &out) {
  auto count = static_cast<size_t>(out.size());
  auto mapIntegers = [&](auto function) {
    for (size_t i = 0; i < count; ++i)
      out.integers[i] = function(i);
    return true;
  };
  auto mapFloats = [&](auto function) {
    for (size_t i = 0; i < count; ++i)
      out.floats[i] = function(i);
    return true;
  };
  Type type = out.type.getElementType();
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<arith::CmpFOp>([&](arith::CmpFOp cmp) {
        return mapIntegers([&](size_t i) {
          return compareFloats(cmp.getPredicate(), in[0]->floats[i],
                               in[1]->floats[i]);
        });
      })
      .Case<arith::CmpIOp>([&](arith::CmpIOp cmp) {
        return mapIntegers([&](size_t i) {
          return compareIntegers(cmp.getPredicate(),
                                 in[0]->type.getElementType(),
                                 in[0]->integers[i], in[1]->integers[i]);
        });
      })
      .Case<arith::SelectOp>([&](auto) {
        if (out.isFloat())
          return mapFloats([&](size_t i) {
            return in[in[0]->integers[i] ? 1 : 2]->floats[i];
          });
        return mapIntegers([&](size_t i) {
          return in[in[0]->integers[i] ? 1 : 2]->integers[i];
        });
      })
      .Case<arith::ExtFOp>([&](auto) {
        return mapFloats([&](size_t i) { return in[0]->floats[i]; });
      })
      .Case<arith::TruncFOp>([&](auto) {
        return mapFloats([&](size_t i) {
          return roundTo(cast<FloatType>(type), in[0]->floats[i]);
        });
      })
      .Case<arith::SIToFPOp>([&](auto) {
        bool isBool = in[0]->type.getElementType().isInteger(1);
        return mapFloats([&](size_t i) {
          auto value = static_cast<double>(in[0]->integers[i]);
          return roundTo(cast<FloatType>(type), isBool ? -value : value);
        });
      })
      .Case<arith::UIToFPOp>([&](auto) {
        return mapFloats([&](size_t i) {
          return roundTo(
              cast<FloatType>(type),
              static_cast<double>(asUnsigned(in[0]->type.getElementType(),
                                             in[0]->integers[i])));
        });
      })
      .Case<arith::FPToSIOp, arith::FPToUIOp>([&](auto) {
        bool isSigned = isa<arith::FPToSIOp>(op);
        return mapIntegers([&](size_t i) {
          return toInteger(cast<IntegerType>(type), in[0]->floats[i], isSigned);
        });
      })
      .Case<arith::ExtSIOp>([&](auto) {
        bool isBool = in[0]->type.getElementType().isInteger(1);
        return mapIntegers([&](size_t i) {
          return isBool ? -in[0]->integers[i] : in[0]->integers[i];
        });
      })
      .Case<arith::ExtUIOp>([&](auto) {
        return mapIntegers([&](size_t i) {
          return static_cast<int64_t>(
              asUnsigned(in[0]->type.getElementType(), in[0]->integers[i]));
        });
      })
      .Case<arith::TruncIOp>([&](auto) {
        return mapIntegers([&](size_t i) {
          return wrapTo(cast<IntegerType>(type), in[0]->integers[i]);
        });
      })
      .Case<math::AbsIOp>([&](auto) {
        return mapIntegers([&](size_t i) {
          return wrapTo(cast<IntegerType>(type), std::abs(in[0]->integers[i]));
        });
      })
      .Case<math::IsNaNOp>([&](auto) {
        return mapIntegers(
            [&](size_t i) { return std::isnan(in[0]->floats[i]); });
      })
      .Case<math::IsInfOp>([&](auto) {
        return mapIntegers(
            [&](size_t i) { return std::isinf(in[0]->floats[i]); });
      })
      .Case<math::IsFiniteOp>([&](auto) {
        return mapIntegers(
            [&](size_t i) { return std::isfinite(in[0]->floats[i]); });
      })
      .Case<math::FmaOp>([&](auto) {
        return mapFloats([&](size_t i) {
          return std::fma(in[0]->floats[i], in[1]->floats[i], in[2]->floats[i]);
        });
      })
      .Default([](auto) { return false; });
}

} // namespace

Results evaluateElementwise(Operation *op, Operands in) {
  if (op->getNumResults() != 1 ||
      !isa<RankedTensorType>(op->getResult(0).getType()))
    return std::nullopt;
  for (const Tensor *operand : in)
    if (operand->shape() != resultType(op).getShape())
      return std::nullopt;
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    FailureOr<Tensor> value = Tensor::fromAttribute(constant.getValue());
    if (failed(value))
      return std::nullopt;
    return std::vector<Tensor>{std::move(*value)};
  }
  Tensor out(resultType(op));
  auto count = static_cast<size_t>(out.size());
  if (auto function = unaryFunction(op)) {
    for (size_t i = 0; i < count; ++i)
      out.floats[i] = function(in[0]->floats[i]);
  } else if (auto function = binaryFunction(op)) {
    for (size_t i = 0; i < count; ++i)
      out.floats[i] = function(in[0]->floats[i], in[1]->floats[i]);
  } else if (auto function = integerFunction(op)) {
    auto type = cast<IntegerType>(out.type.getElementType());
    for (size_t i = 0; i < count; ++i)
      out.integers[i] =
          wrapTo(type, function(in[0]->integers[i], in[1]->integers[i]));
  } else if (!evaluateMixed(op, in, out)) {
    return std::nullopt;
  }
  return std::vector<Tensor>{std::move(out)};
}

} // namespace bessemer::reference
