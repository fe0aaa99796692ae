// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products.

#include "NodeImport.h"

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

static LogicalResult importGemm(NodeImport &n) {
  if (failed(n.requireFloat(0)) || failed(n.requireSameType(0, 1)))
    return failure();
  if (n.rank(0) != 2 || n.rank(1) != 2)
    return n.fail("expected matrices, got ranks " + Twine(n.rank(0)) + " and " +
                  Twine(n.rank(1)));
  int64_t contractA = intAttribute(n.node, "transA", 0) ? 0 : 1;
  int64_t contractB = intAttribute(n.node, "transB", 0) ? 1 : 0;
  if (n.shape(0)[contractA] != n.shape(1)[contractB])
    return n.fail("expected inner sizes to agree, got " +
                  Twine(n.shape(0)[contractA]) + " and " +
                  Twine(n.shape(1)[contractB]));
  double alpha = floatAttribute(n.node, "alpha", 1);
  double beta = floatAttribute(n.node, "beta", 1);
  Value result = graph::ContractOp::create(
      n.builder, n.loc, n.value(0), n.value(1), ArrayRef<int64_t>{},
      ArrayRef<int64_t>{}, ArrayRef<int64_t>{contractA},
      ArrayRef<int64_t>{contractB});
  if (alpha != 1)
    result = arith::MulFOp::create(n.builder, n.loc, result,
                                   n.splatLike(result, alpha));
  if (n.has(2) && beta != 0) {
    if (failed(n.requireSameType(0, 2)))
      return failure();
    auto shape = cast<RankedTensorType>(result.getType()).getShape();
    int64_t shift = 2 - n.rank(2);
    for (auto [i, size] : llvm::enumerate(n.shape(2)))
      if (shift < 0 || (size != 1 && size != shape[shift + i]))
        return n.fail("input C does not broadcast to the result");
    Value c = n.broadcastTo(2, shape);
    if (beta != 1)
      c = arith::MulFOp::create(n.builder, n.loc, c, n.splatLike(c, beta));
    result = arith::AddFOp::create(n.builder, n.loc, result, c);
  }
  n.setResult(result);
  return success();
}

/// NumPy's matmul: vectors gain a unit dimension, leading dimensions broadcast.
static LogicalResult importMatMul(NodeImport &n) {
  if (failed(n.requireFloat(0)) || failed(n.requireSameType(0, 1)))
    return failure();
  int64_t rankA = n.rank(0), rankB = n.rank(1);
  if (rankA == 0 || rankB == 0)
    return n.fail("expected vectors, matrices or batches, got a scalar");
  Value a = n.value(0), b = n.value(1);
  int64_t innerA = n.shape(0).back();
  int64_t innerB = n.shape(1)[rankB == 1 ? 0 : rankB - 2];
  if (innerA != innerB)
    return n.fail("expected inner sizes to agree, got " + Twine(innerA) +
                  " and " + Twine(innerB));

  // Without batch dimensions on one side the other's are free dimensions.
  if (rankB <= 2 || rankA == 1) {
    if (rankB <= 2) {
      n.setResult(graph::ContractOp::create(
          n.builder, n.loc, a, b, ArrayRef<int64_t>{}, ArrayRef<int64_t>{},
          ArrayRef<int64_t>{rankA - 1}, ArrayRef<int64_t>{0}));
      return success();
    }
    n.setResult(graph::ContractOp::create(
        n.builder, n.loc, b, a, ArrayRef<int64_t>{}, ArrayRef<int64_t>{},
        ArrayRef<int64_t>{rankB - 2}, ArrayRef<int64_t>{0}));
    return success();
  }

  ArrayRef<int64_t> batchA = n.shape(0).drop_back(2);
  ArrayRef<int64_t> batchB = n.shape(1).drop_back(2);
  SmallVector<int64_t> batch(std::max(batchA.size(), batchB.size()), 1);
  for (size_t i = 0; i < batch.size(); ++i) {
    int64_t sizeA = i < batchA.size() ? batchA[batchA.size() - 1 - i] : 1;
    int64_t sizeB = i < batchB.size() ? batchB[batchB.size() - 1 - i] : 1;
    if (sizeA != sizeB && sizeA != 1 && sizeB != 1)
      return n.fail("batch dimensions do not broadcast");
    batch[batch.size() - 1 - i] = sizeA == 1 ? sizeB : sizeA;
  }
  auto broadcast = [&](Value value, ArrayRef<int64_t> shape) {
    SmallVector<int64_t> target = batch;
    llvm::append_range(target, shape.take_back(2));
    return n.broadcastTo(value, target);
  };
  a = broadcast(a, n.shape(0));
  b = broadcast(b, n.shape(1));
  int64_t rank = batch.size();
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  n.setResult(graph::ContractOp::create(
      n.builder, n.loc, a, b, ArrayRef<int64_t>(dims), ArrayRef<int64_t>(dims),
      ArrayRef<int64_t>{rank + 1}, ArrayRef<int64_t>{rank}));
  return success();
}

void ingest::addLinearHandlers(HandlerTable &table) {
  table["Gemm"] = importGemm;
  table["MatMul"] = importMatMul;
}
