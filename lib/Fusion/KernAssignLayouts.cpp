// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kern-assign-layouts pass: images around convolutions in blocks of
// channels.

#include "Kernel.h"
#include "ReshapeKernel.h"
#include "bessemer/Dialect/Graph/IR/TensorType.h"
#include "bessemer/Fusion/Passes.h"
#include "llvm/ADT/SetVector.h"

#define DEBUG_TYPE "kern-assign-layouts"

namespace bessemer {
#define GEN_PASS_DEF_KERNASSIGNLAYOUTS
#include "bessemer/Fusion/Passes.h.inc"
} // namespace bessemer

using namespace mlir;
using namespace bessemer;
using namespace bessemer::fusion;

/// Whether the type of `value` is that of an image of whole blocks.
static bool hasBlocks(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == 4 && type.getElementType().isF32() &&
         type.getDimSize(1) % kern::kChannelBlock == 0;
}

//===----------------------------------------------------------------------===//
// What takes blocked images
//===----------------------------------------------------------------------===//

/// Whether the library computes `conv` on blocked images.
static bool takesBlocks(kern::ConvOp conv) {
  int64_t groups = conv.getGroups();
  if (groups == 1)
    return true;
  kern::ConvOp::Roles roles = conv.getRoles();
  int64_t outputs = conv.getLogicalType(roles.y).getDimSize(1);
  int64_t inputsPerGroup = conv.getLogicalType(roles.w).getDimSize(1);
  bool isDepthwise = inputsPerGroup == 1 && outputs == groups;
  return isDepthwise || (inputsPerGroup % kern::kChannelBlock == 0 &&
                         outputs / groups % kern::kChannelBlock == 0);
}

/// The images among the operands and results of a convolution.
static SmallVector<Value> imagesOf(kern::ConvOp conv) {
  SmallVector<Value> images;
  kern::ConvOp::Roles roles = conv.getRoles();
  for (unsigned i : {roles.x, roles.y})
    images.push_back(i < conv.getInputs().size() ? conv.getInputs()[i]
                                                 : conv.getResult());
  return images;
}

/// Whether `map` reads the whole of `value`, a dimension of the kernel for each
/// of its own.
static bool readsWhole(const Kernel &kernel, Value value, AffineMap map) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  for (unsigned i = 0; i < map.getNumResults(); ++i) {
    kern::MapEntry entry = kern::getEntry(map, i);
    if (!entry.isWhole(kernel.getBounds()[entry.dim], type.getDimSize(i)))
      return false;
  }
  return true;
}

/// The iteration dimension of a kernel's channels, which all its blocked
/// images share: that of the first operand or result that can be one. None
/// when an operand is read in part.
static std::optional<int64_t> channelDim(const Kernel &kernel) {
  if (kernel.isGemm())
    return std::nullopt;
  Operation *op = kernel.getOperation();
  std::optional<int64_t> channels;
  for (unsigned i = 0; i < op->getNumOperands() + op->getNumResults(); ++i) {
    AffineMap map = kernel.getInputMap(i);
    Value value = i < op->getNumOperands()
                      ? op->getOperand(i)
                      : Value(op->getResult(i - op->getNumOperands()));
    if (!readsWhole(kernel, value, map))
      return std::nullopt;
    if (!channels && hasBlocks(value))
      channels = map.getDimPosition(1);
  }
  return channels;
}

/// Images of `op` that may be blocked together, the op seen alone.
static SmallVector<Value> blockableImages(Operation *op) {
  SmallVector<Value> images;
  auto add = [&](Value value) {
    if (hasBlocks(value))
      images.push_back(value);
  };
  if (auto conv = dyn_cast<kern::ConvOp>(op)) {
    if (takesBlocks(conv))
      llvm::for_each(imagesOf(conv), add);
    return images;
  }
  if (auto window = dyn_cast<kern::WindowOp>(op)) {
    llvm::for_each(window.getInputs(), add);
    add(window.getResult());
    return images;
  }
  std::optional<Kernel> kernel = Kernel::get(op);
  std::optional<int64_t> channels = kernel ? channelDim(*kernel) : std::nullopt;
  if (!channels)
    return images;
  for (unsigned i = 0; i < op->getNumOperands() + op->getNumResults(); ++i)
    if (Value value = i < op->getNumOperands()
                          ? op->getOperand(i)
                          : Value(op->getResult(i - op->getNumOperands()));
        hasBlocks(value) &&
        kernel->getInputMap(i).getDimPosition(1) == channels)
      add(value);
  return images;
}

