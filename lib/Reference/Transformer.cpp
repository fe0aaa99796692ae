// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Norms, gelu, sigmoid, silu and attention, by the formulas in their
// descriptions, element by element: their decompositions are checked against
// this.

#include "Operations.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <limits>
#include <numbers>

using namespace mlir;

namespace bessemer::reference {
namespace {

using Values = std::vector<Tensor>;

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

Values layerNorm(graph::LayerNormOp op, Operands in) {
  Tensor y(resultType(op, 0)), mean(resultType(op, 1)), rstd(resultType(op, 2));
  const Tensor &x = *in[0], &scale = *in[1];
  double epsilon = op.getEpsilon().convertToDouble();
  int64_t n = scale.size();
  for (int64_t row = 0; row < mean.size(); ++row) {
    double sum = 0.0, squares = 0.0;
    for (int64_t i = 0; i < n; ++i)
      sum += x.floats[row * n + i];
    mean.floats[row] = sum / static_cast<double>(n);
    for (int64_t i = 0; i < n; ++i)
      squares += std::pow(x.floats[row * n + i] - mean.floats[row], 2);
    rstd.floats[row] =
        1.0 / std::sqrt(squares / static_cast<double>(n) + epsilon);
    for (int64_t i = 0; i < n; ++i)
      y.floats[row * n + i] = (x.floats[row * n + i] - mean.floats[row]) *
                                  rstd.floats[row] * scale.floats[i] +
                              (op.getBias() ? in[2]->floats[i] : 0.0);
  }
  return {std::move(y), std::move(mean), std::move(rstd)};
}

Values rmsNorm(graph::RmsNormOp op, Operands in) {
  Tensor y(resultType(op, 0)), rstd(resultType(op, 1));
  const Tensor &x = *in[0], &scale = *in[1];
  int64_t n = scale.size();
  for (int64_t row = 0; row < rstd.size(); ++row) {
    double squares = 0.0;
    for (int64_t i = 0; i < n; ++i)
      squares += x.floats[row * n + i] * x.floats[row * n + i];
    rstd.floats[row] = 1.0 / std::sqrt(squares / static_cast<double>(n) +
                                       op.getEpsilon().convertToDouble());
    for (int64_t i = 0; i < n; ++i)
      y.floats[row * n + i] =
          x.floats[row * n + i] * rstd.floats[row] * scale.floats[i];
  }
  return {std::move(y), std::move(rstd)};
}

/// The gradient of both norms; `mean` is null for rms norm, whose rows are not
/// centred.
Values normGrad(Operation *op, const Tensor &x, const Tensor &scale,
                const Tensor *mean, const Tensor &rstd, const Tensor &dy) {
  Values results;
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    results.emplace_back(resultType(op, i));
  int64_t n = scale.size();
  for (int64_t row = 0; row < rstd.size(); ++row) {
    auto normal = [&](int64_t i) {
      return (x.floats[row * n + i] - (mean ? mean->floats[row] : 0.0)) *
             rstd.floats[row];
    };
    double sum = 0.0, product = 0.0;
    for (int64_t i = 0; i < n; ++i) {
      double slope = dy.floats[row * n + i];
      sum += slope * scale.floats[i];
      product += slope * scale.floats[i] * normal(i);
      results[1].floats[i] += slope * normal(i);
      if (mean)
        results[2].floats[i] += slope;
    }
    for (int64_t i = 0; i < n; ++i)
      results[0].floats[row * n + i] =
          rstd.floats[row] * (dy.floats[row * n + i] * scale.floats[i] -
                              (mean ? sum / static_cast<double>(n) : 0.0) -
                              normal(i) * product / static_cast<double>(n));
  }
  return results;
}

//===----------------------------------------------------------------------===//
// Gelu
//===----------------------------------------------------------------------===//

constexpr double kTanhFactor = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;

double gelu(graph::GeluKind kind, double x) {
  if (kind == graph::GeluKind::None)
    return x * 0.5 * std::erfc(-x / std::numbers::sqrt2);
  return 0.5 * x * (1.0 + std::tanh(kTanhFactor * (x + 0.044715 * x * x * x)));
}

double geluSlope(graph::GeluKind kind, double x) {
  if (kind == graph::GeluKind::None)
    return 0.5 * std::erfc(-x / std::numbers::sqrt2) +
           x * std::exp(-0.5 * x * x) * kTanhFactor / 2.0;
  double t = std::tanh(kTanhFactor * (x + 0.044715 * x * x * x));
  return 0.5 * (1.0 + t) +
         0.5 * x * (1.0 - t * t) * kTanhFactor * (1.0 + 3.0 * 0.044715 * x * x);
}

//===----------------------------------------------------------------------===//
// Silu
//===----------------------------------------------------------------------===//

double siluSlope(double x) {
  double s = 1.0 / (1.0 + std::exp(-x));
  return s * (1.0 + x * (1.0 - s));
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// One row of attention at a time.
class AttentionRows {
public:
  /// `maskIndex` is the operand that holds the mask, if there is one.
  template <typename OpTy>
  AttentionRows(OpTy op, Operands in, unsigned maskIndex, const StepBlock &step)
      : q(*in[0]), k(*in[1]), v(*in[2]),
        mask(op.getMask() ? in[maskIndex] : nullptr), step(step),
        heads(q.shape()[1]), groups(k.shape()[1]), queries(q.shape()[2]),
        keys(k.shape()[2]), depth(q.shape()[3]), width(v.shape()[3]),
        isCausal(op.getCausal()), scale(op.getScale().convertToDouble()),
        ratio(op.getRatio().convertToDouble()), id(op.getId()) {}

  /// Calls visit(b, h, i) for every row.
  template <typename Visit> void forEach(Visit visit) {
    for (int64_t b = 0; b < q.shape()[0]; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t i = 0; i < queries; ++i)
          visit(b, h, i);
  }
  /// Row-major positions of row i of a head, and of key j of its group.
  int64_t row(int64_t b, int64_t h, int64_t i) const {
    return (b * heads + h) * queries + i;
  }
  int64_t key(int64_t b, int64_t h, int64_t j) const {
    return (b * groups + h / (heads / groups)) * keys + j;
  }

  /// The score of key j, minus infinity if it is not seen.
  double score(int64_t b, int64_t h, int64_t i, int64_t j) const {
    if (isCausal && j > i)
      return -std::numeric_limits<double>::infinity();
    double sum = 0.0;
    for (int64_t d = 0; d < depth; ++d)
      sum += q.floats[row(b, h, i) * depth + d] *
             k.floats[key(b, h, j) * depth + d];
    sum *= scale;
    if (!mask)
      return sum;
    int64_t offset = 0, dim = 0;
    for (int64_t index : {b, h, i, j}) {
      int64_t size = mask->shape()[dim++];
      offset = offset * size + (size == 1 ? 0 : index);
    }
    return sum + mask->floats[offset];
  }

  /// What dropout multiplies a probability by.
  double kept(int64_t b, int64_t h, int64_t i, int64_t j) const {
    if (ratio == 0.0)
      return 1.0;
    bool keep = uniform(step, id, row(b, h, i) * keys + j) >= ratio;
    return keep ? 1.0 / (1.0 - ratio) : 0.0;
  }

  const Tensor &q, &k, &v;
  const Tensor *mask;
  const StepBlock &step;
  int64_t heads, groups, queries, keys, depth, width;
  bool isCausal;
  double scale, ratio;
  int64_t id;
};

Values attention(graph::AttentionOp op, Operands in, const StepBlock &step) {
  Tensor y(resultType(op, 0)), lse(resultType(op, 1));
  AttentionRows a(op, in, 3, step);
  a.forEach([&](int64_t b, int64_t h, int64_t i) {
    std::vector<double> scores;
    double largest = -std::numeric_limits<double>::infinity(), sum = 0.0;
    for (int64_t j = 0; j < a.keys; ++j) {
      scores.push_back(a.score(b, h, i, j));
      largest = std::fmax(largest, scores.back());
    }
    int64_t row = a.row(b, h, i);
    if (std::isinf(largest) && largest < 0 &&
        llvm::none_of(scores, [](double s) { return std::isnan(s); })) {
      lse.floats[row] = largest;
      return; // The row of y stays 0.
    }
    for (double score : scores)
      sum += std::exp(score - largest);
    lse.floats[row] = largest + std::log(sum);
    for (int64_t j = 0; j < a.keys; ++j) {
      double p = std::exp(scores[j] - largest) / sum * a.kept(b, h, i, j);
      for (int64_t d = 0; d < a.width; ++d)
        y.floats[row * a.width + d] +=
            p * a.v.floats[a.key(b, h, j) * a.width + d];
    }
  });
  return {std::move(y), std::move(lse)};
}

Values attentionGrad(graph::AttentionGradOp op, Operands in,
                     const StepBlock &step) {
  Tensor dq(resultType(op, 0)), dk(resultType(op, 1)), dv(resultType(op, 2));
  AttentionRows a(op, in, 6, step);
  const Tensor &y = *in[3], &lse = *in[4], &dy = *in[5];
  a.forEach([&](int64_t b, int64_t h, int64_t i) {
    int64_t row = a.row(b, h, i);
    if (std::isinf(lse.floats[row]) && lse.floats[row] < 0)
      return; // The row sees nothing.
    double delta = 0.0;
    for (int64_t d = 0; d < a.width; ++d)
      delta += y.floats[row * a.width + d] * dy.floats[row * a.width + d];
    for (int64_t j = 0; j < a.keys; ++j) {
      int64_t key = a.key(b, h, j);
      double p = std::exp(a.score(b, h, i, j) - lse.floats[row]);
      double kept = a.kept(b, h, i, j), dp = 0.0;
      for (int64_t d = 0; d < a.width; ++d) {
        dp += dy.floats[row * a.width + d] * a.v.floats[key * a.width + d];
        dv.floats[key * a.width + d] += p * kept * dy.floats[row * a.width + d];
      }
      double ds = a.scale * p * (dp * kept - delta);
      for (int64_t d = 0; d < a.depth; ++d) {
        dq.floats[row * a.depth + d] += ds * a.k.floats[key * a.depth + d];
        dk.floats[key * a.depth + d] += ds * a.q.floats[row * a.depth + d];
      }
    }
  });
  return {std::move(dq), std::move(dk), std::move(dv)};
}

} // namespace

Results evaluateTransformer(Operation *op, Operands in, const StepBlock &step) {
  return llvm::TypeSwitch<Operation *, Results>(op)
      .Case<graph::LayerNormOp>([&](auto x) { return layerNorm(x, in); })
      .Case<graph::RmsNormOp>([&](auto x) { return rmsNorm(x, in); })
      .Case<graph::LayerNormGradOp>([&](auto x) {
        return normGrad(x, *in[0], *in[1], in[2], *in[3], *in[4]);
      })
      .Case<graph::RmsNormGradOp>([&](auto x) {
        return normGrad(x, *in[0], *in[1], nullptr, *in[2], *in[3]);
      })
      .Case<graph::GeluOp>([&](auto x) {
        Tensor y(resultType(x));
        for (auto [to, from] : llvm::zip_equal(y.floats, in[0]->floats))
          to = gelu(x.getKind(), from);
        return Values{std::move(y)};
      })
      .Case<graph::GeluGradOp>([&](auto x) {
        Tensor dx(resultType(x));
        for (int64_t i = 0; i < dx.size(); ++i)
          dx.floats[i] =
              in[1]->floats[i] * geluSlope(x.getKind(), in[0]->floats[i]);
        return Values{std::move(dx)};
      })
      .Case<graph::SigmoidOp>([&](auto x) {
        Tensor y(resultType(x));
        for (auto [to, from] : llvm::zip_equal(y.floats, in[0]->floats))
          to = 1.0 / (1.0 + std::exp(-from));
        return Values{std::move(y)};
      })
      .Case<graph::SiluOp>([&](auto x) {
        Tensor y(resultType(x));
        for (auto [to, from] : llvm::zip_equal(y.floats, in[0]->floats))
          to = from / (1.0 + std::exp(-from));
        return Values{std::move(y)};
      })
      .Case<graph::SiluGradOp>([&](auto x) {
        Tensor dx(resultType(x));
        for (int64_t i = 0; i < dx.size(); ++i)
          dx.floats[i] = in[1]->floats[i] * siluSlope(in[0]->floats[i]);
        return Values{std::move(dx)};
      })
      .Case<graph::AttentionOp>([&](auto x) { return attention(x, in, step); })
      .Case<graph::AttentionGradOp>(
          [&](auto x) { return attentionGrad(x, in, step); })
      .Default([](auto) { return std::nullopt; });
}

} // namespace bessemer::reference
