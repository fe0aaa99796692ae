// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The graph-to-kern pass: every graph op becomes an op of its kernel family.

#include "Blocks.h"
#include "Convert.h"
#include "FamilyTable.h"
#include "RegionTranslation.h"
#include "bessemer/Fusion/Passes.h"
#include "llvm/Support/Debug.h"

#define DEBUG_TYPE "graph-to-kern"

namespace bessemer {
#define GEN_PASS_DEF_GRAPHTOKERN
#include "bessemer/Fusion/Passes.h.inc"
} // namespace bessemer

using namespace mlir;
using namespace bessemer;
using namespace bessemer::fusion;

LogicalResult fusion::withDecomposition(
    Operation *op,
    llvm::function_ref<void(ArrayRef<Operation *>, ArrayRef<Value>)> use) {
  OpBuilder builder(op);
  Operation *before = op->getPrevNode();
  FailureOr<SmallVector<Value>> results =
      cast<graph::DecomposableOpInterface>(op).decompose(builder);
  if (failed(results))
    return op->emitOpError("could not be decomposed");
  SmallVector<Operation *> code;
  for (Operation *inner = before ? before->getNextNode()
                                 : &op->getBlock()->front();
       inner != op; inner = inner->getNextNode())
    code.push_back(inner);
  use(code, *results);
  for (Operation *inner : llvm::reverse(code))
    if (inner->use_empty())
      inner->erase();
  return success();
}

/// The value whose dimensions are the iteration dimensions of `op`'s kernel.
static Value getAnchor(Operation *op) {
  if (isa<graph::ReduceOp>(op))
    return op->getOperand(0);
  if (isa<graph::DecomposableOpInterface>(op))
    return op->getOperand(0); // x or logits
  return op->getResult(0);
}

namespace {
/// Part of a decomposition that becomes one kernel: its folds run over one set
/// of dimensions.
struct KernelPart {
  ArrayRef<int64_t> reduced;
  llvm::DenseSet<Operation *> needed;
  SmallVector<unsigned> results;
};
} // namespace

/// Splits the code that computes `results` by the dimensions that each of them
/// is reduced over. Results without a reduction go with the first part.
static SmallVector<KernelPart> splitByReduction(ArrayRef<Operation *> code,
                                                ArrayRef<Value> results) {
  llvm::DenseSet<Operation *> inside(code.begin(), code.end());
  SmallVector<KernelPart> parts;
  for (auto [index, result] : llvm::enumerate(results)) {
    KernelPart part;
    SmallVector<Value> work{result};
    while (!work.empty()) {
      Operation *op = work.pop_back_val().getDefiningOp();
      if (!op || !inside.contains(op) || !part.needed.insert(op).second)
        continue;
      if (auto reduce = dyn_cast<graph::ReduceOp>(op))
        part.reduced = reduce.getDims();
      llvm::append_range(work, op->getOperands());
    }
    auto same = llvm::find_if(parts, [&](const KernelPart &other) {
      return part.reduced.empty() || other.reduced == part.reduced;
    });
    if (same == parts.end())
      same = parts.insert(parts.end(), KernelPart{part.reduced, {}, {}});
    same->needed.insert(part.needed.begin(), part.needed.end());
    same->results.push_back(index);
  }
  return parts;
}

/// Replaces the results of `op` by those of one kernel per part of its
/// decomposition.
static void buildParts(Operation *op, ArrayRef<Operation *> code,
                       ArrayRef<Value> results) {
  OpBuilder builder(op);
  for (const KernelPart &part : splitByReduction(code, results)) {
    SmallVector<Operation *> ops;
    llvm::copy_if(code, std::back_inserter(ops), [&](Operation *inner) {
      return part.needed.contains(inner);
    });
    SmallVector<Value> values;
    for (unsigned index : part.results)
      values.push_back(results[index]);
    Operation *kernel =
        buildKernel(builder, op->getLoc(), ops, getAnchor(op), values);
    for (auto [index, value] :
         llvm::zip_equal(part.results, kernel->getResults()))
      op->getResult(index).replaceAllUsesWith(value);
  }
}

