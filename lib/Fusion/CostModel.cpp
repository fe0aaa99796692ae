// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What fusion saves and what it costs: bytes moved against work repeated.

#include "CostModel.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::fusion;

/// Work that may be repeated per element instead of one load and one store of
/// it. A cache line's bandwidth is worth a few vector instructions.
static constexpr int64_t cheapWork = 4;
/// Work that may be repeated in each phase of a fold.
static constexpr int64_t phaseWork = 24;
/// Iterations up to which a launch costs more than the kernel.
static constexpr int64_t tinyIterations = 1024;
/// Beyond these a merged kernel only spills registers.
static constexpr unsigned maxBuffers = 32;
static constexpr unsigned maxRegionOps = 256;

static int64_t workOf(Operation &op) {
  if (isa<kern::RandomOp>(op))
    return 60; // ten rounds of two multiplications
  if (isa<math::MathDialect>(op.getDialect())) {
    if (isa<math::AbsFOp, math::AbsIOp, math::CopySignOp, math::FloorOp,
            math::CeilOp, math::FmaOp, math::RoundEvenOp, math::TruncOp>(op))
      return 1;
    return isa<math::SqrtOp, math::RsqrtOp>(op) ? 6 : 20;
  }
  if (isa<arith::DivFOp, arith::DivSIOp, arith::RemSIOp, arith::RemFOp>(op))
    return 4;
  if (isa<arith::ConstantOp, kern::IndexOp, kern::YieldOp>(op))
    return 0;
  return 1;
}

int64_t fusion::workPerIteration(const Kernel &kernel) {
  int64_t work = 0;
  for (Operation &op : kernel.getBody())
    work += workOf(op);
  return work;
}

static int64_t bytesOf(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  if (!tensor)
    return 0;
  return tensor.getNumElements() *
         llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
}

/// Bytes of input `i` that the kernel reads: it may be a part of a tensor.
static int64_t bytesRead(const Kernel &kernel, unsigned i) {
  auto type = dyn_cast<RankedTensorType>(kernel.getInput(i).getType());
  if (!type)
    return 0;
  int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  AffineMap map = kernel.getInputMap(i);
  for (unsigned j = 0; j < map.getNumResults(); ++j) {
    auto [dim, offset] = kern::getEntry(map, j);
    int64_t begin = std::max<int64_t>(offset, 0);
    int64_t end =
        std::min(offset + kernel.getBounds()[dim], type.getDimSize(j));
    bytes *= std::max<int64_t>(end - begin, 0);
  }
  return bytes;
}

static unsigned regionOps(const Kernel &kernel) {
  return std::distance(kernel.getBody().begin(), kernel.getBody().end());
}

static bool fitsOneKernel(const Kernel &first, const Kernel &second) {
  unsigned buffers = first.getNumInputs() + second.getNumInputs() +
                     first.getOperation()->getNumResults() +
                     second.getOperation()->getNumResults();
  return buffers <= maxBuffers &&
         regionOps(first) + regionOps(second) <= maxRegionOps;
}

bool fusion::worthDuplicating(const Kernel &producer) {
  if (!producer.isMap())
    return false;
  bool fromNothing = true;
  int64_t read = 0, written = 0;
  for (unsigned i = 0; i < producer.getNumInputs(); ++i) {
    int64_t bytes = bytesRead(producer, i);
    fromNothing &= !isa<RankedTensorType>(producer.getInput(i).getType());
    read += bytes;
  }
  for (Value result : producer.getOperation()->getResults())
    written += bytesOf(result);
  if (fromNothing)
    return true;
  // A comparison's result is a byte per element, but it has no use of its own:
  // what it compares is nearly always read beside it.
  bool comparison =
      llvm::all_of(producer.getBody().getTerminator()->getOperandTypes(),
                   [](Type type) { return type.isInteger(1); });
  return workPerIteration(producer) <= cheapWork &&
         (read <= written || (comparison && producer.getNumInputs() <= 1));
}

