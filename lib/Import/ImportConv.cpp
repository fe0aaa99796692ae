// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolution and pooling. The dialect has two spatial dimensions; one
// dimension becomes two, the second of size 1.

#include "NodeImport.h"

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

namespace {

/// The geometry of a window over 1 or 2 spatial dimensions, made 2.
struct Windows {
  SmallVector<int64_t> input, kernel, strides, dilations, begin, end, output;

  SmallVector<int64_t> pads() const {
    SmallVector<int64_t> all(begin);
    llvm::append_range(all, end);
    return all;
  }

  /// Adds the second dimension where there is only one.
  void makePlanar() {
    if (input.size() == 2)
      return;
    for (auto *sizes : {&input, &kernel, &strides, &dilations, &output})
      sizes->push_back(1);
    begin.push_back(0);
    end.push_back(0);
  }
};

} // namespace

/// Up to this no sum or product of strides, dilations, pads and kernel sizes
/// overflows.
static constexpr int64_t largest = int64_t(1) << 24;

/// Reads strides, dilations and pads of the spatial dimensions.
static FailureOr<Windows> readGeometry(NodeImport &n,
                                       ArrayRef<int64_t> kernel) {
  size_t spatial = n.rank(0) - 2;
  Windows w;
  w.input.assign(n.shape(0).drop_front(2).begin(), n.shape(0).end());
  w.kernel.assign(kernel.begin(), kernel.end());
  auto strides =
      intsAttribute(n.node, "strides", std::vector<int64_t>(spatial, 1));
  auto dilations =
      intsAttribute(n.node, "dilations", std::vector<int64_t>(spatial, 1));
  auto pads =
      intsAttribute(n.node, "pads", std::vector<int64_t>(2 * spatial, 0));
  StringRef autoPad = stringAttribute(n.node, "auto_pad", "NOTSET");
  if (kernel.size() != spatial || strides.size() != spatial ||
      dilations.size() != spatial || pads.size() != 2 * spatial)
    return n.fail("kernel_shape, strides, dilations and pads do not have " +
                  Twine(spatial) + " dimensions");
  if (autoPad != "NOTSET" && autoPad != "VALID" && autoPad != "SAME_UPPER" &&
      autoPad != "SAME_LOWER")
    return n.fail("unknown auto_pad '" + autoPad + "'");
  auto notPositive = [](int64_t value) { return value <= 0; };
  if (llvm::any_of(strides, notPositive) ||
      llvm::any_of(dilations, notPositive) || llvm::any_of(kernel, notPositive))
    return n.fail("expected positive kernel sizes, strides and dilations");
  if (llvm::any_of(pads, [](int64_t value) { return value < 0; }))
    return n.fail("expected pads that are not negative");
  for (auto *sizes : {&strides, &dilations, &pads})
    if (llvm::any_of(*sizes, [](int64_t value) { return value > largest; }))
      return n.fail("expected strides, dilations and pads of at most " +
                    Twine(largest));
  if (llvm::any_of(kernel, [](int64_t value) { return value > largest; }))
    return n.fail("expected kernel sizes of at most " + Twine(largest));
  w.strides.assign(strides.begin(), strides.end());
  w.dilations.assign(dilations.begin(), dilations.end());
  w.begin.assign(pads.begin(), pads.begin() + spatial);
  w.end.assign(pads.begin() + spatial, pads.end());
  if (autoPad == "VALID") {
    w.begin.assign(spatial, 0);
    w.end.assign(spatial, 0);
  }
  return w;
}

/// Reads the geometry and computes the padding and the output's sizes.
static FailureOr<Windows> readWindows(NodeImport &n, ArrayRef<int64_t> kernel,
                                      bool ceilMode) {
  auto geometry = readGeometry(n, kernel);
  if (failed(geometry))
    return failure();
  Windows w = std::move(*geometry);
  StringRef autoPad = stringAttribute(n.node, "auto_pad", "NOTSET");
  for (size_t i = 0; i < kernel.size(); ++i) {
    int64_t stride = w.strides[i];
    int64_t reach = (kernel[i] - 1) * w.dilations[i] + 1;
    int64_t &before = w.begin[i], &after = w.end[i];
    if (autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER") {
      // The output has ceil(input / stride) elements.
      int64_t sizes = (w.input[i] + stride - 1) / stride;
      int64_t total =
          std::max<int64_t>((sizes - 1) * stride + reach - w.input[i], 0);
      int64_t less = total / 2;
      before = autoPad == "SAME_UPPER" ? less : total - less;
      after = total - before;
    }
    int64_t room = w.input[i] + before + after - reach;
    if (room < 0)
      return n.fail("the window is larger than the padded input");
    int64_t count = room / stride + 1;
    // In ceil mode a last window may reach past the padding, but must not
    // start there.
    if (ceilMode && room % stride != 0 && count * stride < w.input[i] + before)
      ++count;
    w.output.push_back(count);
  }
  w.makePlanar();
  return w;
}

