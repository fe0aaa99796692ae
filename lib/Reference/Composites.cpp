// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Composites of graph, by the formulas in their descriptions, not by their
// decompositions: those are checked against this.

#include "Operations.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <limits>
#include <set>

using namespace mlir;

namespace bessemer::reference {
namespace {

using Values = std::vector<Tensor>;

/// Calls visit(first offset, stride, count) for every line along `dim`.
template <typename Visit>
void forEachLine(ArrayRef<int64_t> shape, int64_t dim, Visit visit) {
  int64_t outer = 1, inner = 1;
  for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i)
    (i < dim ? outer : inner) *= i == dim ? 1 : shape[i];
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i)
      visit(o * shape[dim] * inner + i, inner, shape[dim]);
}

/// log(sum(exp(x))) over elements first, first + stride, ...
double logSumExp(const Tensor &x, int64_t first, int64_t stride,
                 int64_t count) {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0.0;
  for (int64_t i = 0; i < count; ++i)
    largest = std::fmax(largest, x.floats[first + i * stride]);
  for (int64_t i = 0; i < count; ++i)
    if (std::isnan(x.floats[first + i * stride]))
      return x.floats[first + i * stride];
  if (std::isinf(largest))
    return largest;
  for (int64_t i = 0; i < count; ++i)
    sum += std::exp(x.floats[first + i * stride] - largest);
  return largest + std::log(sum);
}

Values softmax(Operation *op, const Tensor &x, int64_t dim, bool isLog) {
  Tensor y(resultType(op));
  forEachLine(
      x.shape(), dim, [&](int64_t first, int64_t stride, int64_t count) {
        double lse = logSumExp(x, first, stride, count);
        for (int64_t i = first; i < first + count * stride; i += stride)
          y.floats[i] = isLog ? x.floats[i] - lse : std::exp(x.floats[i] - lse);
      });
  return {std::move(y)};
}

/// Calls visit(channel, offset) for every element of [n, c, ...].
template <typename Visit>
void forEachOfChannel(ArrayRef<int64_t> shape, Visit visit) {
  int64_t plane = 1, count = 1;
  for (int64_t size : shape)
    count *= size;
  for (int64_t size : shape.drop_front(2))
    plane *= size;
  for (int64_t i = 0; i < count; ++i)
    visit(i / plane % shape[1], i);
}

Values batchNorm(graph::BatchNormOp op, Operands in) {
  Tensor y(resultType(op));
  double epsilon = op.getEpsilon().convertToDouble();
  forEachOfChannel(y.shape(), [&](int64_t c, int64_t i) {
    y.floats[i] = (in[0]->floats[i] - in[3]->floats[c]) /
                      std::sqrt(in[4]->floats[c] + epsilon) * in[1]->floats[c] +
                  in[2]->floats[c];
  });
  return {std::move(y)};
}

Values batchNormTrain(graph::BatchNormTrainOp op, Operands in) {
  Tensor y(resultType(op, 0)), mean(resultType(op, 1)),
      variance(resultType(op, 2));
  const Tensor &x = *in[0];
  double count =
      static_cast<double>(x.size()) / static_cast<double>(x.shape()[1]);
  forEachOfChannel(x.shape(), [&](int64_t c, int64_t i) {
    mean.floats[c] += x.floats[i] / count;
  });
  forEachOfChannel(x.shape(), [&](int64_t c, int64_t i) {
    double centred = x.floats[i] - mean.floats[c];
    variance.floats[c] += centred * centred / count;
  });
  double epsilon = op.getEpsilon().convertToDouble();
  forEachOfChannel(x.shape(), [&](int64_t c, int64_t i) {
    y.floats[i] = (x.floats[i] - mean.floats[c]) /
                      std::sqrt(variance.floats[c] + epsilon) *
                      in[1]->floats[c] +
                  in[2]->floats[c];
  });
  return {std::move(y), std::move(mean), std::move(variance)};
}

Values batchNormGrad(graph::BatchNormGradOp op, Operands in) {
  Tensor dx(resultType(op, 0)), dscale(resultType(op, 1)),
      dbias(resultType(op, 2));
  const Tensor &x = *in[0], &scale = *in[1], &mean = *in[2], &variance = *in[3],
               &dy = *in[4];
  double epsilon = op.getEpsilon().convertToDouble();
  double count =
      static_cast<double>(x.size()) / static_cast<double>(x.shape()[1]);
  auto deviation = [&](int64_t c) {
    return std::sqrt(variance.floats[c] + epsilon);
  };
  forEachOfChannel(x.shape(), [&](int64_t c, int64_t i) {
    dbias.floats[c] += dy.floats[i];
    dscale.floats[c] +=
        dy.floats[i] * (x.floats[i] - mean.floats[c]) / deviation(c);
  });
  forEachOfChannel(x.shape(), [&](int64_t c, int64_t i) {
    double xhat = (x.floats[i] - mean.floats[c]) / deviation(c);
    dx.floats[i] = scale.floats[c] / deviation(c) *
                   (dy.floats[i] - dbias.floats[c] / count -
                    xhat * dscale.floats[c] / count);
  });
  return {std::move(dx), std::move(dscale), std::move(dbias)};
}

Values dropout(graph::DropoutOp op, Operands in, const StepBlock &step) {
  const Tensor &x = *in[0];
  Tensor y(resultType(op));
  int64_t first = op.getMicro() ? in[2]->integers[0] * x.size() : 0;
  double ratio = op.getRatio().convertToDouble();
  for (int64_t i = 0; i < x.size(); ++i)
    if (uniform(step, op.getId(), first + i) >= ratio)
      y.floats[i] = x.floats[i] / (1.0 - ratio);
  return {std::move(y)};
}

