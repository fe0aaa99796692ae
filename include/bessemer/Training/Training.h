// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the imported model to the functions that train it. Each step is a
// function here and a pass of the same purpose in Passes.td.

#ifndef BESSEMER_TRAINING_TRAINING_H
#define BESSEMER_TRAINING_TRAINING_H

#include "bessemer/Training/TrainingOptions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace bessemer {

/// Module attribute: who wrote the model ("pytorch").
inline constexpr llvm::StringLiteral kProducerAttr = "graph.producer";
/// Result attribute of `@train_step` between the passes: the state whose
/// gradient the result is.
inline constexpr llvm::StringLiteral kGradientAttr = "graph.gradient";

/// Result attribute of `@train_step` until accumulation: the number that the
/// sum of the batch's losses is divided by.
inline constexpr llvm::StringLiteral kLossCountAttr = "graph.loss_count";

/// Replaces `@model` by `@predict`, `@eval_step` and `@train_step`; the last
/// has the forward pass and the loss in training mode and the writes of running
/// statistics, but no gradients yet.
llvm::LogicalResult buildFunctions(mlir::ModuleOp module,
                                   const TrainingOptions &options);

/// Appends to the results of `@train_step` the gradient of its first result
/// with respect to every trainable state that the result depends on, marked
/// with kGradientAttr, in the order of the states.
llvm::LogicalResult differentiate(mlir::ModuleOp module);

/// Makes `@train_step` a loop over `count` micro-batches of the size that it
/// has now: its inputs grow, losses and gradients are summed, running
/// statistics are updated by one micro-batch after the other. The sum of the
/// losses is divided by the number of the whole batch.
llvm::LogicalResult accumulateGradients(mlir::ModuleOp module, int64_t count);

/// Turns the gradients that `@train_step` returns into an optimizer step:
/// clipping, moments, counters and the writes of all of them.
llvm::LogicalResult buildUpdate(mlir::ModuleOp module,
                                const TrainingOptions &options);

/// Checks what must hold at the end of the graph level: the functions, their
/// signatures, and that nothing is left of what earlier steps replace.
llvm::LogicalResult verifyGraphLevel(mlir::ModuleOp module);

/// Replaces `@model` by `@predict` alone, for a model that is not trained.
llvm::LogicalResult buildInferenceFunctions(mlir::ModuleOp module);

} // namespace bessemer

#endif // BESSEMER_TRAINING_TRAINING_H