/// Fails where a window of a pool lies in the padding as a whole: it would have
/// no maximum and no average.
static LogicalResult requireInputInWindows(NodeImport &n, const Windows &w) {
  for (auto [i, input] : llvm::enumerate(w.input)) {
    int64_t kernel = w.kernel[i], dilation = w.dilations[i];
    int64_t before = w.begin[i], after = w.end[i];
    int64_t reach = (kernel - 1) * dilation + 1;
    bool isPadding = before >= reach || after >= reach;
    for (int64_t start = -before; !isPadding && start < 0;
         start += w.strides[i]) {
      // Its first element that is not before the input; a dilated window may
      // step over the input.
      int64_t first = (-start + dilation - 1) / dilation;
      isPadding = first >= kernel || start + first * dilation >= input;
      if (dilation == 1)
        break;
    }
    if (isPadding)
      return n.fail("a window lies in the padding as a whole: expected pads "
                    "smaller than the kernel's reach of " +
                    Twine(reach) + " (kernel_shape " + Twine(kernel) +
                    ", dilation " + Twine(dilation) + "), got pads " +
                    Twine(before) + " and " + Twine(after));
  }
  return success();
}

/// Adds the second spatial dimension to a tensor of rank 3.
static Value to2D(NodeImport &n, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getRank() == 4)
    return value;
  SmallVector<int64_t> shape(type.getShape());
  shape.push_back(1);
  return n.reshape(value, shape);
}

/// Drops it again where the node's input did not have it.
static Value from2D(NodeImport &n, Value value) {
  if (n.rank(0) == 4)
    return value;
  auto shape = cast<RankedTensorType>(value.getType()).getShape();
  return n.reshape(value, shape.drop_back());
}

static RankedTensorType resultType(NodeImport &n, const Windows &w,
                                   int64_t channels) {
  SmallVector<int64_t> shape = {n.shape(0)[0], channels};
  llvm::append_range(shape, w.output);
  return RankedTensorType::get(shape, n.type(0).getElementType());
}

static LogicalResult requireSpatial(NodeImport &n) {
  if (failed(n.requireFloat(0)))
    return failure();
  if (n.rank(0) != 3 && n.rank(0) != 4)
    return n.fail("expected 1 or 2 spatial dimensions, got rank " +
                  Twine(n.rank(0)));
  return success();
}

static LogicalResult importConv(NodeImport &n) {
  if (failed(requireSpatial(n)) || failed(n.requireSameType(0, 1)))
    return failure();
  int64_t groups = intAttribute(n.node, "group", 1);
  if (n.rank(1) != n.rank(0))
    return n.fail("expected weights of rank " + Twine(n.rank(0)) + ", got " +
                  Twine(n.rank(1)));
  int64_t filters = n.shape(1)[0];
  if (groups < 1 || n.shape(0)[1] % groups != 0 ||
      n.shape(1)[1] != n.shape(0)[1] / groups || filters % groups != 0)
    return n.fail("expected weights for " + Twine(n.shape(0)[1]) +
                  " channels in " + Twine(groups) + " groups");
  ArrayRef<int64_t> kernel = n.shape(1).drop_front(2);
  auto given = intsAttribute(n.node, "kernel_shape", kernel.vec());
  if (ArrayRef<int64_t>(given) != kernel)
    return n.fail("kernel_shape differs from the weights' shape");
  auto w = readWindows(n, kernel, /*ceilMode=*/false);
  if (failed(w))
    return failure();
  Value bias;
  // The exporter writes a bias of zeros where the module has none.
  if (n.has(2) && n.splat(2) != 0) {
    if (failed(n.requireSameType(0, 2)))
      return failure();
    if (n.shape(2) != ArrayRef<int64_t>{filters})
      return n.fail("expected a bias of " + Twine(filters) + " elements");
    bias = n.value(2);
  }
  Value result = graph::ConvOp::create(
      n.builder, n.loc, resultType(n, *w, filters), to2D(n, n.value(0)),
      to2D(n, n.value(1)), bias, n.builder.getDenseI64ArrayAttr(w->strides),
      n.builder.getDenseI64ArrayAttr(w->pads()),
      n.builder.getDenseI64ArrayAttr(w->dilations),
      n.builder.getI64IntegerAttr(groups));
  n.setResult(from2D(n, result));
  return success();
}

