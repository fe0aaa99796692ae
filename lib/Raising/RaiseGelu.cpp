// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The raise-gelu pass.

#include "Match.h"
#include "bessemer/Raising/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <array>
#include <numbers>

#define DEBUG_TYPE "raise-gelu"

namespace bessemer {
#define GEN_PASS_DEF_RAISEGELU
#include "bessemer/Raising/Passes.h.inc"
} // namespace bessemer

using namespace mlir;
using namespace bessemer;
using namespace bessemer::raising;

namespace {
/// Coefficients of 1, x, x^2, x^3.
using Polynomial = std::array<double, 4>;
} // namespace

static std::optional<Polynomial> multiply(const Polynomial &a,
                                          const Polynomial &b) {
  Polynomial product = {};
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < b.size(); ++j) {
      double term = a[i] * b[j];
      if (term == 0.0)
        continue;
      if (i + j >= product.size())
        return std::nullopt;
      product[i + j] += term;
    }
  return product;
}

/// `value` as a polynomial in `x` of degree 3 at most. `budget` bounds the
/// number of ops looked at.
static std::optional<Polynomial> polynomialIn(Value value, Value x,
                                              unsigned &budget) {
  if (value == x)
    return Polynomial{0.0, 1.0, 0.0, 0.0};
  if (std::optional<double> constant = splatOf(value))
    return Polynomial{*constant, 0.0, 0.0, 0.0};
  Operation *op = value.getDefiningOp();
  if (!op || budget == 0 ||
      !isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
           math::PowFOp>(op))
    return std::nullopt;
  --budget;
  std::optional<Polynomial> a = polynomialIn(op->getOperand(0), x, budget);
  std::optional<Polynomial> b =
      a ? polynomialIn(op->getOperand(1), x, budget) : std::nullopt;
  if (!b)
    return std::nullopt;
  if (isa<arith::MulFOp>(op))
    return multiply(*a, *b);
  if (isa<arith::AddFOp, arith::SubFOp>(op)) {
    for (size_t i = 0; i < a->size(); ++i)
      (*a)[i] += isa<arith::AddFOp>(op) ? (*b)[i] : -(*b)[i];
    return a;
  }
  // Division by a constant, a power with a small constant exponent.
  if ((*b)[1] != 0.0 || (*b)[2] != 0.0 || (*b)[3] != 0.0)
    return std::nullopt;
  if (isa<arith::DivFOp>(op))
    return multiply(*a, Polynomial{1.0 / (*b)[0], 0.0, 0.0, 0.0});
  if ((*b)[0] == 2.0)
    return multiply(*a, *a);
  if ((*b)[0] != 3.0)
    return std::nullopt;
  std::optional<Polynomial> square = multiply(*a, *a);
  return square ? multiply(*square, *a) : std::nullopt;
}

static bool isPolynomial(Value value, Value x, const Polynomial &expected) {
  unsigned budget = 16;
  std::optional<Polynomial> polynomial = polynomialIn(value, x, budget);
  if (!polynomial)
    return false;
  for (auto [have, want] : llvm::zip_equal(*polynomial, expected))
    if (want == 0.0 ? have != 0.0 : !isNear(have, want))
      return false;
  return true;
}

/// The x for which `value` is 1 + erf(x / sqrt(2)) or the like with tanh;
/// `kind` is then which.
static Value matchDistribution(Value value, graph::GeluKind &kind) {
  Value x;
  auto matchSum = [&](Value function, Value one) {
    if (splatOf(one) != 1.0)
      return false;
    if (auto erf = function.getDefiningOp<math::ErfOp>()) {
      Value candidate = peelFactors(erf.getOperand()).first;
      if (!isPolynomial(erf.getOperand(), candidate,
                        {0.0, 1.0 / std::numbers::sqrt2, 0.0, 0.0}))
        return false;
      kind = graph::GeluKind::None;
      x = candidate;
      return true;
    }
    auto tanh = function.getDefiningOp<math::TanhOp>();
    if (!tanh)
      return false;
    // x is a term of the sum, or a factor beside it.
    double factor = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    Polynomial cubic = {0.0, factor, 0.0, factor * 0.044715};
    Value inner = peelFactors(tanh.getOperand()).first;
    Operation *op = inner.getDefiningOp();
    if (!op || !isa<arith::AddFOp, arith::MulFOp>(op))
      return false;
    for (Value operand : op->getOperands()) {
      Value candidate = peelFactors(operand).first;
      if (isPolynomial(tanh.getOperand(), candidate, cubic)) {
        kind = graph::GeluKind::Tanh;
        x = candidate;
        return true;
      }
    }
    return false;
  };
  (void)matchEither<arith::AddFOp>(value, matchSum);
  return x;
}

/// Splits a product into factors; does not look into `x`.
static void collectFactors(Value value, Value x,
                           SmallVectorImpl<Value> &factors) {
  auto product = value.getDefiningOp<arith::MulFOp>();
  if (value == x || !product) {
    factors.push_back(value);
    return;
  }
  collectFactors(product.getLhs(), x, factors);
  collectFactors(product.getRhs(), x, factors);
}

namespace {
struct RaiseProduct : OpRewritePattern<arith::MulFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::MulFOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> all;
    collectFactors(op.getResult(), Value(), all);
    graph::GeluKind kind;
    Value x;
    for (Value factor : all)
      if ((x = matchDistribution(peelFactors(factor).first, kind)))
        break;
    if (!x)
      return rewriter.notifyMatchFailure(op, "no factor 1 + erf or 1 + tanh");
    // Exactly 1/2, x and that factor.
    SmallVector<Value> factors;
    collectFactors(op.getResult(), x, factors);
    double constant = 1.0;
    unsigned inputs = 0, distributions = 0;
    for (Value factor : factors) {
      auto [rest, scale] = peelFactors(factor);
      constant *= scale;
      graph::GeluKind other;
      if (std::optional<double> splat = splatOf(rest))
        constant *= *splat;
      else if (rest == x)
        ++inputs;
      else if (matchDistribution(rest, other) == x && other == kind)
        ++distributions;
      else
        return rewriter.notifyMatchFailure(op, "another factor");
    }
    if (inputs != 1 || distributions != 1 || !isNear(constant, 0.5))
      return rewriter.notifyMatchFailure(op, "expected x / 2 beside it");
    rewriter.replaceOpWithNewOp<graph::GeluOp>(op, op.getType(), kind, x);
    return success();
  }
};

struct RaiseGelu : bessemer::impl::RaiseGeluBase<RaiseGelu> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<RaiseProduct>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
