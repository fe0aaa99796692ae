// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolution, pooling and their gradients, by their definition.

#include "Operations.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace bessemer::reference {
namespace {

/// Calls visit(x offset, weight offset, y offset) for every product in the
/// convolution of x [n, c, h, w] with weight [o, c / groups, kh, kw] into
/// y [n, o, oh, ow].
template <typename OpTy, typename Visit>
void forEachProduct(OpTy op, ArrayRef<int64_t> x, ArrayRef<int64_t> w,
                    ArrayRef<int64_t> y, Visit visit) {
  auto strides = op.getStrides();
  auto pads = op.getPads();
  auto dilations = op.getDilations();
  int64_t outPerGroup = w[0] / static_cast<int64_t>(op.getGroups());
  for (int64_t n = 0; n < y[0]; ++n)
    for (int64_t o = 0; o < y[1]; ++o)
      for (int64_t i = 0; i < w[1]; ++i) {
        int64_t c = o / outPerGroup * w[1] + i;
        for (int64_t kh = 0; kh < w[2]; ++kh)
          for (int64_t kw = 0; kw < w[3]; ++kw) {
            int64_t weight = ((o * w[1] + i) * w[2] + kh) * w[3] + kw;
            for (int64_t oh = 0; oh < y[2]; ++oh) {
              int64_t h = oh * strides[0] - pads[0] + kh * dilations[0];
              if (h < 0 || h >= x[2])
                continue;
              for (int64_t ow = 0; ow < y[3]; ++ow) {
                int64_t v = ow * strides[1] - pads[1] + kw * dilations[1];
                if (v >= 0 && v < x[3])
                  visit(((n * x[1] + c) * x[2] + h) * x[3] + v, weight,
                        ((n * y[1] + o) * y[2] + oh) * y[3] + ow);
              }
            }
          }
      }
}

Tensor convolution(graph::ConvOp op, Operands in) {
  Tensor y(resultType(op));
  if (op.getBias()) {
    int64_t plane = y.shape()[2] * y.shape()[3];
    for (int64_t i = 0; i < y.size(); ++i)
      y.floats[i] = in[2]->floats[i / plane % y.shape()[1]];
  }
  forEachProduct(op, in[0]->shape(), in[1]->shape(), y.shape(),
                 [&](int64_t x, int64_t w, int64_t at) {
                   y.floats[at] += in[0]->floats[x] * in[1]->floats[w];
                 });
  return y;
}

Tensor inputGradient(graph::ConvInputGradOp op, Operands in) {
  Tensor dx(resultType(op));
  forEachProduct(op, dx.shape(), in[1]->shape(), in[0]->shape(),
                 [&](int64_t x, int64_t w, int64_t y) {
                   dx.floats[x] += in[0]->floats[y] * in[1]->floats[w];
                 });
  return dx;
}

Tensor weightGradient(graph::ConvWeightGradOp op, Operands in) {
  Tensor dw(resultType(op));
  forEachProduct(op, in[0]->shape(), dw.shape(), in[1]->shape(),
                 [&](int64_t x, int64_t w, int64_t y) {
                   dw.floats[w] += in[0]->floats[x] * in[1]->floats[y];
                 });
  return dw;
}

/// One window: the offsets of its elements inside the input, in row-major
/// order, and how many positions it has when padding counts.
struct Window {
  SmallVector<int64_t> offsets;
  int64_t padded = 0;
};

/// Calls visit(y offset, window) for every window over x [n, c, h, w].
template <typename OpTy, typename Visit>
void forEachWindow(OpTy op, ArrayRef<int64_t> x, ArrayRef<int64_t> y,
                   Visit visit) {
  auto size = op.getWindow();
  auto strides = op.getStrides();
  auto pads = op.getPads();
  auto dilations = op.getDilations();
  int64_t position = 0;
  forEachIndex(y, [&](ArrayRef<int64_t> index) {
    Window window;
    for (int64_t kh = 0; kh < size[0]; ++kh)
      for (int64_t kw = 0; kw < size[1]; ++kw) {
        int64_t h = index[2] * strides[0] - pads[0] + kh * dilations[0];
        int64_t w = index[3] * strides[1] - pads[1] + kw * dilations[1];
        // Past the padded input a window is cut (ceil mode).
        if (h >= x[2] + pads[2] || w >= x[3] + pads[3])
          continue;
        ++window.padded;
        if (h >= 0 && h < x[2] && w >= 0 && w < x[3])
          window.offsets.push_back(
              ((index[0] * x[1] + index[1]) * x[2] + h) * x[3] + w);
      }
    visit(position++, window);
  });
}

/// The offset of the first largest element, or of the first NaN; -1 when the
/// window is empty.
int64_t largestIn(const Window &window, const Tensor &x) {
  int64_t best = -1;
  for (int64_t at : window.offsets) {
    if (std::isnan(x.floats[at]))
      return at;
    if (best < 0 || x.floats[at] > x.floats[best])
      best = at;
  }
  return best;
}

int64_t divisorOf(const Window &window, bool countIncludePad) {
  return countIncludePad ? window.padded
                         : static_cast<int64_t>(window.offsets.size());
}

Tensor pool(graph::PoolOp op, const Tensor &x) {
  Tensor y(resultType(op));
  forEachWindow(
      op, x.shape(), y.shape(), [&](int64_t at, const Window &window) {
        if (op.getKind() == graph::PoolKind::Max) {
          int64_t best = largestIn(window, x);
          y.floats[at] = best < 0 ? -std::numeric_limits<double>::infinity()
                                  : x.floats[best];
          return;
        }
        double sum = 0.0;
        for (int64_t offset : window.offsets)
          sum += x.floats[offset];
        y.floats[at] = sum / static_cast<double>(
                                 divisorOf(window, op.getCountIncludePad()));
      });
  return y;
}

Tensor maxPoolGradient(graph::MaxPoolGradOp op, Operands in) {
  Tensor dx(resultType(op));
  forEachWindow(op, dx.shape(), in[1]->shape(),
                [&](int64_t at, const Window &window) {
                  int64_t best = largestIn(window, *in[0]);
                  if (best >= 0)
                    dx.floats[best] += in[1]->floats[at];
                });
  return dx;
}

Tensor averagePoolGradient(graph::AveragePoolGradOp op, const Tensor &dy) {
  Tensor dx(resultType(op));
  forEachWindow(
      op, dx.shape(), dy.shape(), [&](int64_t at, const Window &window) {
        double share =
            dy.floats[at] /
            static_cast<double>(divisorOf(window, op.getCountIncludePad()));
        for (int64_t offset : window.offsets)
          dx.floats[offset] += share;
      });
  return dx;
}

} // namespace

Results evaluateWindow(Operation *op, Operands in) {
  using Values = std::vector<Tensor>;
  return llvm::TypeSwitch<Operation *, Results>(op)
      .Case<graph::ConvOp>([&](auto x) { return Values{convolution(x, in)}; })
      .Case<graph::ConvInputGradOp>(
          [&](auto x) { return Values{inputGradient(x, in)}; })
      .Case<graph::ConvWeightGradOp>(
          [&](auto x) { return Values{weightGradient(x, in)}; })
      .Case<graph::PoolOp>([&](auto x) { return Values{pool(x, *in[0])}; })
      .Case<graph::MaxPoolGradOp>(
          [&](auto x) { return Values{maxPoolGradient(x, in)}; })
      .Case<graph::AveragePoolGradOp>(
          [&](auto x) { return Values{averagePoolGradient(x, *in[0])}; })
      .Default([](auto) { return std::nullopt; });
}

} // namespace bessemer::reference