/// Passes over the iteration space that a folding kernel makes: one per fold
/// that depends on the one before, and one more for results that need a fold.
static unsigned countPhases(const Kernel &kernel) {
  llvm::DenseMap<Value, unsigned> phase;
  unsigned last = 0;
  for (Operation &op : kernel.getBody()) {
    unsigned current = 0;
    for (Value operand : op.getOperands())
      current = std::max(current, phase.lookup(operand));
    if (isa<kern::FoldOp>(op))
      ++current;
    for (Value result : op.getResults())
      phase[result] = current;
    last = std::max(last, current);
  }
  bool writesRows = false;
  for (unsigned i = 0; i < kernel.getOperation()->getNumResults(); ++i)
    writesRows |=
        kernel.getResultMap(i).getNumResults() == kernel.getBounds().size();
  return last + (writesRows ? 1 : 0);
}

bool fusion::worthMerging(const Kernel &first, const Kernel &second,
                          const Embedding &embedding) {
  if (!fitsOneKernel(first, second))
    return false;
  if (!embedding.isWhole(embedding.first)) {
    // Once per row costs nothing more; once per element of a larger space does.
    if (!embedding.reduced.empty() && embedding.isPerRow(embedding.first))
      return true;
    return workPerIteration(first) <= cheapWork;
  }
  if (first.isMap() && second.isFolding() && countPhases(second) > 1)
    return workPerIteration(first) <= phaseWork;
  return true;
}

int64_t fusion::bytesSaved(const Kernel &first, const Kernel &second) {
  int64_t bytes = 0;
  llvm::SmallPtrSet<void *, 8> counted;
  for (unsigned j = 0; j < second.getNumInputs(); ++j) {
    Value input = second.getInput(j);
    bool shared = input.getDefiningOp() == first.getOperation();
    for (unsigned i = 0; i < first.getNumInputs(); ++i)
      shared |= first.getInput(i) == input;
    if (shared && counted.insert(input.getAsOpaquePointer()).second)
      bytes += bytesOf(input);
  }
  return bytes;
}

bool fusion::mayPair(const Kernel &first, const Kernel &second) {
  if (first.isGemm() || second.isGemm() ||
      first.isFolding() != second.isFolding() ||
      first.getIterations() != second.getIterations())
    return false;
  if (first.getIterations() <= tinyIterations)
    return true;
  for (unsigned i = 0; i < first.getNumInputs(); ++i)
    for (unsigned j = 0; j < second.getNumInputs(); ++j)
      if (first.getInput(i) == second.getInput(j))
        return true;
  return false;
}

Pairing fusion::worthPairing(const Kernel &first, const Kernel &second,
                             const Embedding &embedding) {
  if (!mayPair(first, second) || !fitsOneKernel(first, second) ||
      !embedding.isWhole(embedding.first) ||
      !embedding.isWhole(embedding.second))
    return Pairing::None;
  // A shared input that spans the space, read at the same place.
  for (unsigned i = 0; i < first.getNumInputs(); ++i)
    for (unsigned j = 0; j < second.getNumInputs(); ++j) {
      AffineMap a = first.getInputMap(i), b = second.getInputMap(j);
      if (first.getInput(i) != second.getInput(j) ||
          a.getNumResults() != embedding.bounds.size() ||
          a.getNumResults() == 0)
        continue;
      bool same = true;
      for (unsigned k = 0; k < a.getNumResults(); ++k) {
        kern::MapEntry p = kern::getEntry(a, k), q = kern::getEntry(b, k);
        same &= embedding.first[p.dim] == embedding.second[q.dim] &&
                p.offset == q.offset;
      }
      if (same)
        return Pairing::SharedInput;
    }
  return first.getIterations() <= tinyIterations ? Pairing::Tiny
                                                 : Pairing::None;
}
