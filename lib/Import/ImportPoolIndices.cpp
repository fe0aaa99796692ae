// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the maximum of every window lies: MaxPool's second output.

#include "Windows.h"

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

/// Every element of a window takes a few ops, and a position in every window.
static constexpr int64_t largestWindow = 256;
static constexpr int64_t mostPositions = 1 << 24;

/// A constant [1, 1, output...].
static Value constantOf(NodeImport &n, std::vector<int64_t> elements,
                        ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, n.builder.getI64Type());
  return materialize(Literal::ofInts(std::move(elements), shape.vec()), type,
                     n.builder, n.loc);
}

/// The element of every window at `offsets`, zero where that is padding.
static Value elementsAt(NodeImport &n, const Windows &w,
                        ArrayRef<int64_t> offsets) {
  Value x = n.value(0);
  for (auto [i, offset] : llvm::enumerate(offsets)) {
    int64_t start = offset * w.dilations[i] - w.begin[i];
    int64_t reach = start + (w.output[i] - 1) * w.strides[i] + 1;
    int64_t low = std::max<int64_t>(-start, 0);
    int64_t size = std::max(low + w.input[i], low + reach);
    auto type = cast<RankedTensorType>(x.getType());
    SmallVector<int64_t> shape(type.getShape()), lows(type.getRank(), 0);
    if (size != w.input[i]) {
      shape[i + 2] = size;
      lows[i + 2] = low;
      x = graph::PadOp::create(n.builder, n.loc, type.clone(shape), x, lows);
    }
    x = n.strided(x, i + 2, start + low, w.output[i], w.strides[i]);
  }
  return x;
}

FailureOr<Value> ingest::buildPoolIndices(NodeImport &n, const Windows &w,
                                          Value maxima) {
  size_t spatial = w.input.size();
  int64_t planes = n.shape(0)[0] * n.shape(0)[1];
  int64_t plane = 1, window = 1, outputs = 1;
  for (size_t i = 0; i < spatial; ++i) {
    plane *= w.input[i];
    outputs *= w.output[i];
    if (w.kernel[i] > largestWindow || (window *= w.kernel[i]) > largestWindow)
      return n.fail("its indices are used by the graph; expected windows of at "
                    "most " +
                    Twine(largestWindow) + " elements then");
  }
  if (outputs > mostPositions / window || planes > mostPositions)
    return n.fail("its indices are used by the graph; expected at most " +
                  Twine(mostPositions) +
                  " planes, and elements in all windows of a plane, then");
  if (intAttribute(n.node, "storage_order", 0) != 0)
    return n.fail("its indices are used by the graph; expected storage_order "
                  "0 then");
  SmallVector<int64_t> ones(spatial + 2, 1);
  llvm::copy(w.output, ones.begin() + 2);
  auto resultType =
      cast<RankedTensorType>(maxima.getType()).clone(n.builder.getI64Type());
  // The first of equal elements, as no other position is smaller.
  Value first;
  for (int64_t element = 0; element < window; ++element) {
    SmallVector<int64_t> offsets(spatial);
    for (int64_t i = spatial, rest = element; i-- > 0; rest /= w.kernel[i])
      offsets[i] = rest % w.kernel[i];
    // What is padding comes after all positions.
    std::vector<int64_t> positions(outputs);
    for (int64_t output = 0; output < outputs; ++output) {
      int64_t position = 0, scale = 1;
      bool isPadding = false;
      for (int64_t i = spatial, rest = output; i-- > 0; rest /= w.output[i]) {
        int64_t at = rest % w.output[i] * w.strides[i] +
                     offsets[i] * w.dilations[i] - w.begin[i];
        isPadding |= at < 0 || at >= w.input[i];
        position += at * scale;
        scale *= w.input[i];
      }
      positions[output] = isPadding ? plane : position;
    }
    Value here = n.broadcastTo(constantOf(n, std::move(positions), ones),
                               resultType.getShape());
    if (window > 1) {
      // A window with a NaN has a NaN as its maximum.
      Value isMaximum =
          arith::CmpFOp::create(n.builder, n.loc, arith::CmpFPredicate::UEQ,
                                elementsAt(n, w, offsets), maxima);
      here = arith::SelectOp::create(n.builder, n.loc, isMaximum, here,
                                     n.splatLike(here, plane));
    }
    first =
        first
            ? arith::MinSIOp::create(n.builder, n.loc, first, here).getResult()
            : here;
  }
  // The indices count through all planes.
  std::vector<int64_t> starts(planes);
  for (int64_t i = 0; i < planes; ++i)
    starts[i] = i * plane;
  SmallVector<int64_t> shape(spatial + 2, 1);
  llvm::copy(n.shape(0).take_front(2), shape.begin());
  return arith::AddIOp::create(
             n.builder, n.loc, first,
             n.broadcastTo(constantOf(n, std::move(starts), shape),
                           resultType.getShape()))
      .getResult();
}
