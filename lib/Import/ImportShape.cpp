// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that move elements without computing: reshapes, transposes, expansion.

#include "Labels.h"
#include "NodeImport.h"
#include <numeric>

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

static LogicalResult reshapeTo(NodeImport &n, ArrayRef<int64_t> shape) {
  n.setResult(n.reshape(n.value(0), shape));
  return success();
}

static LogicalResult importIdentity(NodeImport &n) {
  Value value = n.value(0);
  if (n.origin.torchOp == "aten.detach.default" && n.isFloat(0))
    value = graph::StopGradientOp::create(n.builder, n.loc, value);
  if (std::optional<Labels> labels = labelsThrough(n.node))
    n.boundLabels(value, labels->classes, labels->ignored);
  n.setResult(value);
  return success();
}

static LogicalResult importReshape(NodeImport &n) {
  auto target = n.knownInts(1, "sizes");
  if (failed(target))
    return failure();
  bool keepsZero = intAttribute(n.node, "allowzero", 0) != 0;
  SmallVector<int64_t> shape, others;
  int64_t unknown = -1;
  for (auto [i, size] : llvm::enumerate(*target)) {
    if (size == 0 && !keepsZero) {
      if (static_cast<int64_t>(i) >= n.rank(0))
        return n.fail("size 0 at " + Twine(i) +
                      " stands for a dimension that the input does not have");
      size = n.shape(0)[i];
    }
    if (size == -1 && unknown >= 0)
      return n.fail("expected one size of -1 at most, got " +
                    shapeText(*target));
    if (size == -1)
      unknown = i;
    else
      others.push_back(size);
    shape.push_back(size);
  }
  int64_t elements = n.type(0).getNumElements();
  if (unknown >= 0)
    shape[unknown] =
        std::max<int64_t>(elements / std::max<int64_t>(product(others), 1), 1);
  if (failed(n.requireSizes(shape)))
    return failure();
  int64_t total = product(shape);
  if (total != elements)
    return n.fail("expected sizes for " + Twine(elements) +
                  " elements, got sizes for " + Twine(total) +
                  " (was the model exported with a fixed batch?)");
  return reshapeTo(n, shape);
}

static LogicalResult importFlatten(NodeImport &n) {
  int64_t axis = intAttribute(n.node, "axis", 1);
  if (axis < 0)
    axis += n.rank(0);
  if (axis < 0 || axis > n.rank(0))
    return n.fail("expected an axis of a tensor of rank " + Twine(n.rank(0)));
  int64_t rows = 1, columns = 1;
  for (auto [i, size] : llvm::enumerate(n.shape(0)))
    (static_cast<int64_t>(i) < axis ? rows : columns) *= size;
  return reshapeTo(n, {rows, columns});
}

static LogicalResult importSqueeze(NodeImport &n) {
  SmallVector<bool> dropped(n.rank(0), !n.has(1));
  if (n.has(1)) {
    auto axes = n.knownInts(1, "axes");
    if (failed(axes))
      return failure();
    for (int64_t entry : *axes) {
      auto axis = n.axis(entry, n.rank(0));
      if (failed(axis))
        return failure();
      if (n.shape(0)[*axis] != 1)
        return n.fail("expected size 1 of dimension " + Twine(*axis) +
                      ", got " + Twine(n.shape(0)[*axis]));
      dropped[*axis] = true;
    }
  }
  SmallVector<int64_t> shape;
  for (auto [i, size] : llvm::enumerate(n.shape(0)))
    if (!dropped[i] || size != 1)
      shape.push_back(size);
  return reshapeTo(n, shape);
}

static LogicalResult importUnsqueeze(NodeImport &n) {
  auto axes = n.knownInts(1, "axes");
  if (failed(axes))
    return failure();
  int64_t rank = n.rank(0) + axes->size();
  SmallVector<int64_t> shape(rank, 0);
  for (int64_t entry : *axes) {
    auto axis = n.axis(entry, rank);
    if (failed(axis))
      return failure();
    if (shape[*axis] == 1)
      return n.fail("axis " + Twine(*axis) + " is given twice");
    shape[*axis] = 1;
  }
  auto next = n.shape(0).begin();
  SmallVector<int64_t> result;
  for (int64_t size : shape)
    result.push_back(size == 1 ? 1 : *next++);
  return reshapeTo(n, result);
}

static LogicalResult importTranspose(NodeImport &n) {
  int64_t rank = n.rank(0);
  std::vector<int64_t> permutation(rank);
  std::iota(permutation.rbegin(), permutation.rend(), 0);
  permutation = intsAttribute(n.node, "perm", permutation);
  std::vector<int64_t> sorted = permutation;
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, rank)))
    return n.fail("expected perm to permute " + Twine(rank) + " dimensions");
  n.setResult(n.transpose(n.value(0), permutation));
  return success();
}

static LogicalResult importExpand(NodeImport &n) {
  auto target = n.knownInts(1, "sizes");
  if (failed(target))
    return failure();
  // The shapes broadcast both ways: a 1 in the target keeps the input's size.
  SmallVector<int64_t> shape(n.shape(0));
  if (target->size() > shape.size())
    shape.insert(shape.begin(), target->size() - shape.size(), 1);
  for (size_t i = 0; i < target->size(); ++i) {
    int64_t wanted = (*target)[target->size() - 1 - i];
    int64_t &size = shape[shape.size() - 1 - i];
    if (size != wanted && size != 1 && wanted != 1)
      return n.fail("cannot expand a dimension of size " + Twine(size) +
                    " to " + Twine(wanted));
    if (size == 1)
      size = wanted;
  }
  if (failed(n.requireSizes(shape)))
    return failure();
  n.setResult(n.broadcastTo(0, shape));
  return success();
}

void ingest::addShapeHandlers(HandlerTable &table) {
  static constexpr std::pair<const char *, Handler> entries[] = {
      {"Expand", importExpand},       {"Flatten", importFlatten},
      {"Identity", importIdentity},   {"Reshape", importReshape},
      {"Squeeze", importSqueeze},     {"Transpose", importTranspose},
      {"Unsqueeze", importUnsqueeze},
  };
  for (auto [name, handler] : entries)
    table[name] = handler;
}
