// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a function of the kern level as a MemoryProblem.

#ifndef BESSEMER_MEMORY_FUNCTIONMODEL_H
#define BESSEMER_MEMORY_FUNCTIONMODEL_H

#include "bessemer/Dialect/Kern/IR/Kern.h"
#include "bessemer/Memory/Liveness.h"
#include "bessemer/Memory/StateLayout.h"
#include "llvm/ADT/DenseMap.h"
#include <map>

namespace bessemer {

/// Bytes of a tensor as it lies in memory (i1 takes a byte).
int64_t byteSize(mlir::RankedTensorType type);

/// The imported model: the source of the other functions, not a program.
inline constexpr llvm::StringLiteral kModelFunction = "model";

/// Bytes of the step block.
inline constexpr int64_t kStepBytes = 64;
/// Where a field lies in the step block.
int64_t stepFieldOffset(graph::StepField field);

struct LoopModel;

/// The memory problem of a function, or of the body of a loop, and what its
/// nodes and values are. Values that reshapes make of each other are one value.
///
/// In the problem of a body the carried values are states: it finds their old
/// value at entry and leaves the new one. Its outputs are the step's outputs.
struct FunctionModel {
  /// What a value at entry is.
  struct Source {
    enum Kind {
      Node,
      Input,
      Step,
      StepField,
      Constant,
      State,
      /// In a body: a value of the enclosing model.
      Outer,
      /// In a body: the step's element of a value of the enclosing model.
      Element
    };
    Kind kind = Node;
    /// Number among the tensor arguments, byte offset of a step field, state,
    /// or value of the enclosing model.
    int64_t index = 0;
    mlir::ElementsAttr constant;
  };

  MemoryProblem problem;
  /// Per node; null for the copy of a state's old value into another state.
  std::vector<mlir::Operation *> ops;
  /// Per value.
  std::vector<Source> sources;
  llvm::DenseMap<mlir::Value, unsigned> valueIds;
  /// In a body: the value that each carried value becomes.
  std::vector<unsigned> newCarried;
  /// By node.
  std::map<unsigned, LoopModel> loops;

  unsigned idOf(mlir::Value value) const { return valueIds.lookup(value); }

  /// Reports an error at the first op that the level does not have.
  static llvm::FailureOr<FunctionModel> build(mlir::func::FuncOp function,
                                              const StateLayout &states);
};

/// A graph.scan as a node: its operands are the inits that are no constants,
/// the sequences and the invariants; its results the final values, which the
/// body works on in place, the stacked outputs, and the memory of the body's
/// temporaries, used by nobody else.
struct LoopModel {
  graph::ScanOp op;
  FunctionModel body;
  /// The body in program order.
  StoragePlan plan;
  OffsetPacking packing;

  /// What the carried values start from: a value of the enclosing model, or
  /// one element everywhere.
  struct Init {
    std::optional<unsigned> value;
    mlir::SplatElementsAttr splat;
  };
  std::vector<Init> inits;
  /// Values of the enclosing model.
  std::vector<unsigned> finals, outputs;
  std::optional<unsigned> workspace;
};

/// Reads the body of a scan alone, for ordering it.
llvm::FailureOr<FunctionModel> buildBodyModel(graph::ScanOp scan,
                                              const StateLayout &states);

} // namespace bessemer

#endif // BESSEMER_MEMORY_FUNCTIONMODEL_H
