// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels with a scalar region, as fusion sees them, and how two become one.

#include "Kernel.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::fusion;

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

static AffineMap mapAt(Operation *op, unsigned index) {
  auto maps = op->getAttrOfType<ArrayAttr>("indexing_maps");
  return cast<AffineMapAttr>(maps[index]).getValue();
}

std::optional<Kernel> Kernel::get(Operation *op) {
  if (!op)
    return std::nullopt;
  Kernel kernel(op);
  if (auto map = dyn_cast<kern::MapOp>(op)) {
    kernel.bounds.assign(map.getBounds().begin(), map.getBounds().end());
    return kernel;
  }
  if (auto gemm = dyn_cast<kern::GemmOp>(op)) {
    kernel.bounds.assign(gemm.getBounds());
    kernel.firstInput = 2;
    return kernel;
  }
  auto folding = [&](auto rows) {
    kernel.bounds.assign(rows.getBounds().begin(), rows.getBounds().end());
    kernel.reduced.assign(rows.getReduced().begin(), rows.getReduced().end());
    return kernel;
  };
  if (auto rows = dyn_cast<kern::RowsOp>(op))
    return folding(rows);
  if (auto columns = dyn_cast<kern::ColumnsOp>(op))
    return folding(columns);
  return std::nullopt;
}

int64_t Kernel::getIterations() const {
  int64_t iterations = 1;
  for (int64_t bound : bounds)
    iterations *= bound;
  return iterations;
}

AffineMap Kernel::getInputMap(unsigned i) const { return mapAt(op, i); }

AffineMap Kernel::getResultMap(unsigned i) const {
  return mapAt(op, getNumInputs() + i);
}

BlockArgument Kernel::getArgument(unsigned i) const {
  return getBody().getArgument(i + (isGemm() ? 1 : 0));
}

//===----------------------------------------------------------------------===//
// Embedding
//===----------------------------------------------------------------------===//

bool Embedding::isPerRow(const Dims &dims) const {
  return dims.size() + reduced.size() == bounds.size() &&
         llvm::none_of(dims, [&](int64_t dim) {
           return llvm::is_contained(reduced, dim);
         });
}

namespace {
/// Which elements of a tensor a kernel reads.
enum class Reach {
  Whole, ///< all of them, each at its place
  Part,  ///< some of them
  Beyond ///< also zeros outside
};

/// A growing one-to-one relation between the dimensions of two kernels.
class Pairing {
public:
  Pairing(const Kernel &first, const Kernel &second)
      : first(first), second(second), toSecond(first.getBounds().size(), -1),
        toFirst(second.getBounds().size(), -1),
        shift(first.getBounds().size(), 0) {}

  /// Pairs the dimensions that two maps to the same tensor use, unless that
  /// contradicts what is paired already or goes beyond `reach`.
  bool pairMaps(AffineMap a, AffineMap b, Reach reach) {
    Dims oldToSecond = toSecond, oldToFirst = toFirst, oldShift = shift;
    for (unsigned i = 0; i < a.getNumResults(); ++i) {
      auto [dimA, offsetA] = kern::getEntry(a, i);
      auto [dimB, offsetB] = kern::getEntry(b, i);
      if (!pairDims(dimA, dimB, offsetB - offsetA, reach)) {
        toSecond = oldToSecond;
        toFirst = oldToFirst;
        shift = oldShift;
        return false;
      }
    }
    return true;
  }

  /// Pairs what is left in order. Fails when numbers or sizes differ.
  bool pairRest() {
    Dims restFirst = unpairedFirst(), restSecond = unpairedSecond();
    if (restFirst.size() != restSecond.size())
      return false;
    for (auto [a, b] : llvm::zip_equal(restFirst, restSecond))
      if (!pairDims(a, b, 0, Reach::Whole))
        return false;
    return true;
  }

  Dims unpairedFirst() const { return unpaired(toSecond); }
  Dims unpairedSecond() const { return unpaired(toFirst); }
  const Dims &getToSecond() const { return toSecond; }
  const Dims &getToFirst() const { return toFirst; }
  const Dims &getShift() const { return shift; }
  /// Whether the second kernel reads a part of the first's space.
  bool isPartial() const {
    for (auto [a, b] : llvm::enumerate(toSecond))
      if (b != -1 && !covers(a, b, shift[a]))
        return true;
    return false;
  }

private:
  bool covers(int64_t a, int64_t b, int64_t offset) const {
    return kern::MapEntry{b, offset}.isWhole(second.getBounds()[b],
                                             first.getBounds()[a]);
  }