static LogicalResult convertToMapOrFold(Operation *op) {
  OpBuilder builder(op);
  if (auto reduce = dyn_cast<graph::ReduceOp>(op)) {
    auto type = cast<RankedTensorType>(reduce.getInput().getType());
    if (llvm::all_of(reduce.getDims(),
                     [&](int64_t dim) { return type.getDimSize(dim) == 1; })) {
      reduce.replaceAllUsesWith(graph::buildReshape(
          builder, op->getLoc(), reduce.getInput(),
          cast<RankedTensorType>(reduce.getType()).getShape()));
      op->erase();
      return success();
    }
  }
  // A constant in another shape is a constant.
  if (isa<graph::BroadcastOp, graph::TransposeOp>(op))
    if (TypedAttr element = getSplatElement(op->getOperand(0))) {
      auto type = cast<RankedTensorType>(op->getResult(0).getType());
      op->getResult(0).replaceAllUsesWith(arith::ConstantOp::create(
          builder, op->getLoc(), SplatElementsAttr::get(type, element)));
      op->erase();
      return success();
    }
  if (!isa<graph::DecomposableOpInterface>(op)) {
    SmallVector<Value> results(op->getResults());
    Operation *kernel =
        buildKernel(builder, op->getLoc(), {op}, getAnchor(op), results);
    op->replaceAllUsesWith(kernel->getResults());
    op->erase();
    return success();
  }
  LogicalResult converted = withDecomposition(
      op, [&](ArrayRef<Operation *> code, ArrayRef<Value> results) {
        if (llvm::all_of(results, [](Value value) {
              return static_cast<bool>(getSplatElement(value));
            })) {
          op->replaceAllUsesWith(results);
          return;
        }
        buildParts(op, code, results);
      });
  if (succeeded(converted))
    op->erase();
  return converted;
}

static void convertConvolution(Operation *op) {
  OpBuilder builder(op);
  auto convert = [&](auto conv, kern::ConvKind kind) {
    auto row = kern::LayoutAttr::get(op->getContext(), "row");
    SmallVector<Attribute> layouts(op->getNumOperands() + 1, row);
    auto schedule = kern::ScheduleAttr::get(op->getContext(),
                                            kern::ScheduleKind::Library, {});
    Value result = kern::ConvOp::create(
        builder, op->getLoc(), conv.getType(), kind, op->getOperands(),
        builder.getArrayAttr(layouts), conv.getStrides(), conv.getPads(),
        conv.getDilations(), conv.getGroups(), /*winograd=*/false, schedule);
    conv.replaceAllUsesWith(result);
  };
  if (auto conv = dyn_cast<graph::ConvOp>(op))
    convert(conv, kern::ConvKind::Forward);
  else if (auto conv = dyn_cast<graph::ConvInputGradOp>(op))
    convert(conv, kern::ConvKind::InputGrad);
  else
    convert(cast<graph::ConvWeightGradOp>(op), kern::ConvKind::WeightGrad);
  op->erase();
}

static void convertWindow(Operation *op) {
  OpBuilder builder(op);
  auto convert = [&](auto pool, kern::WindowKind kind, bool countIncludePad) {
    Value result = kern::WindowOp::create(
        builder, op->getLoc(), pool.getType(), kind, op->getOperands(),
        pool.getWindow(), pool.getStrides(), pool.getPads(),
        pool.getDilations(), countIncludePad, kern::ScheduleAttr());
    pool.replaceAllUsesWith(result);
  };
  if (auto pool = dyn_cast<graph::PoolOp>(op))
    convert(pool,
            pool.getKind() == graph::PoolKind::Max ? kern::WindowKind::Max
                                                   : kern::WindowKind::Average,
            pool.getCountIncludePad());
  else if (auto pool = dyn_cast<graph::MaxPoolGradOp>(op))
    convert(pool, kern::WindowKind::MaxGrad, false);
  else if (auto pool = dyn_cast<graph::AveragePoolGradOp>(op))
    convert(pool, kern::WindowKind::AverageGrad, pool.getCountIncludePad());
  op->erase();
}

