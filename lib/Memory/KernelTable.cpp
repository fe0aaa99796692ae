// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Naming and deduplication of kernels.

#include "KernelTable.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace bessemer;

/// Numbers joined by x.
static void appendShape(raw_ostream &stream, ArrayRef<int64_t> shape) {
  if (shape.empty())
    return;
  stream << '_';
  llvm::interleave(shape, stream, "x");
}

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// The mnemonic without dialect and the letters that tell float from integer:
/// arith.addf, arith.addi -> add; arith.maximumf -> max.
static StringRef shortMnemonic(Operation &op) {
  if (auto fold = dyn_cast<kern::FoldOp>(op))
    return kern::stringifyFoldKind(fold.getKind());
  StringRef name = op.getName().stripDialect();
  if (isa<arith::ArithDialect>(op.getDialect())) {
    if (name.starts_with("max"))
      return "max";
    if (name.starts_with("min"))
      return "min";
    if (name.ends_with("f") || name.ends_with("i"))
      return name.drop_back();
  }
  return name;
}

/// The first three different ops of a region.
static void appendArithmetic(raw_ostream &stream, Region &region) {
  SmallVector<StringRef> words;
  for (Operation &op : region.front()) {
    if (isa<kern::YieldOp, kern::IndexOp, arith::ConstantOp>(op))
      continue;
    StringRef word = shortMnemonic(op);
    if (!llvm::is_contained(words, word) && words.size() < 3)
      words.push_back(word);
  }
  for (StringRef word : words)
    stream << '_' << word;
}

std::string bessemer::kernelName(Operation *op) {
  std::string name = op->getName().stripDialect().str();
  llvm::raw_string_ostream stream(name);
  llvm::TypeSwitch<Operation *>(op)
      .Case<kern::MapOp, kern::RowsOp, kern::ColumnsOp>(
          [&](auto kernel) { appendShape(stream, kernel.getBounds()); })
      .Case([&](kern::GemmOp gemm) {
        SmallVector<int64_t> shape = gemm.getBounds();
        shape.push_back(gemm.getK());
        appendShape(stream, shape);
      })
      .Case([&](kern::GatherOp gather) {
        appendShape(stream, shapeOf(gather.getTable()).take_back(2));
        appendShape(stream << "_by", shapeOf(gather.getIndices()));
      })
      .Case([&](kern::ScatterOp scatter) {
        appendShape(stream, shapeOf(scatter.getResult()).take_back(2));
        appendShape(stream << "_by", shapeOf(scatter.getIndices()));
      })
      .Case([&](kern::TableUpdateOp update) {
        appendShape(stream, shapeOf(update.getTable()).take_back(2));
        appendShape(stream << "_by", shapeOf(update.getIndices()));
      })
      .Case<kern::AttentionOp, kern::AttentionGradOp>(
          [&](auto attention) { appendShape(stream, attention.getBounds()); })
      .Case([&](kern::WindowOp window) {
        stream << '_' << kern::stringifyWindowKind(window.getKind());
        appendShape(stream, shapeOf(window.getResult()));
        stream << "_by";
        appendShape(stream, window.getWindow());
      })
      .Case([&](kern::UpdateOp update) {
        stream << '_' << update.getParameters().size();
      })
      .Case(
          [&](kern::NormOp norm) { stream << '_' << norm.getInputs().size(); })
      .Default([&](Operation *other) {
        if (other->getNumResults())
          appendShape(stream, shapeOf(other->getResult(0)));
      });
  for (Region &region : op->getRegions())
    if (!region.empty())
      appendArithmetic(stream, region);
  return name;
}

KernelTable::KernelTable(ModuleOp module) {
  for (Operation &op : *module.getBody())
    if (auto symbol =
            op.getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName()))
      taken.insert(symbol.getValue());
}

exec::KernelOp KernelTable::getOrCreate(Operation *op, OpBuilder &builder) {
  auto kernel =
      exec::KernelOp::create(builder, builder.getUnknownLoc(), "kernel");
  Block &block = kernel.getBody().emplaceBlock();
  IRMapping mapping;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    Value argument =
        block.addArgument(operand.getType(), builder.getUnknownLoc());
    // Each operand has a buffer of its own, also when two are one value.
    if (!mapping.contains(operand))
      mapping.map(operand, argument);
  }
  Operation *copy = op->clone(mapping);
  block.push_back(copy);
  copy->setOperands(block.getArguments());
  kernel->walk([&](Operation *inner) {
    inner->setLoc(builder.getUnknownLoc());
    for (Region &region : inner->getRegions())
      for (BlockArgument argument : region.getArguments())
        argument.setLoc(builder.getUnknownLoc());
  });

  std::string text;
  llvm::raw_string_ostream stream(text);
  kernel->print(stream, OpPrintingFlags().useLocalScope());
  auto [known, isNew] = byText.try_emplace(text, kernel);
  if (!isNew) {
    kernel.erase();
    return known->second;
  }
  std::string base = kernelName(op), name = base;
  for (unsigned counter = 1; !taken.insert(name).second; ++counter)
    name = base + "_" + std::to_string(counter);
  kernel.setSymName(name);
  return kernel;
}
