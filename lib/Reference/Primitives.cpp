// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shape ops, reductions, contractions, random numbers.

#include "Operations.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace bessemer::reference {
namespace {

/// result[index] = input[offset of index under `strides`].
Tensor gather(RankedTensorType type, const Tensor &in,
              ArrayRef<int64_t> strides) {
  Tensor out(type);
  int64_t position = 0;
  forEachIndex(type.getShape(), [&](ArrayRef<int64_t> index) {
    int64_t from = offsetOf(index, strides);
    if (out.isFloat())
      out.floats[position++] = in.floats[from];
    else
      out.integers[position++] = in.integers[from];
  });
  return out;
}

Tensor broadcast(graph::BroadcastOp op, const Tensor &in) {
  SmallVector<int64_t> inStrides = stridesOf(in.shape());
  SmallVector<int64_t> strides(resultType(op).getRank(), 0);
  for (auto [dim, stride] : llvm::zip_equal(op.getDims(), inStrides))
    strides[dim] = stride;
  return gather(resultType(op), in, strides);
}

Tensor transpose(graph::TransposeOp op, const Tensor &in) {
  SmallVector<int64_t> inStrides = stridesOf(in.shape()), strides;
  for (int64_t dim : op.getPermutation())
    strides.push_back(inStrides[dim]);
  return gather(resultType(op), in, strides);
}

Tensor reshape(Operation *op, const Tensor &in) {
  Tensor out = in;
  out.type = resultType(op);
  return out;
}

Tensor iota(graph::IotaOp op) {
  Tensor out(resultType(op));
  int64_t position = 0;
  auto type = cast<IntegerType>(out.type.getElementType());
  forEachIndex(out.shape(), [&](ArrayRef<int64_t> index) {
    out.integers[position++] = wrapTo(type, index[op.getDim()]);
  });
  return out;
}

template <typename T> T combine(graph::ReduceKind kind, T a, T b) {
  bool aIsNaN = false, bIsNaN = false;
  if constexpr (std::is_floating_point_v<T>) {
    aIsNaN = std::isnan(a);
    bIsNaN = std::isnan(b);
  }
  switch (kind) {
  case graph::ReduceKind::Sum:
    return a + b;
  case graph::ReduceKind::Product:
    return a * b;
  case graph::ReduceKind::Max:
    return aIsNaN || (!bIsNaN && a > b) ? a : b;
  case graph::ReduceKind::Min:
    return aIsNaN || (!bIsNaN && a < b) ? a : b;
  }
  llvm_unreachable("unknown reduce kind");
}

/// What an empty reduction gives.
template <typename T> T neutral(graph::ReduceKind kind) {
  using Limits = std::numeric_limits<T>;
  constexpr T lowest =
      Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  constexpr T highest =
      Limits::has_infinity ? Limits::infinity() : Limits::max();
  switch (kind) {
  case graph::ReduceKind::Sum:
    return 0;
  case graph::ReduceKind::Product:
    return 1;
  case graph::ReduceKind::Max:
    return lowest;
  case graph::ReduceKind::Min:
    return highest;
  }
  llvm_unreachable("unknown reduce kind");
}

Tensor reduce(graph::ReduceOp op, const Tensor &in) {
  Tensor out(resultType(op));
  std::fill(out.floats.begin(), out.floats.end(),
            neutral<double>(op.getKind()));
  std::fill(out.integers.begin(), out.integers.end(),
            neutral<int64_t>(op.getKind()));
  SmallVector<int64_t> outStrides = stridesOf(out.shape()), strides;
  auto kept = outStrides.begin();
  for (int64_t dim = 0; dim < in.type.getRank(); ++dim)
    strides.push_back(llvm::is_contained(op.getDims(), dim) ? 0 : *kept++);
  int64_t position = 0;
  forEachIndex(in.shape(), [&](ArrayRef<int64_t> index) {
    int64_t to = offsetOf(index, strides);
    if (out.isFloat())
      out.floats[to] =
          combine(op.getKind(), out.floats[to], in.floats[position++]);
    else
      out.integers[to] =
          combine(op.getKind(), out.integers[to], in.integers[position++]);
  });
  if (!out.isFloat())
    for (int64_t &value : out.integers)
      value = wrapTo(cast<IntegerType>(out.type.getElementType()), value);
  return out;
}

/// An operand with its dimensions in the order batch, free, contracted.
std::vector<double> arrange(const Tensor &in, ArrayRef<int64_t> batch,
                            ArrayRef<int64_t> contract, int64_t &freeSize) {
  SmallVector<int64_t> inStrides = stridesOf(in.shape()), shape, strides;
  auto add = [&](int64_t dim) {
    shape.push_back(in.shape()[dim]);
    strides.push_back(inStrides[dim]);
  };
  for (int64_t dim : batch)
    add(dim);
  freeSize = 1;
  for (int64_t dim = 0; dim < in.type.getRank(); ++dim)
    if (!llvm::is_contained(batch, dim) && !llvm::is_contained(contract, dim)) {
      add(dim);
      freeSize *= in.shape()[dim];
    }
  for (int64_t dim : contract)
    add(dim);
  return gather(RankedTensorType::get(shape, in.type.getElementType()), in,
                strides)
      .floats;
}

Tensor contract(graph::ContractOp op, const Tensor &lhs, const Tensor &rhs) {
  Tensor out(resultType(op));
  int64_t rows, columns, batch = 1, depth = 1;
  std::vector<double> a =
      arrange(lhs, op.getLhsBatch(), op.getLhsContract(), rows);
  std::vector<double> b =
      arrange(rhs, op.getRhsBatch(), op.getRhsContract(), columns);
  for (int64_t dim : op.getLhsBatch())
    batch *= lhs.shape()[dim];
  for (int64_t dim : op.getLhsContract())
    depth *= lhs.shape()[dim];
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        const double *left = a.data() + (n * rows + i) * depth;
        const double *right = b.data() + (n * columns + j) * depth;
        double sum = 0.0;
        for (int64_t k = 0; k < depth; ++k)
          sum += left[k] * right[k];
        out.floats[(n * rows + i) * columns + j] = sum;
      }
  return out;
}

