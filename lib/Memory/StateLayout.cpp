// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state arena: states one after the other.

#include "bessemer/Memory/StateLayout.h"
#include "bessemer/Memory/FunctionModel.h"
#include "bessemer/Memory/OffsetPacking.h"

using namespace bessemer;

StateLayout::StateLayout(mlir::ModuleOp module) {
  for (auto state : module.getOps<graph::StateOp>()) {
    int64_t size =
        byteSize(mlir::cast<mlir::RankedTensorType>(state.getType()));
    numbers[state.getSymName()] = int(entries.size());
    entries.push_back({state, bytes, size});
    bytes += alignBuffer(size);
  }
}

int StateLayout::find(llvm::StringRef name) const {
  auto found = numbers.find(name);
  return found == numbers.end() ? -1 : found->second;
}
