// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolution and pooling. The dialect has two spatial dimensions; one
// dimension becomes two, the second of size 1; for three see ImportVolume.cpp.

#include "Windows.h"

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

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
  if (n.rank(0) != 3)
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
  if (n.rank(0) < 3 || n.rank(0) > 5)
    return n.fail("expected 1 to 3 spatial dimensions, got rank " +
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
  if (n.rank(0) == 5) {
    auto result = buildVolumeConv(n, *w, bias, groups);
    if (failed(result))
      return failure();
    n.setResult(*result);
    return success();
  }
  w->makePlanar();
  Value result = graph::ConvOp::create(
      n.builder, n.loc, resultType(n, *w, filters), to2D(n, n.value(0)),
      to2D(n, n.value(1)), bias, n.builder.getDenseI64ArrayAttr(w->strides),
      n.builder.getDenseI64ArrayAttr(w->pads()),
      n.builder.getDenseI64ArrayAttr(w->dilations),
      n.builder.getI64IntegerAttr(groups));
  n.setResult(from2D(n, result));
  return success();
}

/// Whether the windows of a transposed convolution lie side by side.
static bool isTiling(const Windows &w) {
  auto isOne = [](int64_t size) { return size == 1; };
  auto isZero = [](int64_t pad) { return pad == 0; };
  // One element is a convolution as well, and stays one.
  if (w.kernel != w.strides || llvm::all_of(w.kernel, isOne) ||
      !llvm::all_of(w.dilations, isOne) || !llvm::all_of(w.pads(), isZero))
    return false;
  for (auto [input, stride, output] :
       llvm::zip_equal(w.input, w.strides, w.output))
    if (output != input * stride)
      return false;
  return true;
}

/// Every element of the result is one dot product over the channels, so
/// together they are a product of matrices. It sums as PyTorch does, one
/// channel after the other, where the library adds sums of 16 channels.
static Value buildTilingConvTranspose(NodeImport &n, const Windows &w) {
  using Dims = ArrayRef<int64_t>;
  // [C, M, K...] and [N, C, D...] give [M, K..., N, D...]: the copies before
  // and after it then have runs of the image's rows.
  Value product = graph::ContractOp::create(
      n.builder, n.loc, n.value(1), n.value(0), /*lhs_batch=*/Dims{},
      /*rhs_batch=*/Dims{}, /*lhs_contract=*/Dims{0}, /*rhs_contract=*/Dims{1});
  int64_t spatial = n.rank(0) - 2;
  SmallVector<int64_t> permutation = {spatial + 1, 0}; // [N, M, D, K, ...]
  SmallVector<int64_t> shape = {n.shape(0)[0], n.shape(1)[1]};
  for (int64_t i = 0; i < spatial; ++i) {
    permutation.append({spatial + 2 + i, 1 + i});
    shape.push_back(w.output[i]);
  }
  return n.reshape(n.transpose(product, permutation), shape);
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
  bool tiling = groups == 1 && isTiling(*w);
  if (!tiling)
    w->makePlanar();
  RankedTensorType type = resultType(n, *w, filters);
  if (failed(n.requireSizes(type.getShape())))
    return failure();
  Value result;
  if (tiling) {
    result = buildTilingConvTranspose(n, *w);
  } else if (n.rank(0) == 5) {
    auto volume = buildVolumeConvTranspose(n, *w, groups);
    if (failed(volume))
      return failure();
    result = *volume;
  } else {
    // The weights are those of the convolution that goes the other way.
    result = graph::ConvInputGradOp::create(
        n.builder, n.loc, type, to2D(n, n.value(0)), to2D(n, n.value(1)),
        n.builder.getDenseI64ArrayAttr(w->strides),
        n.builder.getDenseI64ArrayAttr(w->pads()),
        n.builder.getDenseI64ArrayAttr(w->dilations),
        n.builder.getI64IntegerAttr(groups));
  }
  if (n.has(2) && n.splat(2) != 0) {
    if (failed(n.requireSameType(0, 2)))
      return failure();
    if (n.shape(2) != ArrayRef<int64_t>{filters})
      return n.fail("expected a bias of " + Twine(filters) + " elements");
    Value bias = graph::buildBroadcast(n.builder, n.loc, n.value(2), type, {1});
    result = arith::AddFOp::create(n.builder, n.loc, result, bias);
  }
  n.setResult(tiling ? result : from2D(n, result));
  return success();
}

template <graph::PoolKind kind> static LogicalResult importPool(NodeImport &n) {
  if (failed(requireSpatial(n)))
    return failure();
  auto kernel = intsAttribute(n.node, "kernel_shape", {});
  auto w = readWindows(n, kernel, intAttribute(n.node, "ceil_mode", 0) != 0);
  if (failed(w) || failed(requireInputInWindows(n, *w)))
    return failure();
  // Without padding there is nothing to count.
  bool countsPad =
      kind == graph::PoolKind::Average &&
      intAttribute(n.node, "count_include_pad", 0) != 0 &&
      llvm::any_of(w->pads(), [](int64_t pad) { return pad != 0; });
  Value result;
  if (n.rank(0) == 5) {
    result = buildVolumePool(n, *w, kind, countsPad);
  } else {
    Windows plane = *w;
    plane.makePlanar();
    result = graph::PoolOp::create(
        n.builder, n.loc, resultType(n, plane, n.shape(0)[1]), kind,
        to2D(n, n.value(0)), plane.kernel, plane.strides, plane.pads(),
        plane.dilations, countsPad);
    result = from2D(n, result);
  }
  if (!n.isOutputUsed(1)) {
    n.setResult(result);
    return success();
  }
  auto indices = buildPoolIndices(n, *w, result);
  if (failed(indices))
    return failure();
  n.setResults({result, *indices});
  return success();
}

void ingest::addConvHandlers(HandlerTable &table) {
  table["AveragePool"] = importPool<graph::PoolKind::Average>;
  table["Conv"] = importConv;
  table["ConvTranspose"] = importConvTranspose;
  table["MaxPool"] = importPool<graph::PoolKind::Max>;
}