//===----------------------------------------------------------------------===//
// Which images are blocked
//===----------------------------------------------------------------------===//

namespace {
/// The images of one block of code that are laid out in blocks.
class Choice {
public:
  explicit Choice(Block &block) : block(block) {
    for (Operation &op : block)
      if (isa<kern::ConvOp>(op))
        llvm::for_each(blockableImages(&op), [&](Value v) { addIfTaken(v); });
    // Images that a kernel combines with blocked ones follow them.
    for (size_t i = 0; i < chosen.size(); ++i) {
      SmallVector<Operation *> ops(chosen[i].getUsers());
      ops.push_back(chosen[i].getDefiningOp());
      for (Operation *op : ops)
        if (!isa<kern::ConvOp>(op))
          llvm::for_each(blockableImages(op), [&](Value v) { addIfTaken(v); });
    }
    unchooseTornWindows();
  }

  bool contains(Value value) const { return chosen.contains(value); }
  bool touches(Operation *op) const {
    return llvm::any_of(op->getOperands(),
                        [&](Value v) { return contains(v); }) ||
           llvm::any_of(op->getResults(), [&](Value v) { return contains(v); });
  }

private:
  /// Chooses `value` when its producer and all its users take it blocked.
  void addIfTaken(Value value) {
    Operation *producer = value.getDefiningOp();
    if (!producer || producer->getBlock() != &block)
      return;
    auto takes = [&](Operation *op) {
      return op->getBlock() == &block &&
             llvm::is_contained(blockableImages(op), value);
    };
    if (takes(producer) && llvm::all_of(value.getUsers(), takes))
      chosen.insert(value);
  }

  /// A pool has all of its images blocked or none: what it would need in blocks
  /// and is not takes the others with it.
  void unchooseTornWindows() {
    bool changed = true;
    while (changed) {
      changed = false;
      for (auto window : block.getOps<kern::WindowOp>()) {
        SmallVector<Value> images(window.getInputs());
        images.push_back(window.getResult());
        if (llvm::all_of(images, [&](Value v) { return contains(v); }))
          continue;
        for (Value image : images)
          changed |= chosen.remove(image);
      }
    }
  }

  Block &block;
  llvm::SetVector<Value> chosen;
};

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// Rebuilds the ops of a block around its blocked images.
class Blocking {
public:
  explicit Blocking(const Choice &choice) : choice(choice) {}

  void run(Block &block) {
    SmallVector<Operation *> ops;
    for (Operation &op : block)
      if (choice.touches(&op))
        ops.push_back(&op);
    for (Operation *op : ops) {
      if (auto conv = dyn_cast<kern::ConvOp>(op))
        rebuild(conv);
      else if (auto window = dyn_cast<kern::WindowOp>(op))
        rebuild(window);
      else
        rebuild(*Kernel::get(op));
    }
    for (Operation *op : llvm::reverse(ops))
      op->erase();
  }

private:
  Value inBlocks(Value value) const { return blocked.lookup_or(value, value); }

  /// Gives `result` of the old op its place in the new code.
  void replace(Value result, Value replacement) {
    if (choice.contains(result))
      blocked[result] = replacement;
    else
      result.replaceAllUsesWith(replacement);
  }

  void rebuild(kern::ConvOp conv) {
    OpBuilder builder(conv);
    SmallVector<Attribute> layouts(conv.getLayouts().getValue());
    auto inBlockLayout =
        kern::LayoutAttr::get(conv.getContext(), kern::kBlockedLayout);
    SmallVector<Value> inputs;
    for (auto [i, input] : llvm::enumerate(conv.getInputs())) {
      inputs.push_back(inBlocks(input));
      if (choice.contains(input))
        layouts[i] = inBlockLayout;
    }
    RankedTensorType type = conv.getType();
    if (choice.contains(conv.getResult())) {
      type = kern::getBlockedType(type);
      layouts.back() = inBlockLayout;
    }
    replace(conv.getResult(),
            kern::ConvOp::create(builder, conv.getLoc(), type, conv.getKind(),
                                 inputs, builder.getArrayAttr(layouts),
                                 conv.getStrides(), conv.getPads(),
                                 conv.getDilations(), conv.getGroups(),
                                 conv.getWinograd(), conv.getSchedule()));
  }