  bool pairDims(int64_t a, int64_t b, int64_t offset, Reach reach) {
    if (toSecond[a] == b && toFirst[b] == a)
      return shift[a] == offset;
    if (toSecond[a] != -1 || toFirst[b] != -1)
      return false;
    bool isPart = kern::MapEntry{b, offset}.isWithin(second.getBounds()[b],
                                                     first.getBounds()[a]);
    if (reach == Reach::Whole ? !covers(a, b, offset)
                              : reach == Reach::Part && !isPart)
      return false;
    // What one kernel reduces, the other must as well, if it reduces at all.
    if (first.isFolding() && second.isFolding() &&
        llvm::is_contained(first.getReduced(), a) !=
            llvm::is_contained(second.getReduced(), b))
      return false;
    toSecond[a] = b;
    toFirst[b] = a;
    shift[a] = offset;
    return true;
  }

  static Dims unpaired(const Dims &to) {
    Dims rest;
    for (auto [dim, other] : llvm::enumerate(to))
      if (other == -1)
        rest.push_back(dim);
    return rest;
  }

  const Kernel &first, &second;
  Dims toSecond, toFirst, shift;
};
} // namespace

/// Pairs dimensions by tensors that both kernels read, larger ones first.
static void pairSharedInputs(Pairing &pairing, const Kernel &first,
                             const Kernel &second) {
  SmallVector<std::pair<unsigned, unsigned>> shared;
  for (unsigned i = 0; i < first.getNumInputs(); ++i)
    for (unsigned j = 0; j < second.getNumInputs(); ++j)
      if (first.getInput(i) == second.getInput(j))
        shared.push_back({i, j});
  llvm::stable_sort(shared, [&](auto a, auto b) {
    return first.getInputMap(a.first).getNumResults() >
           first.getInputMap(b.first).getNumResults();
  });
  for (auto [i, j] : shared)
    pairing.pairMaps(first.getInputMap(i), second.getInputMap(j), Reach::Whole);
}

/// Whether result `result` is an input whose every element it has once.
static bool isCopyOfWhole(const Kernel &kernel, unsigned result) {
  auto argument = dyn_cast<BlockArgument>(
      kernel.getBody().getTerminator()->getOperand(result));
  if (!argument)
    return false;
  unsigned input = argument.getArgNumber();
  auto type = dyn_cast<RankedTensorType>(kernel.getInput(input).getType());
  AffineMap map = kernel.getInputMap(input);
  if (!type || map.getNumResults() != kernel.getBounds().size())
    return false;
  for (unsigned i = 0; i < map.getNumResults(); ++i) {
    kern::MapEntry entry = kern::getEntry(map, i);
    if (!entry.isWhole(kernel.getBounds()[entry.dim], type.getDimSize(i)))
      return false;
  }
  return true;
}

/// What others may read of result `result` and still compute it themselves,
/// point by point.
static Reach reachOf(const Kernel &kernel, unsigned result) {
  // A random number is that of its element in the whole tensor.
  if (!kernel.isMap() || !kernel.getBody().getOps<kern::RandomOp>().empty())
    return Reach::Whole;
  // Outside of a result zeros are read, and so must what stands in its place:
  // a copy of a tensor that ends where the result does.
  return isCopyOfWhole(kernel, result) ? Reach::Beyond : Reach::Part;
}