Tensor stepValue(graph::StepValueOp op, const StepBlock &step) {
  Tensor out(resultType(op));
  switch (op.getField()) {
  case graph::StepField::Step:
    out.integers[0] = static_cast<int64_t>(step.step);
    break;
  case graph::StepField::Seed:
    out.integers[0] = static_cast<int64_t>(step.seed);
    break;
  case graph::StepField::LearningRate:
    out.floats[0] = step.learningRate;
    break;
  case graph::StepField::ValidRows:
    out.integers[0] = step.validRows;
    break;
  }
  return out;
}

Tensor random(graph::RandomOp op, Operands in, const StepBlock &step) {
  Tensor out(resultType(op));
  int64_t first = op.getMicro() ? in[1]->integers[0] * out.size() : 0;
  for (int64_t i = 0; i < out.size(); ++i)
    out.floats[i] = uniform(step, op.getId(), first + i);
  return out;
}

} // namespace

Results evaluatePrimitive(Operation *op, Operands in, const StepBlock &step) {
  using Values = std::vector<Tensor>;
  return llvm::TypeSwitch<Operation *, Results>(op)
      .Case<graph::BroadcastOp>(
          [&](auto x) { return Values{broadcast(x, *in[0])}; })
      .Case<graph::TransposeOp>(
          [&](auto x) { return Values{transpose(x, *in[0])}; })
      .Case<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(
          [&](auto x) { return Values{reshape(x, *in[0])}; })
      .Case<graph::IotaOp>([&](auto x) { return Values{iota(x)}; })
      .Case<graph::ReduceOp>([&](auto x) { return Values{reduce(x, *in[0])}; })
      .Case<graph::ContractOp>(
          [&](auto x) { return Values{contract(x, *in[0], *in[1])}; })
      .Case<graph::StepValueOp>(
          [&](auto x) { return Values{stepValue(x, step)}; })
      .Case<graph::RandomOp>(
          [&](auto x) { return Values{random(x, in, step)}; })
      .Default([](auto) { return std::nullopt; });
}

} // namespace bessemer::reference
