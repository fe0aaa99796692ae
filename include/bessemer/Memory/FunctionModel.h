// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a function of the kern level as a MemoryProblem.

#ifndef BESSEMER_MEMORY_FUNCTIONMODEL_H
#define BESSEMER_MEMORY_FUNCTIONMODEL_H

#include "bessemer/Dialect/Kern/IR/Kern.h"
#include "bessemer/Memory/MemoryProblem.h"
#include "bessemer/Memory/StateLayout.h"
#include "llvm/ADT/DenseMap.h"

namespace bessemer {

/// Bytes of a tensor as it lies in memory (i1 takes a byte).
int64_t byteSize(mlir::RankedTensorType type);

/// The imported model: the source of the other functions, not a program.
inline constexpr llvm::StringLiteral kModelFunction = "model";

/// Bytes of the step block.
inline constexpr int64_t kStepBytes = 64;
/// Where a field lies in the step block.
int64_t stepFieldOffset(graph::StepField field);

/// The memory problem of a function and what its nodes and values are. Values
/// that reshapes make of each other are one value.
struct FunctionModel {
  /// What a value at entry is.
  struct Source {
    enum Kind { Node, Input, Step, StepField, Constant, State };
    Kind kind = Node;
    /// Number among the tensor arguments, byte offset of a step field, or
    /// state.
    int64_t index = 0;
    mlir::ElementsAttr constant;
  };

  MemoryProblem problem;
  /// Per node; null for the copy of a state's old value into another state.
  std::vector<mlir::Operation *> ops;
  /// Per value.
  std::vector<Source> sources;
  llvm::DenseMap<mlir::Value, unsigned> valueIds;

  unsigned idOf(mlir::Value value) const { return valueIds.lookup(value); }

  /// Reports an error at the first op that the level does not have.
  static llvm::FailureOr<FunctionModel> build(mlir::func::FuncOp function,
                                              const StateLayout &states);
};

} // namespace bessemer

#endif // BESSEMER_MEMORY_FUNCTIONMODEL_H