/// The sizes that a transposed convolution gives, as the geometry of the
/// convolution whose input's gradient it is: `input` is that convolution's
/// output.
static FailureOr<Windows> readTransposedWindows(NodeImport &n,
                                                ArrayRef<int64_t> kernel) {
  size_t spatial = n.rank(0) - 2;
  auto w = readGeometry(n, kernel);
  if (failed(w))
    return failure();
  auto extra =
      intsAttribute(n.node, "output_padding", std::vector<int64_t>(spatial, 0));
  auto wanted = intsAttribute(n.node, "output_shape", {});
  if (wanted.size() > spatial) // with batch and channels
    wanted.erase(wanted.begin(), wanted.end() - spatial);
  if (extra.size() != spatial || (!wanted.empty() && wanted.size() != spatial))
    return n.fail("output_padding and output_shape do not have " +
                  Twine(spatial) + " dimensions");
  StringRef autoPad = stringAttribute(n.node, "auto_pad", "NOTSET");
  bool isSame = autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER";
  for (size_t i = 0; i < spatial; ++i) {
    int64_t stride = w->strides[i];
    int64_t reach = (kernel[i] - 1) * w->dilations[i] + 1;
    // What the windows cover, and what is left of it.
    int64_t covered = stride * (w->input[i] - 1) + extra[i] + reach;
    int64_t &before = w->begin[i], &after = w->end[i];
    int64_t output = covered - before - after;
    if (!wanted.empty() || isSame) {
      output = wanted.empty() ? w->input[i] * stride : wanted[i];
      int64_t total = std::max<int64_t>(covered - output, 0);
      int64_t less = total / 2;
      before = autoPad == "SAME_UPPER" ? less : total - less;
      after = total - before;
    }
    if (extra[i] < 0 || extra[i] > largest || output < 1)
      return n.fail("expected an output of at least one element and "
                    "output_padding that is not negative");
    // The convolution of the output must give the input.
    int64_t room = output + before + after - reach;
    if (room < 0 || room / stride + 1 != w->input[i])
      return n.fail("expected output_padding smaller than the stride of " +
                    Twine(stride) + ", got an output of " + Twine(output) +
                    " elements from " + Twine(w->input[i]));
    w->output.push_back(output);
  }
  w->makePlanar();
  return w;
}

static LogicalResult importConvTranspose(NodeImport &n) {
  if (failed(requireSpatial(n)) || failed(n.requireSameType(0, 1)))
    return failure();
  int64_t groups = intAttribute(n.node, "group", 1);
  if (n.rank(1) != n.rank(0))
    return n.fail("expected weights of rank " + Twine(n.rank(0)) + ", got " +
                  Twine(n.rank(1)));
  int64_t channels = n.shape(0)[1];
  if (groups < 1 || channels % groups != 0 || n.shape(1)[0] != channels)
    return n.fail("expected weights for " + Twine(channels) + " channels in " +
                  Twine(groups) + " groups");
  ArrayRef<int64_t> kernel = n.shape(1).drop_front(2);
  auto given = intsAttribute(n.node, "kernel_shape", kernel.vec());
  if (ArrayRef<int64_t>(given) != kernel)
    return n.fail("kernel_shape differs from the weights' shape");
  auto w = readTransposedWindows(n, kernel);
  if (failed(w))
    return failure();
  int64_t filters = n.shape(1)[1] * groups;
  RankedTensorType type = resultType(n, *w, filters);
  if (failed(n.requireSizes(type.getShape())))
    return failure();
  // The weights are those of the convolution that goes the other way.
  Value result = graph::ConvInputGradOp::create(
      n.builder, n.loc, type, to2D(n, n.value(0)), to2D(n, n.value(1)),
      n.builder.getDenseI64ArrayAttr(w->strides),
      n.builder.getDenseI64ArrayAttr(w->pads()),
      n.builder.getDenseI64ArrayAttr(w->dilations),
      n.builder.getI64IntegerAttr(groups));
  if (n.has(2) && n.splat(2) != 0) {
    if (failed(n.requireSameType(0, 2)))
      return failure();
    if (n.shape(2) != ArrayRef<int64_t>{filters})
      return n.fail("expected a bias of " + Twine(filters) + " elements");
    Value bias = graph::buildBroadcast(n.builder, n.loc, n.value(2), type, {1});
    result = arith::AddFOp::create(n.builder, n.loc, result, bias);
  }
  n.setResult(from2D(n, result));
  return success();
}

template <graph::PoolKind kind> static LogicalResult importPool(NodeImport &n) {
  if (failed(requireSpatial(n)))
    return failure();
  if (n.isOutputUsed(1))
    return n.fail("its indices are used by the graph; expected only the first "
                  "output to be used");
  auto kernel = intsAttribute(n.node, "kernel_shape", {});
  auto w = readWindows(n, kernel, intAttribute(n.node, "ceil_mode", 0) != 0);
  if (failed(w) || failed(requireInputInWindows(n, *w)))
    return failure();
  // Without padding there is nothing to count.
  auto pads = w->pads();
  bool countsPad = kind == graph::PoolKind::Average &&
                   intAttribute(n.node, "count_include_pad", 0) != 0 &&
                   llvm::any_of(pads, [](int64_t pad) { return pad != 0; });
  Value result =
      graph::PoolOp::create(n.builder, n.loc, resultType(n, *w, n.shape(0)[1]),
                            kind, to2D(n, n.value(0)), w->kernel, w->strides,
                            pads, w->dilations, countsPad);
  n.setResult(from2D(n, result));
  return success();
}

void ingest::addConvHandlers(HandlerTable &table) {
  table["AveragePool"] = importPool<graph::PoolKind::Average>;
  table["Conv"] = importConv;
  table["ConvTranspose"] = importConvTranspose;
  table["MaxPool"] = importPool<graph::PoolKind::Max>;
}
