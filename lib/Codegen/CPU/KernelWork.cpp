// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much work a kernel is, roughly: enough to tell a microsecond from more.

#include "bessemer/Codegen/CPU/Codegen.h"
#include "bessemer/Dialect/Kern/IR/Kern.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace bessemer;

/// Multiply-adds of a product in a microsecond of one core.
static constexpr int64_t kProductWork = 50'000;
/// Simple operations and loads of elements in the same time.
static constexpr int64_t kElementWork = 32'000;

/// Simple operations that an op of a region stands for.
static int64_t workOf(Operation &op) {
  if (isa<kern::RandomOp>(op))
    return 60;
  if (isa<math::MathDialect>(op.getDialect()))
    return 16;
  if (isa<arith::DivFOp, arith::DivSIOp, arith::RemSIOp, arith::RemFOp>(op))
    return 4;
  return isa<arith::ConstantOp>(op) ? 0 : 1;
}

static int64_t regionWork(Region &region) {
  int64_t work = 0;
  for (Operation &op : region.front())
    work += workOf(op);
  return work;
}

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

bool bessemer::cpu::isSmallKernel(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<kern::MapOp, kern::RowsOp, kern::ColumnsOp>([](auto kernel) {
        int64_t perElement = regionWork(kernel.getBody()) +
                             kernel->getNumOperands() + kernel->getNumResults();
        return product(kernel.getBounds()) * perElement < kElementWork;
      })
      .Case([](kern::GemmOp gemm) {
        return product(gemm.getBounds()) * gemm.getK() < kProductWork;
      })
      .Default([](Operation *) { return false; });
}