/// square_sum -> partial sums by kern.norm, added up by a kern.rows.
static void convertSquareSum(graph::SquareSumOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getType());
  if (op.getGradients().empty()) {
    op.replaceAllUsesWith(graph::buildSplat(builder, loc, type, 0.0));
    op.erase();
    return;
  }
  constexpr int64_t chunk = 16384;
  int64_t tiles = 0;
  for (Value gradient : op.getGradients())
    tiles += llvm::divideCeil(
        cast<RankedTensorType>(gradient.getType()).getNumElements(), chunk);
  Value sums = kern::NormOp::create(
      builder, loc, RankedTensorType::get({tiles}, type.getElementType()),
      op.getGradients(), chunk);
  if (tiles == 1) {
    op.replaceAllUsesWith(graph::buildReshape(builder, loc, sums, {}));
    op.erase();
    return;
  }
  Value total =
      graph::buildReduce(builder, loc, graph::ReduceKind::Sum, sums, {0});
  op.replaceAllUsesWith(total);
  op.erase();
  (void)convertToMapOrFold(total.getDefiningOp());
}

/// Replaces composites without a family, which are plugins', and those that
/// their family cannot compute by what they decompose to. kern-fuse will join
/// the parts.
static LogicalResult expandUnknownComposites(Block &block) {
  for (auto it = block.begin(); it != block.end();) {
    Operation *op = &*it;
    auto composite = dyn_cast<graph::DecomposableOpInterface>(op);
    if (!composite || (getFamily(op) && !isLazyWithoutLookup(op))) {
      ++it;
      continue;
    }
    Operation *before = op->getPrevNode();
    OpBuilder builder(op);
    FailureOr<SmallVector<Value>> results = composite.decompose(builder);
    if (failed(results))
      return op->emitOpError("could not be decomposed");
    op->replaceAllUsesWith(*results);
    op->erase();
    // It may consist of such composites again, or of nothing.
    it = before ? std::next(before->getIterator()) : block.begin();
  }
  return success();
}

namespace {
struct GraphToKern : bessemer::impl::GraphToKernBase<GraphToKern> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    for (Block &block : function.getBody())
      if (failed(expandUnknownComposites(block)))
        return signalPassFailure();
    // All ops without a family are reported, not just the first.
    bool known = true;
    for (Block *block : blocksOf(function))
      for (Operation &op : *block)
        if (!isa<kern::KernDialect>(op.getDialect()) && !getFamily(&op)) {
          op.emitOpError("has no kernel family");
          known = false;
        }
    if (!known)
      return signalPassFailure();
    for (Block *block : blocksOf(function)) {
      convertUpdates(*block);
      convertAttentions(*block);
      for (Operation &op : llvm::make_early_inc_range(*block))
        if (failed(convert(&op)))
          return signalPassFailure();
    }
  }

  LogicalResult convert(Operation *op) {
    if (isa<kern::KernDialect>(op->getDialect()))
      return success();
    LLVM_DEBUG(llvm::dbgs() << "converting " << *op << "\n");
    switch (*getFamily(op)) {
    case Family::Map:
    case Family::Fold:
      return convertToMapOrFold(op);
    case Family::Move:
      convertDataMovement(op);
      return success();
    case Family::Gemm:
      convertContract(cast<graph::ContractOp>(op));
      return success();
    case Family::Conv:
      convertConvolution(op);
      return success();
    case Family::Window:
      convertWindow(op);
      return success();
    case Family::Norm:
      convertSquareSum(cast<graph::SquareSumOp>(op));
      return success();
    case Family::Update:    // by convertUpdates
    case Family::Attention: // by convertAttentions
    case Family::Alias:
    case Family::Constant:
    case Family::Boundary:
      return success();
    }
    llvm_unreachable("unknown family");
  }
};
} // namespace
