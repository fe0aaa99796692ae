// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// graph.contract -> kern.gemm: dimensions are grouped to batch, m, n and k.

#include "Convert.h"
#include "RegionTranslation.h"
#include "bessemer/Dialect/Kern/IR/Runs.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::fusion;

using Dims = SmallVector<int64_t>;

namespace {
/// How one operand of a contraction becomes a matrix (or a batch of them).
struct MatrixView {
  /// The operand's dimensions in the order of the matrix.
  Dims order;
  /// Whether the contracted dimensions come before the free ones.
  bool contractFirst = false;
  /// Whether the operand lies in that order already.
  bool inPlace = false;
};
} // namespace

static Dims concat(std::initializer_list<ArrayRef<int64_t>> parts) {
  Dims all;
  for (ArrayRef<int64_t> part : parts)
    llvm::append_range(all, part);
  return all;
}

/// Whether reading the dimensions in `order` is a reshape: those of size above
/// 1 keep their order.
static bool isInPlace(RankedTensorType type, ArrayRef<int64_t> order) {
  int64_t previous = -1;
  for (int64_t dim : order) {
    if (type.getDimSize(dim) == 1)
      continue;
    if (dim < previous)
      return false;
    previous = dim;
  }
  return true;
}

/// Whether the innermost dimension whose runs are worth to be kept is one of
/// `dims`: runs that a vector of the generated copy can go along
/// (IterationSpace::pickVectorDim).
static bool isInnermost(RankedTensorType type, ArrayRef<int64_t> dims) {
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim)
    if (type.getDimSize(dim) >= kern::kShortestRun)
      return llvm::is_contained(dims, dim);
  return false;
}

/// Chooses the view of an operand; `preferContractFirst` is the form that needs
/// no transpose flag. An operand that must be copied keeps its innermost
/// dimension with runs that are worth it, so that these are copied, and
/// products that contract it in both ways share the copy.
static MatrixView chooseView(RankedTensorType type, ArrayRef<int64_t> batch,
                             ArrayRef<int64_t> free, ArrayRef<int64_t> contract,
                             bool preferContractFirst) {
  for (bool contractFirst : {preferContractFirst, !preferContractFirst}) {
    Dims order = contractFirst ? concat({batch, contract, free})
                               : concat({batch, free, contract});
    if (isInPlace(type, order))
      return {order, contractFirst, true};
  }
  bool contractFirst = preferContractFirst;
  if (isInnermost(type, contract))
    contractFirst = false;
  else if (isInnermost(type, free))
    contractFirst = true;
  Dims order = contractFirst ? concat({batch, contract, free})
                             : concat({batch, free, contract});
  return {order, contractFirst, false};
}

static Dims freeDims(RankedTensorType type, ArrayRef<int64_t> batch,
                     ArrayRef<int64_t> contract) {
  Dims free;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (!llvm::is_contained(batch, dim) && !llvm::is_contained(contract, dim))
      free.push_back(dim);
  return free;
}

static int64_t sizeOf(RankedTensorType type, ArrayRef<int64_t> dims) {
  int64_t size = 1;
  for (int64_t dim : dims)
    size *= type.getDimSize(dim);
  return size;
}

static Value transposeTo(OpBuilder &builder, Location loc, Value value,
                         ArrayRef<int64_t> order) {
  auto type = cast<RankedTensorType>(value.getType());
  Dims shape;
  for (int64_t dim : order)
    shape.push_back(type.getDimSize(dim));
  auto transpose =
      graph::TransposeOp::create(builder, loc, type.clone(shape), value, order);
  Operation *kernel =
      buildKernel(builder, loc, {transpose.getOperation()},
                  transpose.getResult(), {transpose.getResult()});
  transpose.erase();
  return kernel->getResult(0);
}

void fusion::convertContract(graph::ContractOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto lhs = cast<RankedTensorType>(op.getLhs().getType());
  auto rhs = cast<RankedTensorType>(op.getRhs().getType());
  Dims lhsFree = freeDims(lhs, op.getLhsBatch(), op.getLhsContract());
  Dims rhsFree = freeDims(rhs, op.getRhsBatch(), op.getRhsContract());

  // The pairs of contracted dimensions may go in any order, if the same in both
  // operands: that of the left or that of the right one.
  SmallVector<std::pair<int64_t, int64_t>> pairs;
  for (auto [left, right] :
       llvm::zip_equal(op.getLhsContract(), op.getRhsContract()))
    pairs.push_back({left, right});
  std::optional<std::pair<MatrixView, MatrixView>> best;
  int64_t bestCost = 0;
  for (bool byLeft : {true, false}) {
    llvm::sort(pairs, [&](auto a, auto b) {
      return byLeft ? a.first < b.first : a.second < b.second;
    });
    Dims lhsContract, rhsContract;
    for (auto [left, right] : pairs) {
      lhsContract.push_back(left);
      rhsContract.push_back(right);
    }
    MatrixView a =
        chooseView(lhs, op.getLhsBatch(), lhsFree, lhsContract, false);
    MatrixView b =
        chooseView(rhs, op.getRhsBatch(), rhsFree, rhsContract, true);
    int64_t cost = (a.inPlace ? 0 : lhs.getNumElements()) +
                   (b.inPlace ? 0 : rhs.getNumElements());
    if (!best || cost < bestCost) {
      best = {a, b};
      bestCost = cost;
    }
  }
  auto [viewA, viewB] = *best;

  int64_t batch = sizeOf(lhs, op.getLhsBatch());
  int64_t m = sizeOf(lhs, lhsFree), n = sizeOf(rhs, rhsFree);
  int64_t k = sizeOf(lhs, op.getLhsContract());
  auto matrix = [&](Value value, const MatrixView &view, int64_t first,
                    int64_t second) {
    if (!view.inPlace)
      value = transposeTo(builder, loc, value, view.order);
    Dims shape{first, second};
    if (batch > 1)
      shape.insert(shape.begin(), batch);
    return graph::buildReshape(builder, loc, value, shape);
  };
  Value a = matrix(op.getLhs(), viewA, viewA.contractFirst ? k : m,
                   viewA.contractFirst ? m : k);
  Value b = matrix(op.getRhs(), viewB, viewB.contractFirst ? k : n,
                   viewB.contractFirst ? n : k);

  Dims shape{m, n};
  if (batch > 1)
    shape.insert(shape.begin(), batch);
  auto resultType = RankedTensorType::get(shape, lhs.getElementType());
  AffineMap identity =
      builder.getMultiDimIdentityMap(static_cast<unsigned>(shape.size()));
  auto gemm = kern::GemmOp::create(
      builder, loc, TypeRange{resultType}, a, b, ValueRange{},
      /*trans_a=*/viewA.contractFirst, /*trans_b=*/!viewB.contractFirst,
      builder.getAffineMapArrayAttr({identity}), kern::ScheduleAttr());
  Block &body = gemm.getBody().emplaceBlock();
  Value acc = body.addArgument(lhs.getElementType(), loc);
  OpBuilder inside = OpBuilder::atBlockEnd(&body);
  kern::YieldOp::create(inside, loc, acc);

  auto shaped = cast<RankedTensorType>(op.getType()).getShape();
  op.replaceAllUsesWith(
      graph::buildReshape(builder, loc, gemm.getResult(0), shaped));
  op.erase();
}
