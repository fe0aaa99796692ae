// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference evaluator: what graph and kern functions mean, slow and
// obvious. Composites are computed by their formula; kern ops through their
// expansion to graph ops. Every test of the compiler leans on it, and it leans
// on the ONNX reference evaluator and on PyTorch.

#ifndef BESSEMER_REFERENCE_EVALUATOR_H
#define BESSEMER_REFERENCE_EVALUATOR_H

#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "bessemer/Reference/Tensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <functional>
#include <map>
#include <string>

namespace bessemer::reference {

/// What a step is given besides its inputs.
struct StepBlock {
  uint64_t step = 0;
  uint64_t seed = 0;
  float learningRate = 0.0f;
  int64_t validRows = 0;
};

/// States by symbol name.
using States = std::map<std::string, Tensor>;

class Memo;

struct EvaluatorOptions {
  /// Round every float result to its type. Without it floats stay double and
  /// only casts round.
  bool round = false;
  /// Results of earlier evaluations in this context, used and added to; may be
  /// null.
  Memo *memo = nullptr;
  /// Called with the value of every op result, in order; may be empty. A kern
  /// op is one op: what it expands to is not seen.
  std::function<void(mlir::Value, const Tensor &)> onValue = nullptr;
};

/// What a function returned and wrote.
struct Outcome {
  std::vector<Tensor> results;
  /// New values of the states that were written.
  States written;
};

/// The initial values of the states of a module, as functions have them;
/// failure (with a diagnostic) when an initial value is not available.
llvm::FailureOr<States> initialStates(mlir::ModuleOp module);

/// A row-major value of a state as functions have it, in the state's layout,
/// and back.
Tensor layOut(graph::StateOp state, const Tensor &rowMajor);
Tensor toRowMajor(graph::StateOp state, const Tensor &value);

/// Evaluates a function of the graph or kern level. `inputs` has one tensor per
/// argument but the step block. Reports an op that it cannot evaluate, a
/// missing state or an input of another type, and fails.
llvm::FailureOr<Outcome> evaluate(mlir::func::FuncOp function,
                                  llvm::ArrayRef<Tensor> inputs,
                                  const States &states,
                                  const StepBlock &step = {},
                                  const EvaluatorOptions &options = {});

} // namespace bessemer::reference

#endif // BESSEMER_REFERENCE_EVALUATOR_H