std::optional<Embedding> fusion::embed(const Kernel &first,
                                       const Kernel &second) {
  // A product has no place for a fold or another product.
  if ((first.isGemm() && !second.isMap()) ||
      (second.isGemm() && !first.isMap()))
    return std::nullopt;
  Embedding embedding;
  Pairing pairing(first, second);
  SmallVector<std::pair<unsigned, unsigned>> links;
  for (unsigned input = 0; input < second.getNumInputs(); ++input) {
    auto result = dyn_cast<OpResult>(second.getInput(input));
    if (result && result.getOwner() == first.getOperation())
      links.push_back({input, result.getResultNumber()});
  }
  llvm::stable_sort(links, [&](auto a, auto b) {
    return first.getResultMap(a.second).getNumResults() >
           first.getResultMap(b.second).getNumResults();
  });
  for (auto link : links)
    if (pairing.pairMaps(first.getResultMap(link.second),
                         second.getInputMap(link.first),
                         reachOf(first, link.second)))
      embedding.links.push_back(link);
  if (embedding.links.size() != links.size() && embedding.links.empty())
    return std::nullopt;

  auto isDone = [&] {
    return pairing.unpairedFirst().empty() || pairing.unpairedSecond().empty();
  };
  if (!isDone() || links.empty())
    pairSharedInputs(pairing, first, second);
  if (!isDone() && !pairing.pairRest())
    return std::nullopt;

  // The space is that of the kernel that the other one lies in.
  auto identity = [](size_t rank) {
    return Dims(llvm::to_vector(llvm::seq<int64_t>(0, rank)));
  };
  // Of two equal ones it is that of the product or the fold, whose order of
  // dimensions means something.
  bool inFirst = pairing.unpairedSecond().empty();
  bool inSecond = pairing.unpairedFirst().empty();
  embedding.isPartial = pairing.isPartial();
  embedding.shift = pairing.getShift();
  if (embedding.isPartial) {
    if (!inSecond)
      return std::nullopt;
  } else if (inFirst && inSecond)
    inSecond = !(first.isGemm() || first.isFolding());
  const Kernel &space = inSecond ? second : first;
  embedding.bounds.assign(space.getBounds().begin(), space.getBounds().end());
  embedding.first =
      inSecond ? pairing.getToSecond() : identity(first.getBounds().size());
  embedding.second =
      inSecond ? identity(second.getBounds().size()) : pairing.getToFirst();
  auto addReduced = [&](const Kernel &kernel, const Dims &dims) {
    for (int64_t dim : kernel.getReduced())
      if (!llvm::is_contained(embedding.reduced, dims[dim]))
        embedding.reduced.push_back(dims[dim]);
  };
  addReduced(first, embedding.first);
  addReduced(second, embedding.second);
  llvm::sort(embedding.reduced);

  // A kernel that folds spans the whole space; so does a product.
  for (auto [kernel, dims] : {std::pair(&first, &embedding.first),
                              std::pair(&second, &embedding.second)})
    if ((kernel->isFolding() || kernel->isGemm()) && !embedding.isWhole(*dims))
      return std::nullopt;
  // The second's results must still be written once: one per point or per row.
  if (!embedding.isWhole(embedding.second) &&
      !(first.isFolding() && embedding.isPerRow(embedding.second)))
    return std::nullopt;
  // Epilogues of products read and write in the order of their tile.
  if (first.isGemm() || second.isGemm())
    for (auto [kernel, dims] : {std::pair(&first, &embedding.first),
                                std::pair(&second, &embedding.second)}) {
      unsigned count =
          kernel->getNumInputs() + kernel->getOperation()->getNumResults();
      for (unsigned i = 0; i < count; ++i) {
        AffineMap map = kernel->getInputMap(i);
        for (unsigned j = 1; j < map.getNumResults(); ++j)
          if ((*dims)[kern::getEntry(map, j - 1).dim] >
              (*dims)[kern::getEntry(map, j).dim])
            return std::nullopt;
      }
    }
  return embedding;
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

/// `map` of a kernel whose dimensions are `dims`, of `rank`, at the indices
/// there plus `shift`.
static AffineMap remap(AffineMap map, const Dims &dims, const Dims &shift,
                       unsigned rank) {
  SmallVector<kern::MapEntry> entries;
  for (unsigned i = 0; i < map.getNumResults(); ++i) {
    auto [dim, offset] = kern::getEntry(map, i);
    entries.push_back({dims[dim], offset + shift[dim]});
  }
  return kern::getShiftedMap(entries, rank, map.getContext());
}

namespace {
/// Collects inputs, results and the region of a kernel under construction.
class Assembly {
public:
  Assembly(Location loc, unsigned rank)
      : loc(loc), rank(rank), region(std::make_unique<Region>()),
        body(&region->emplaceBlock()) {}

  Value addAccumulator(Type type) { return body->addArgument(type, loc); }

  Value addInput(Value value, AffineMap map) {
    for (auto [index, input] : llvm::enumerate(inputs))
      if (input.first == value && input.second == map)
        return arguments[index];
    Type type = value.getType();
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      type = tensor.getElementType();
    inputs.push_back({value, map});
    arguments.push_back(body->addArgument(type, value.getLoc()));
    return arguments.back();
  }

  /// Copies the region of `kernel`, whose dimensions are `dims` at the indices
  /// there plus `shift`, and returns what it yields. `values` maps those
  /// arguments that are known.
  SmallVector<Value> inlineBody(const Kernel &kernel, const Dims &dims,
                                const Dims &shift, IRMapping &values) {
    for (unsigned i = 0; i < kernel.getNumInputs(); ++i)
      if (!values.contains(kernel.getArgument(i)))
        values.map(kernel.getArgument(i),
                   addInput(kernel.getInput(i),
                            remap(kernel.getInputMap(i), dims, shift, rank)));
    OpBuilder builder(loc.getContext());
    builder.setInsertionPointToEnd(body);
    for (Operation &op : kernel.getBody().without_terminator()) {
      Operation *copy = builder.clone(op, values);
      auto index = dyn_cast<kern::IndexOp>(copy);
      if (!index)
        continue;
      int64_t offset = shift[index.getDim()];
      index.setDim(dims[index.getDim()]);
      if (offset) {
        Value constant = arith::ConstantOp::create(
            builder, index.getLoc(), builder.getI64IntegerAttr(offset));
        values.map(
            op.getResult(0),
            arith::AddIOp::create(builder, index.getLoc(), index, constant));
      }
    }
    SmallVector<Value> yielded;
    for (Value value : kernel.getBody().getTerminator()->getOperands())
      yielded.push_back(values.lookup(value));
    return yielded;
  }

  void addResult(Value value, Type type, AffineMap map) {
    yielded.push_back(value);
    types.push_back(type);
    resultMaps.push_back(map);
  }

  /// Builds the op; `gemm` is the product it contains, or null.
  Operation *build(OpBuilder &builder, ArrayRef<int64_t> bounds,
                   ArrayRef<int64_t> reduced, bool rows, kern::GemmOp gemm) {
    OpBuilder inside(loc.getContext());
    inside.setInsertionPointToEnd(body);
    kern::YieldOp::create(inside, loc, yielded);
    SmallVector<Value> operands;
    SmallVector<AffineMap> maps;
    for (auto [value, map] : inputs) {
      operands.push_back(value);
      maps.push_back(map);
    }
    llvm::append_range(maps, resultMaps);
    ArrayAttr mapsAttr = builder.getAffineMapArrayAttr(maps);
    auto finish = [&](auto op) -> Operation * {
      op.getBody().takeBody(*region);
      return op;
    };
    if (gemm)
      return finish(kern::GemmOp::create(builder, loc, types, gemm.getA(),
                                         gemm.getB(), operands,
                                         gemm.getTransA(), gemm.getTransB(),
                                         mapsAttr, gemm.getScheduleAttr()));
    if (reduced.empty())
      return finish(kern::MapOp::create(builder, loc, types, operands, bounds,
                                        mapsAttr, kern::ScheduleAttr()));
    if (rows)
      return finish(kern::RowsOp::create(builder, loc, types, operands, bounds,
                                         reduced, mapsAttr,
                                         kern::ScheduleAttr()));
    return finish(kern::ColumnsOp::create(builder, loc, types, operands, bounds,
                                          reduced, mapsAttr,
                                          kern::ScheduleAttr()));
  }

private:
  Location loc;
  unsigned rank;
  std::unique_ptr<Region> region;
  Block *body;
  SmallVector<std::pair<Value, AffineMap>> inputs;
  SmallVector<Value> arguments, yielded;
  SmallVector<Type> types;
  SmallVector<AffineMap> resultMaps;
};
} // namespace

Operation *fusion::buildMerged(const Kernel &first, const Kernel &second,
                               const Embedding &embedding,
                               ArrayRef<unsigned> kept) {
  Operation *p = first.getOperation(), *c = second.getOperation();
  OpBuilder builder(c);
  Location loc = builder.getFusedLoc({p->getLoc(), c->getLoc()});
  unsigned rank = embedding.bounds.size();
  Assembly assembly(loc, rank);

  kern::GemmOp gemm = dyn_cast<kern::GemmOp>(p);
  if (!gemm)
    gemm = dyn_cast<kern::GemmOp>(c);
  IRMapping firstValues, secondValues;
  if (gemm) {
    Value acc = gemm.getBody().getArgument(0);
    Value newAcc = assembly.addAccumulator(acc.getType());
    (gemm == p ? firstValues : secondValues).map(acc, newAcc);
  }
  SmallVector<Value> firstYield =
      assembly.inlineBody(first, embedding.first, embedding.shift, firstValues);
  for (auto [input, result] : embedding.links)
    secondValues.map(second.getArgument(input), firstYield[result]);
  Dims none(second.getBounds().size(), 0);
  SmallVector<Value> secondYield =
      assembly.inlineBody(second, embedding.second, none, secondValues);
  for (unsigned result : kept)
    assembly.addResult(firstYield[result], p->getResult(result).getType(),
                       remap(first.getResultMap(result), embedding.first,
                             embedding.shift, rank));
  for (auto [result, value] : llvm::enumerate(secondYield))
    assembly.addResult(
        value, c->getResult(result).getType(),
        remap(second.getResultMap(result), embedding.second, none, rank));
  return assembly.build(builder, embedding.bounds, embedding.reduced,
                        isa<kern::RowsOp>(p) || isa<kern::RowsOp>(c), gemm);
}

Operation *fusion::dropUnused(Operation *op) {
  if (op->use_empty()) {
    op->erase();
    return nullptr;
  }
  // Region ops that nothing uses, from the end.
  Kernel kernel = *Kernel::get(op);
  SmallVector<bool> used;
  for (OpResult result : op->getResults())
    used.push_back(!result.use_empty());
  Operation *yield = kernel.getBody().getTerminator();
  bool allResults = llvm::all_of(used, [](bool b) { return b; });
  if (!allResults) {
    SmallVector<Value> values;
    for (auto [index, value] : llvm::enumerate(yield->getOperands()))
      if (used[index])
        values.push_back(value);
    yield->setOperands(values);
  }
  for (Operation &inner :
       llvm::make_early_inc_range(llvm::reverse(kernel.getBody())))
    if (&inner != yield && inner.use_empty())
      inner.erase();
  bool allInputs = true;
  for (unsigned i = 0; i < kernel.getNumInputs(); ++i)
    allInputs &= !kernel.getArgument(i).use_empty();
  if (allResults && allInputs)
    return op;

  OpBuilder builder(op);
  unsigned rank = kernel.getBounds().size();
  Assembly assembly(op->getLoc(), rank);
  kern::GemmOp gemm = dyn_cast<kern::GemmOp>(op);
  IRMapping values;
  if (gemm) {
    Value acc = gemm.getBody().getArgument(0);
    values.map(acc, assembly.addAccumulator(acc.getType()));
  }
  // Arguments without uses need no value.
  for (unsigned i = 0; i < kernel.getNumInputs(); ++i)
    if (kernel.getArgument(i).use_empty())
      values.map(kernel.getArgument(i), Value());
  Dims dims(llvm::to_vector(llvm::seq<int64_t>(0, rank)));
  SmallVector<Value> yielded =
      assembly.inlineBody(kernel, dims, Dims(rank, 0), values);
  unsigned next = 0;
  for (OpResult result : op->getResults())
    if (used[result.getResultNumber()])
      assembly.addResult(yielded[next++], result.getType(),
                         kernel.getResultMap(result.getResultNumber()));
  Operation *replacement =
      assembly.build(builder, kernel.getBounds(), kernel.getReduced(),
                     isa<kern::RowsOp>(op), gemm);
  next = 0;
  for (OpResult result : op->getResults())
    if (used[result.getResultNumber()])
      result.replaceAllUsesWith(replacement->getResult(next++));
  op->erase();
  return replacement;
}
