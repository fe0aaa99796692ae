// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Function -> its blocks of tensor code.

#include "Blocks.h"

using namespace mlir;
using namespace bessemer;

SmallVector<Block *> fusion::blocksOf(func::FuncOp function) {
  SmallVector<Block *> blocks;
  function.walk(
      [&](graph::ScanOp scan) { blocks.push_back(&scan.getBlock()); });
  for (Block &block : function.getBody())
    blocks.push_back(&block);
  return blocks;
}
