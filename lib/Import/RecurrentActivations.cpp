// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Activations by name, and as elementwise arithmetic.

#include "RecurrentActivations.h"
#include "bessemer/Dialect/Graph/IR/Graph.h"

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

namespace {
/// ONNX's names, and the defaults of their operators. ScaledTanh and Affine
/// have no operator; 1 and 0 or 1 change nothing.
struct NamedActivation {
  StringLiteral name;
  Activation::Kind kind;
  std::optional<double> alpha, beta;
};
constexpr NamedActivation kActivations[] = {
    {"relu", Activation::Relu, {}, {}},
    {"tanh", Activation::Tanh, {}, {}},
    {"sigmoid", Activation::Sigmoid, {}, {}},
    {"affine", Activation::Affine, 1.0, 0.0},
    {"leakyrelu", Activation::LeakyRelu, 0.01, {}},
    {"thresholdedrelu", Activation::ThresholdedRelu, 1.0, {}},
    {"scaledtanh", Activation::ScaledTanh, 1.0, 1.0},
    {"hardsigmoid", Activation::HardSigmoid, 0.2, 0.5},
    {"elu", Activation::Elu, 1.0, {}},
    {"softsign", Activation::Softsign, {}, {}},
    {"softplus", Activation::Softplus, {}, {}},
};
} // namespace

std::optional<Activation> ingest::parseActivation(StringRef name,
                                                  ArrayRef<float> &alphas,
                                                  ArrayRef<float> &betas) {
  auto take = [](std::optional<double> otherwise, ArrayRef<float> &list) {
    if (!otherwise || list.empty())
      return otherwise.value_or(0.0);
    double value = list.front();
    list = list.drop_front();
    return value;
  };
  for (const NamedActivation &known : kActivations)
    if (name.equals_insensitive(known.name))
      return Activation{known.kind, take(known.alpha, alphas),
                        take(known.beta, betas)};
  return std::nullopt;
}

Value ingest::buildActivation(OpBuilder &builder, Location loc,
                              const Activation &activation, Value x) {
  auto like = [&](double number) {
    return graph::buildSplat(builder, loc, cast<RankedTensorType>(x.getType()),
                             number);
  };
  auto add = [&](Value a, Value b) -> Value {
    return arith::AddFOp::create(builder, loc, a, b);
  };
  auto mul = [&](Value a, Value b) -> Value {
    return arith::MulFOp::create(builder, loc, a, b);
  };
  auto tanh = [&](Value a) -> Value {
    return math::TanhOp::create(builder, loc, a);
  };
  auto select = [&](arith::CmpFPredicate predicate, double bound, Value a,
                    Value b) -> Value {
    Value holds =
        arith::CmpFOp::create(builder, loc, predicate, x, like(bound));
    return arith::SelectOp::create(builder, loc, holds, a, b);
  };
  using Predicate = arith::CmpFPredicate;
  double alpha = activation.alpha, beta = activation.beta;
  switch (activation.kind) {
  case Activation::Relu:
    return arith::MaximumFOp::create(builder, loc, x, like(0.0));
  case Activation::Tanh:
    return tanh(x);
  case Activation::Sigmoid:
    // One function to evaluate, and its gradient needs the result only.
    return add(mul(tanh(mul(x, like(0.5))), like(0.5)), like(0.5));
  case Activation::Affine:
    return add(mul(x, like(alpha)), like(beta));
  case Activation::LeakyRelu:
    return select(Predicate::OGE, 0.0, x, mul(x, like(alpha)));
  case Activation::ThresholdedRelu:
    return select(Predicate::OGT, alpha, x, like(0.0));
  case Activation::ScaledTanh:
    return mul(tanh(mul(x, like(beta))), like(alpha));
  case Activation::HardSigmoid: {
    Value line = add(mul(x, like(alpha)), like(beta));
    line = arith::MaximumFOp::create(builder, loc, line, like(0.0));
    return arith::MinimumFOp::create(builder, loc, line, like(1.0));
  }
  case Activation::Elu: {
    Value negative = select(Predicate::OGE, 0.0, like(0.0), x);
    Value tail = math::ExpM1Op::create(builder, loc, negative);
    return select(Predicate::OGE, 0.0, x, mul(tail, like(alpha)));
  }
  case Activation::Softsign: {
    Value magnitude = math::AbsFOp::create(builder, loc, x);
    return arith::DivFOp::create(builder, loc, x, add(magnitude, like(1.0)));
  }
  case Activation::Softplus: {
    Value negated = arith::NegFOp::create(builder, loc, x);
    Value exponent = select(Predicate::OGE, 0.0, negated, x);
    Value tail = math::Log1pOp::create(
        builder, loc, math::ExpOp::create(builder, loc, exponent));
    return add(select(Predicate::OGE, 0.0, x, like(0.0)), tail);
  }
  }
  llvm_unreachable("unknown activation");
}
