// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel families: each plans its tiles and emits its code.

#ifndef BESSEMER_LIB_CODEGEN_CPU_FAMILIES_H
#define BESSEMER_LIB_CODEGEN_CPU_FAMILIES_H

#include "KernelBuilder.h"
#include "bessemer/Dialect/Kern/IR/Kern.h"
#include <functional>

namespace bessemer::cpu {

/// How a kernel runs on one target.
struct KernelPlan {
  int64_t tiles = 0;
  /// Per thread.
  uint64_t scratchBytes = 0;
  /// Emits the body of the kernel.
  std::function<void(KernelBuilder &)> emit;
};

KernelPlan planMap(kern::MapOp op, const CPUTarget &target);
KernelPlan planRows(kern::RowsOp op, const CPUTarget &target);
KernelPlan planColumns(kern::ColumnsOp op, const CPUTarget &target);
KernelPlan planGemm(kern::GemmOp op, const CPUTarget &target);
KernelPlan planAttention(kern::AttentionOp op, const CPUTarget &target);
KernelPlan planAttentionGrad(kern::AttentionGradOp op, const CPUTarget &target);
KernelPlan planWindow(kern::WindowOp op, const CPUTarget &target);
/// A window op on images in blocks of channels.
KernelPlan planBlockedWindow(kern::WindowOp op, const CPUTarget &target);
KernelPlan planUpdate(kern::UpdateOp op, const CPUTarget &target);
KernelPlan planNorm(kern::NormOp op, const CPUTarget &target);
KernelPlan planGather(kern::GatherOp op, const CPUTarget &target);
KernelPlan planScatter(kern::ScatterOp op, const CPUTarget &target);
KernelPlan planTableUpdate(kern::TableUpdateOp op, const CPUTarget &target);

/// The plan of any kern op; no tiles for a library call.
KernelPlan planKernel(mlir::Operation *op, const CPUTarget &target);

/// Elements that a tile of a streaming kernel covers, about: 32 KiB of f32, far
/// more work than claiming the tile, and enough tiles to share.
inline constexpr int64_t kTileElements = 8192;

/// Vectors per iteration of a streaming loop whose body has `cost` ops: enough
/// to hide latencies, without swelling the code.
inline unsigned chooseUnroll(unsigned cost) {
  return cost <= 8 ? 4 : cost <= 40 ? 2 : 1;
}

} // namespace bessemer::cpu

#endif // BESSEMER_LIB_CODEGEN_CPU_FAMILIES_H