  void rebuild(kern::WindowOp window) {
    OpBuilder builder(window);
    SmallVector<Value> inputs;
    for (Value input : window.getInputs())
      inputs.push_back(inBlocks(input));
    replace(window.getResult(),
            kern::WindowOp::create(
                builder, window.getLoc(),
                kern::getBlockedType(window.getType()), window.getKind(),
                inputs, window.getWindow(), window.getStrides(),
                window.getPads(), window.getDilations(),
                window.getCountIncludePad(), window.getScheduleAttr()));
  }

  /// Splits the kernel's channels in two dimensions and moves the inner one to
  /// the end, where the images in blocks have it.
  void rebuild(const Kernel &kernel) {
    Operation *old = kernel.getOperation();
    int64_t channels = *channelDim(kernel);
    SmallVector<Dims> sizes;
    for (int64_t bound : kernel.getBounds())
      sizes.push_back({bound});
    sizes[channels] = {sizes[channels][0] / kern::kChannelBlock,
                       kern::kChannelBlock};
    // Operands that are read whole can always be split.
    ReshapedKernel split = *splitDims(kernel, sizes);
    int64_t inner = kernel.getBounds().size();
    auto moved = [&](int64_t dim) {
      return dim <= channels ? dim : dim == channels + 1 ? inner : dim - 1;
    };
    Kernel copy = *Kernel::get(split.op);
    OpBuilder builder(split.op);
    Dims bounds(inner + 1), reduced;
    for (auto [dim, bound] : llvm::enumerate(copy.getBounds()))
      bounds[moved(dim)] = bound;
    for (int64_t dim : copy.getReduced())
      reduced.push_back(moved(dim));
    llvm::sort(reduced);
    SmallVector<AffineMap> maps;
    auto addMap = [&](AffineMap map, bool isBlocked) {
      SmallVector<AffineExpr> exprs;
      for (unsigned i = 0; i < map.getNumResults(); ++i)
        exprs.push_back(builder.getAffineDimExpr(moved(map.getDimPosition(i))));
      // [n, c, b, h, w] is [n, c, h, w, b].
      if (isBlocked)
        std::rotate(exprs.begin() + 2, exprs.begin() + 3, exprs.end());
      maps.push_back(AffineMap::get(inner + 1, 0, exprs, builder.getContext()));
    };
    SmallVector<Value> inputs;
    for (unsigned i = 0; i < kernel.getNumInputs(); ++i) {
      Value input = kernel.getInput(i);
      bool isBlocked = choice.contains(input);
      inputs.push_back(isBlocked ? inBlocks(input) : copy.getInput(i));
      addMap(copy.getInputMap(i), isBlocked);
    }
    SmallVector<Type> types;
    for (OpResult result : old->getResults()) {
      unsigned number = result.getResultNumber();
      bool isBlocked = choice.contains(result);
      types.push_back(isBlocked ? kern::getBlockedType(tensorOf(result))
                                : split.op->getResult(number).getType());
      addMap(copy.getResultMap(number), isBlocked);
    }
    copy.getBody().walk(
        [&](kern::IndexOp index) { index.setDim(moved(index.getDim())); });
    Operation *rebuilt = buildKernelOp(builder, old->getLoc(), types, inputs,
                                       bounds, reduced, maps, split.op);
    for (OpResult result : old->getResults()) {
      unsigned number = result.getResultNumber();
      Value direct = rebuilt->getResult(number);
      bool isReshaped = split.results[number] != split.op->getResult(number);
      if (choice.contains(result) || !isReshaped) {
        replace(result, direct);
        continue;
      }
      split.op->getResult(number).replaceAllUsesWith(direct);
      replace(result, split.results[number]);
    }
    // What only the intermediate kernel needed.
    for (Operation *made : llvm::reverse(split.made))
      if (made->use_empty())
        made->erase();
  }