Values crossEntropy(graph::CrossEntropyOp op, Operands in) {
  Tensor loss(resultType(op, 0)), lse(resultType(op, 1));
  const Tensor &logits = *in[0];
  int64_t classes = logits.shape()[1];
  double smoothing = op.getLabelSmoothing().convertToDouble();
  for (int64_t row = 0; row < loss.size(); ++row) {
    lse.floats[row] = logSumExp(logits, row * classes, 1, classes);
    int64_t label = in[1]->integers[row];
    if (label == static_cast<int64_t>(op.getIgnoreIndex()))
      continue;
    for (int64_t c = 0; c < classes; ++c) {
      double target = smoothing / static_cast<double>(classes) +
                      (c == label ? 1.0 - smoothing : 0.0);
      if (target != 0.0)
        loss.floats[row] +=
            target * (lse.floats[row] - logits.floats[row * classes + c]);
    }
  }
  return {std::move(loss), std::move(lse)};
}

Values crossEntropyGrad(graph::CrossEntropyGradOp op, Operands in) {
  Tensor out(resultType(op));
  const Tensor &logits = *in[0];
  int64_t classes = logits.shape()[1];
  double smoothing = op.getLabelSmoothing().convertToDouble();
  for (int64_t i = 0; i < out.size(); ++i) {
    int64_t row = i / classes, label = in[1]->integers[row];
    if (label == static_cast<int64_t>(op.getIgnoreIndex()))
      continue;
    double target = smoothing / static_cast<double>(classes) +
                    (i % classes == label ? 1.0 - smoothing : 0.0);
    double softmax = std::exp(logits.floats[i] - in[2]->floats[row]);
    out.floats[i] = (softmax - target) * in[3]->floats[row];
  }
  return {std::move(out)};
}

Values squareSum(Operation *op, Operands in) {
  Tensor out(resultType(op));
  for (const Tensor *gradient : in)
    for (double value : gradient->floats)
      out.floats[0] += value * value;
  return {std::move(out)};
}

Values sgd(graph::SgdOp op, Operands in) {
  double rate = in[2]->floats[0], scale = in[3]->floats[0];
  bool isFirst = in[4]->floats[0] != 0.0;
  double momentum = op.getMomentum().convertToDouble();
  double dampening = op.getDampening().convertToDouble();
  double decay = op.getWeightDecay().convertToDouble();
  Tensor p = *in[0];
  std::optional<Tensor> buffer;
  if (op.getBuffer())
    buffer = *in[5];
  for (int64_t i = 0; i < p.size(); ++i) {
    double d = in[1]->floats[i] * scale + decay * p.floats[i];
    if (buffer) {
      double &b = buffer->floats[i];
      b = isFirst ? d : momentum * b + (1.0 - dampening) * d;
      d = op.getNesterov() ? d + momentum * b : b;
    }
    p.floats[i] -= rate * d;
  }
  Values results{std::move(p)};
  if (buffer)
    results.push_back(std::move(*buffer));
  return results;
}

Values adamw(graph::AdamWOp op, Operands in) {
  double rate = in[4]->floats[0], scale = in[5]->floats[0];
  double correction1 = in[6]->floats[0], correction2 = in[7]->floats[0];
  double beta1 = op.getBeta1().convertToDouble();
  double beta2 = op.getBeta2().convertToDouble();
  double epsilon = op.getEpsilon().convertToDouble();
  double decay = op.getWeightDecay().convertToDouble();
  Tensor p = *in[0], m = *in[2], v = *in[3];
  std::set<int64_t> touched;
  for (const Tensor *indices : in.drop_front(8))
    touched.insert(indices->integers.begin(), indices->integers.end());
  for (int64_t i = 0; i < p.size(); ++i) {
    if (!op.getTouched().empty() &&
        !touched.count(i / (p.size() / p.shape()[0])))
      continue;
    double g = in[1]->floats[i] * scale;
    m.floats[i] = beta1 * m.floats[i] + (1.0 - beta1) * g;
    v.floats[i] = beta2 * v.floats[i] + (1.0 - beta2) * g * g;
    p.floats[i] =
        p.floats[i] * (1.0 - rate * decay) -
        rate / correction1 * m.floats[i] /
            (std::sqrt(v.floats[i]) / std::sqrt(correction2) + epsilon);
  }
  return {std::move(p), std::move(m), std::move(v)};
}

} // namespace

Results evaluateComposite(Operation *op, Operands in, const StepBlock &step) {
  return llvm::TypeSwitch<Operation *, Results>(op)
      .Case<graph::SoftmaxOp>(
          [&](auto x) { return softmax(x, *in[0], x.getDim(), false); })
      .Case<graph::LogSoftmaxOp>(
          [&](auto x) { return softmax(x, *in[0], x.getDim(), true); })
      .Case<graph::BatchNormOp>([&](auto x) { return batchNorm(x, in); })
      .Case<graph::BatchNormTrainOp>(
          [&](auto x) { return batchNormTrain(x, in); })
      .Case<graph::BatchNormGradOp>(
          [&](auto x) { return batchNormGrad(x, in); })
      .Case<graph::DropoutOp>([&](auto x) { return dropout(x, in, step); })
      .Case<graph::CrossEntropyOp>([&](auto x) { return crossEntropy(x, in); })
      .Case<graph::CrossEntropyGradOp>(
          [&](auto x) { return crossEntropyGrad(x, in); })
      .Case<graph::SquareSumOp>([&](auto x) { return squareSum(x, in); })
      .Case<graph::SgdOp>([&](auto x) { return sgd(x, in); })
      .Case<graph::AdamWOp>([&](auto x) { return adamw(x, in); })
      .Default([](auto) { return std::nullopt; });
}

} // namespace bessemer::reference
