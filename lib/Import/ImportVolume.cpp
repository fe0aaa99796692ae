// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows over three spatial dimensions, written with those over two. The
// elements of a window along the depth become channels, the depth becomes part
// of the batch.

#include "Windows.h"

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// `value` with `low` zeros in front of dimension `dim` and `size` elements in
/// all.
static Value padTo(NodeImport &n, Value value, int64_t dim, int64_t low,
                   int64_t size) {
  SmallVector<int64_t> shape(typeOf(value).getShape());
  if (shape[dim] == size)
    return value;
  shape[dim] = size;
  SmallVector<int64_t> lows(shape.size(), 0);
  lows[dim] = low;
  return graph::PadOp::create(n.builder, n.loc, typeOf(value).clone(shape),
                              value, lows);
}

/// [N, C, D, ...] -> [N, D, C, ...], and back.
static Value swapChannelsAndDepth(NodeImport &n, Value value) {
  SmallVector<int64_t> permutation =
      llvm::to_vector(llvm::seq<int64_t>(0, typeOf(value).getRank()));
  std::swap(permutation[1], permutation[2]);
  return n.transpose(value, permutation);
}

/// The weights [A, B, D, H, W] as [A, B * D, H, W].
static Value foldedWeights(NodeImport &n) {
  ArrayRef<int64_t> shape = n.shape(1);
  return n.reshape(n.value(1),
                   {shape[0], shape[1] * shape[2], shape[3], shape[4]});
}

FailureOr<Value> ingest::buildVolumeConv(NodeImport &n, const Windows &w,
                                         Value bias, int64_t groups) {
  int64_t batch = n.shape(0)[0], channels = n.shape(0)[1];
  int64_t depth = w.output[0], kernel = w.kernel[0];
  int64_t filters = n.shape(1)[0];
  // The depth that windows reach, of which each starts `stride` after the one
  // before.
  int64_t reach =
      (depth - 1) * w.strides[0] + (kernel - 1) * w.dilations[0] + 1;
  int64_t padded = std::max(reach, w.begin[0] + w.input[0]);
  Value x = padTo(n, n.value(0), 2, w.begin[0], padded);
  SmallVector<Value> slices;
  for (int64_t k = 0; k < kernel; ++k) {
    Value slice = n.strided(x, 2, k * w.dilations[0], depth, w.strides[0]);
    slices.push_back(
        n.reshape(slice, {batch, channels, 1, depth, w.input[1], w.input[2]}));
  }
  SmallVector<int64_t> shape = {batch, channels,   kernel,
                                depth, w.input[1], w.input[2]};
  if (failed(n.requireSizes(shape)))
    return failure();
  Value windows = slices.front();
  if (kernel > 1)
    windows = graph::ConcatOp::create(n.builder, n.loc, n.type(0).clone(shape),
                                      slices, /*dim=*/2);
  windows = n.transpose(windows, {0, 3, 1, 2, 4, 5});
  windows = n.reshape(
      windows, {batch * depth, channels * kernel, w.input[1], w.input[2]});
  Windows plane = w.part(1, 2);
  Value planes =
      graph::ConvOp::create(n.builder, n.loc,
                            n.type(0).clone({batch * depth, filters,
                                             plane.output[0], plane.output[1]}),
                            windows, foldedWeights(n), bias,
                            n.builder.getDenseI64ArrayAttr(plane.strides),
                            n.builder.getDenseI64ArrayAttr(plane.pads()),
                            n.builder.getDenseI64ArrayAttr(plane.dilations),
                            n.builder.getI64IntegerAttr(groups));
  return swapChannelsAndDepth(
      n, n.reshape(planes,
                   {batch, depth, filters, plane.output[0], plane.output[1]}));
}

FailureOr<Value> ingest::buildVolumeConvTranspose(NodeImport &n,
                                                  const Windows &w,
                                                  int64_t groups) {
  int64_t batch = n.shape(0)[0], channels = n.shape(0)[1];
  int64_t depth = w.input[0], kernel = w.kernel[0], stride = w.strides[0];
  int64_t filters = n.shape(1)[1] * groups;
  Windows plane = w.part(1, 2);
  int64_t height = plane.output[0], width = plane.output[1];
  // The full depth before the pads are cut off, and maybe output_padding.
  int64_t full =
      std::max((depth - 1) * stride + (kernel - 1) * w.dilations[0] + 1,
               w.begin[0] + w.output[0]);
  if (failed(n.requireSizes({batch, depth, filters, kernel, height, width})) ||
      failed(n.requireSizes({batch, filters, full, height, width})))
    return failure();
  Value x = n.reshape(swapChannelsAndDepth(n, n.value(0)),
                      {batch * depth, channels, w.input[1], w.input[2]});
  // A channel per filter and element of a window along the depth.
  Value parts = graph::ConvInputGradOp::create(
      n.builder, n.loc,
      n.type(0).clone({batch * depth, filters * kernel, height, width}), x,
      foldedWeights(n), n.builder.getDenseI64ArrayAttr(plane.strides),
      n.builder.getDenseI64ArrayAttr(plane.pads()),
      n.builder.getDenseI64ArrayAttr(plane.dilations),
      n.builder.getI64IntegerAttr(groups));
  parts = n.transpose(
      n.reshape(parts, {batch, depth, filters, kernel, height, width}),
      {0, 2, 3, 1, 4, 5});
  Value sum;
  for (int64_t k = 0; k < kernel; ++k) {
    Value part = n.slice(parts, 2, k, 1);
    if (stride > 1) {
      // Zeros between the elements.
      part = n.reshape(part, {batch, filters, depth, 1, height * width});
      part = padTo(n, part, 3, 0, stride);
    }
    part = n.reshape(part, {batch, filters, depth * stride, height, width});
    part = n.slice(part, 2, 0, (depth - 1) * stride + 1);
    part = padTo(n, part, 2, k * w.dilations[0], full);
    sum = sum ? arith::AddFOp::create(n.builder, n.loc, sum, part).getResult()
              : part;
  }
  return n.slice(sum, 2, w.begin[0], w.output[0]);
}

/// One window after the other: along the planes, then along the depth.
Value ingest::buildVolumePool(NodeImport &n, const Windows &w,
                              graph::PoolKind kind, bool countsPad) {
  int64_t batch = n.shape(0)[0], channels = n.shape(0)[1];
  auto pool = [&](Value x, Windows part, ArrayRef<int64_t> shape) -> Value {
    bool hasPads =
        llvm::any_of(part.pads(), [](int64_t pad) { return pad != 0; });
    return graph::PoolOp::create(n.builder, n.loc, n.type(0).clone(shape), kind,
                                 x, part.kernel, part.strides, part.pads(),
                                 part.dilations, countsPad && hasPads);
  };
  Windows plane = w.part(1, 2), depth = w.part(0, 1);
  int64_t height = plane.output[0], width = plane.output[1];
  Value x = n.reshape(n.value(0),
                      {batch, channels * w.input[0], w.input[1], w.input[2]});
  x = pool(x, plane, {batch, channels * w.input[0], height, width});
  x = n.reshape(x, {batch, channels, w.input[0], height * width});
  // The planes are the second dimension, in which nothing moves.
  for (auto *sizes : {&depth.kernel, &depth.strides, &depth.dilations})
    sizes->push_back(1);
  depth.begin.push_back(0);
  depth.end.push_back(0);
  x = pool(x, depth, {batch, channels, w.output[0], height * width});
  return n.reshape(x, {batch, channels, w.output[0], height, width});
}