  /// The kernel with the region of `from`: columns where the innermost
  /// dimension, along which vectors run, is not reduced.
  static Operation *buildKernelOp(OpBuilder &builder, Location loc,
                                  TypeRange types, ValueRange inputs,
                                  ArrayRef<int64_t> bounds,
                                  ArrayRef<int64_t> reduced,
                                  ArrayRef<AffineMap> maps, Operation *from) {
    ArrayAttr mapsAttr = builder.getAffineMapArrayAttr(maps);
    auto finish = [&](auto op) -> Operation * {
      op.getBody().takeBody(from->getRegion(0));
      return op;
    };
    if (reduced.empty())
      return finish(kern::MapOp::create(builder, loc, types, inputs, bounds,
                                        mapsAttr, kern::ScheduleAttr()));
    if (reduced.back() + 1 == static_cast<int64_t>(bounds.size()))
      return finish(kern::RowsOp::create(builder, loc, types, inputs, bounds,
                                         reduced, mapsAttr,
                                         kern::ScheduleAttr()));
    return finish(kern::ColumnsOp::create(builder, loc, types, inputs, bounds,
                                          reduced, mapsAttr,
                                          kern::ScheduleAttr()));
  }

  const Choice &choice;
  llvm::DenseMap<Value, Value> blocked;
};
} // namespace

//===----------------------------------------------------------------------===//
// Winograd
//===----------------------------------------------------------------------===//

/// Multiply-adds below which a convolution stays direct: half a millisecond, of
/// which Winograd could save a part. Its rounding is ten times that of direct
/// convolution, enough for a ReLU behind it to switch elsewhere than PyTorch's.
constexpr int64_t kLeastWinogradWork = int64_t(1) << 27;

/// Whether Winograd's algorithm computes `conv`, and faster: the tiles of 4x4
/// outputs and the transformed weights of 6x6 per filter need enough images.
static bool gainsFromWinograd(kern::ConvOp conv) {
  kern::ConvOp::Roles roles = conv.getRoles();
  RankedTensorType x = conv.getLogicalType(roles.x);
  RankedTensorType w = conv.getLogicalType(roles.w);
  RankedTensorType y = conv.getLogicalType(roles.y);
  auto areOnes = [](ArrayRef<int64_t> values) {
    return llvm::all_of(values, [](int64_t value) { return value == 1; });
  };
  int64_t tiles = x.getDimSize(0) * llvm::divideCeil(y.getDimSize(2), 4) *
                  llvm::divideCeil(y.getDimSize(3), 4);
  int64_t work =
      w.getNumElements() * y.getDimSize(0) * y.getDimSize(2) * y.getDimSize(3);
  return work >= kLeastWinogradWork && conv.getGroups() == 1 &&
         w.getDimSize(2) == 3 && w.getDimSize(3) == 3 &&
         areOnes(conv.getStrides()) && areOnes(conv.getDilations()) &&
         areOnes(conv.getPads()) &&
         x.getDimSize(1) % kern::kChannelBlock == 0 &&
         y.getDimSize(1) % kern::kChannelBlock == 0 && tiles >= 32;
}

namespace {
struct KernAssignLayouts
    : bessemer::impl::KernAssignLayoutsBase<KernAssignLayouts> {
  using KernAssignLayoutsBase::KernAssignLayoutsBase;

  void runOnOperation() override {
    SmallVector<Block *> blocks;
    for (Block &block : getOperation().getBody())
      blocks.push_back(&block);
    // Accumulation computes its parts of the batch in a loop.
    getOperation().walk(
        [&](graph::ScanOp scan) { blocks.push_back(&scan.getBlock()); });
    for (Block *block : blocks) {
      Choice choice(*block);
      Blocking(choice).run(*block);
      if (winograd)
        for (auto conv : block->getOps<kern::ConvOp>())
          if (gainsFromWinograd(conv))
            conv.setWinograd(true);
    }
  }
};
} // namespace
