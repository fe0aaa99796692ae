// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the maximum of every window lies: MaxPool's second output.
//
// A position is a sum of what depends on the window and what depends on the
// element's place in it. The latter is chosen among constants, one window
// element after the other; nothing is a table.

#include "Windows.h"

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

/// Every element of a window takes a few ops; so many of all windows of a model
/// compile within seconds.
static constexpr int64_t mostElements = 512;

/// Index `dim` of every element times `factor`, which counts nothing where
/// there is one index only.
static Value scaledIndex(NodeImport &n, RankedTensorType type, int64_t dim,
                         int64_t factor) {
  Value index = graph::IotaOp::create(n.builder, n.loc, type, dim);
  if (factor == 1 || type.getDimSize(dim) == 1)
    return index;
  return arith::MulIOp::create(n.builder, n.loc, index,
                               n.splatLike(index, factor));
}

/// Whether the element that the first window has at `start` of dimension `i`
/// is in the input in any window.
static bool isEverInside(const Windows &w, size_t i, int64_t start) {
  int64_t first = start < 0 ? (-start + w.strides[i] - 1) / w.strides[i] : 0;
  return first < w.output[i] && first * w.strides[i] + start < w.input[i];
}

/// Whether every window has its element at `starts` in the input; null where
/// all do.
static Value isInside(NodeImport &n, const Windows &w, ArrayRef<int64_t> starts,
                      RankedTensorType type) {
  Value all;
  for (auto [i, start] : llvm::enumerate(starts)) {
    if (start >= 0 && start + (w.output[i] - 1) * w.strides[i] < w.input[i])
      continue;
    Value at = scaledIndex(n, type, i + 2, w.strides[i]);
    at = arith::AddIOp::create(n.builder, n.loc, at, n.splatLike(at, start));
    // Unsigned: what lies before the input is large.
    Value inside =
        arith::CmpIOp::create(n.builder, n.loc, arith::CmpIPredicate::ult, at,
                              n.splatLike(at, w.input[i]));
    all = all ? arith::AndIOp::create(n.builder, n.loc, all, inside).getResult()
              : inside;
  }
  return all;
}

/// The element of every window at `starts`, zero where that is padding.
static FailureOr<Value> elementsAt(NodeImport &n, const Windows &w,
                                   ArrayRef<int64_t> starts) {
  Value x = n.value(0);
  for (auto [i, start] : llvm::enumerate(starts)) {
    int64_t reach = start + (w.output[i] - 1) * w.strides[i] + 1;
    int64_t low = std::max<int64_t>(-start, 0);
    int64_t size = std::max(low + w.input[i], low + reach);
    auto type = cast<RankedTensorType>(x.getType());
    SmallVector<int64_t> shape(type.getShape()), lows(type.getRank(), 0);
    if (size != w.input[i]) {
      shape[i + 2] = size;
      lows[i + 2] = low;
      if (failed(n.requireSizes(shape)))
        return failure();
      x = graph::PadOp::create(n.builder, n.loc, type.clone(shape), x, lows);
    }
    x = n.strided(x, i + 2, start + low, w.output[i], w.strides[i]);
  }
  return x;
}

FailureOr<Value> ingest::buildPoolIndices(NodeImport &n, const Windows &w,
                                          Value maxima) {
  int64_t spatial = w.input.size(), window = product(w.kernel);
  n.state.poolElements += std::min(window, mostElements + 1);
  if (n.state.poolElements > mostElements)
    return n.fail("its indices are used by the graph; expected at most " +
                  Twine(mostElements) +
                  " elements in the windows of all such nodes then");
  if (intAttribute(n.node, "storage_order", 0) != 0)
    return n.fail("its indices are used by the graph; expected storage_order "
                  "0 then");
  struct Element {
    Value value, isInside, position;
  };
  std::vector<Element> elements;
  auto type =
      cast<RankedTensorType>(maxima.getType()).clone(n.builder.getI64Type());
  for (int64_t k = 0; k < window; ++k) {
    // Where the first window has the element.
    SmallVector<int64_t> starts(spatial);
    bool isUsed = true;
    int64_t position = 0, scale = 1;
    for (int64_t i = spatial, rest = k; i-- > 0; rest /= w.kernel[i]) {
      starts[i] = rest % w.kernel[i] * w.dilations[i] - w.begin[i];
      isUsed &= isEverInside(w, i, starts[i]);
    }
    if (!isUsed)
      continue;
    auto value = elementsAt(n, w, starts);
    if (failed(value))
      return failure();
    // The sizes are known to be small enough for it by now.
    for (int64_t i = spatial; i-- > 0; scale *= w.input[i])
      position += starts[i] * scale;
    elements.push_back({*value, isInside(n, w, starts, type),
                        graph::buildSplat(n.builder, n.loc, type, position)});
  }
  // As in PyTorch, the last NaN counts, or else the first of equal elements.
  Value place = elements.back().position;
  for (const Element &element : llvm::reverse(ArrayRef(elements).drop_back())) {
    Value isPlace = arith::CmpFOp::create(
        n.builder, n.loc, arith::CmpFPredicate::OEQ, element.value, maxima);
    if (element.isInside)
      isPlace =
          arith::AndIOp::create(n.builder, n.loc, isPlace, element.isInside);
    place = arith::SelectOp::create(n.builder, n.loc, isPlace, element.position,
                                    place);
  }
  for (const Element &element : elements) {
    Value isNaN =
        arith::CmpFOp::create(n.builder, n.loc, arith::CmpFPredicate::UNO,
                              element.value, element.value);
    place = arith::SelectOp::create(n.builder, n.loc, isNaN, element.position,
                                    place);
  }
  // From where the window begins, through all planes.
  SmallVector<int64_t> strides = {1, 1};
  llvm::append_range(strides, w.strides);
  for (int64_t i = spatial + 2, scale = 1; i-- > 0; scale *= n.shape(0)[i])
    if (type.getDimSize(i) > 1)
      place = arith::AddIOp::create(
          n.builder, n.loc, place, scaledIndex(n, type, i, strides[i] * scale));
  return place;
}
