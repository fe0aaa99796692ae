// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads where the windows of convolutions and pools lie.

#include "Windows.h"

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

Windows Windows::part(size_t first, size_t count) const {
  Windows result;
  for (auto list :
       {&Windows::input, &Windows::kernel, &Windows::strides,
        &Windows::dilations, &Windows::begin, &Windows::end, &Windows::output})
    (result.*list)
        .assign((this->*list).begin() + first,
                (this->*list).begin() + first + count);
  return result;
}

void Windows::makePlanar() {
  if (input.size() != 1)
    return;
  for (auto *sizes : {&input, &kernel, &strides, &dilations, &output})
    sizes->push_back(1);
  begin.push_back(0);
  end.push_back(0);
}

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

FailureOr<Windows> ingest::readWindows(NodeImport &n, ArrayRef<int64_t> kernel,
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
  return w;
}

LogicalResult ingest::requireInputInWindows(NodeImport &n, const Windows &w) {
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

FailureOr<Windows> ingest::readTransposedWindows(NodeImport &n,
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
  return w;
}
