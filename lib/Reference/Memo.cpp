// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results of costly ops, by what they were computed from.

#include "bessemer/Reference/Memo.h"
#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::reference;

/// More than one training step of the models that are evaluated needs.
static constexpr int64_t room = int64_t(1) << 30;

static int64_t bytesOf(const std::vector<Tensor> &tensors) {
  int64_t bytes = 0;
  for (const Tensor &tensor : tensors)
    bytes += tensor.size() * static_cast<int64_t>(sizeof(double));
  return bytes;
}

bool Memo::isCostly(Operation *op) {
  return isa<graph::ContractOp, graph::ConvOp, graph::ConvInputGradOp,
             graph::ConvWeightGradOp, graph::PoolOp, graph::MaxPoolGradOp,
             graph::AveragePoolGradOp>(op);
}

Memo::Key Memo::keyOf(Operation *op, ArrayRef<const Tensor *> operands) {
  auto address = [](const void *pointer) {
    return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(pointer));
  };
  // Names, attributes and types are unique in their context.
  Key key{address(op->getName().getAsOpaquePointer()),
          address(op->getAttrDictionary().getAsOpaquePointer())};
  for (Type type : op->getResultTypes())
    key.push_back(address(type.getAsOpaquePointer()));
  for (const Tensor *tensor : operands) {
    key.push_back(address(tensor->type.getAsOpaquePointer()));
    ArrayRef<uint8_t> bytes =
        tensor->isFloat()
            ? ArrayRef(reinterpret_cast<const uint8_t *>(tensor->floats.data()),
                       tensor->floats.size() * sizeof(double))
            : ArrayRef(
                  reinterpret_cast<const uint8_t *>(tensor->integers.data()),
                  tensor->integers.size() * sizeof(int64_t));
    llvm::XXH128_hash_t hash = llvm::xxh3_128bits(bytes);
    key.push_back(hash.low64);
    key.push_back(hash.high64);
  }
  return key;
}

const std::vector<Tensor> *Memo::find(const Key &key) {
  auto found = entries.find(key);
  if (found == entries.end())
    return nullptr;
  found->second.lastUse = ++clock;
  return &found->second.results;
}

void Memo::insert(Key key, const std::vector<Tensor> &results) {
  auto [entry, isNew] =
      entries.try_emplace(std::move(key), Entry{results, ++clock});
  if (!isNew)
    return;
  bytes += bytesOf(results);
  if (bytes > room)
    shrink();
}

void Memo::shrink() {
  std::vector<std::map<Key, Entry>::iterator> oldest;
  for (auto it = entries.begin(); it != entries.end(); ++it)
    oldest.push_back(it);
  llvm::sort(oldest, [](auto a, auto b) {
    return a->second.lastUse < b->second.lastUse;
  });
  for (auto it : oldest) {
    if (bytes <= room / 2)
      return;
    bytes -= bytesOf(it->second.results);
    entries.erase(it);
  }
}
