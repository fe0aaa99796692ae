// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Optimizers: a new one is a file with an implementation of `Optimizer`, and a
// line in makeOptimizer.

#ifndef BESSEMER_LIB_TRAINING_OPTIMIZERS_H
#define BESSEMER_LIB_TRAINING_OPTIMIZERS_H

#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "bessemer/Training/TrainingOptions.h"
#include <memory>

namespace bessemer::training {

/// What all parameters of one update share; rank-0 tensors.
struct UpdateScalars {
  mlir::Value learningRate;  // f32
  mlir::Value gradientScale; // f32
  mlir::Value updates;       // i64, updates applied before this one
};

class Optimizer {
public:
  virtual ~Optimizer() = default;

  /// Prefixes of the states kept for each parameter: "adamw.exp_avg". All have
  /// the parameter's type and start at 0.
  virtual llvm::SmallVector<llvm::StringRef> getMoments() const = 0;

  /// Builds what is computed once for all parameters.
  virtual void begin(mlir::OpBuilder &builder, mlir::Location loc,
                     const UpdateScalars &scalars) = 0;

  /// Builds the update of one parameter and returns its new value, then the
  /// new moments. `touched` are the indices that look up all of a table that
  /// is updated lazily, else none.
  virtual llvm::SmallVector<mlir::Value>
  build(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value parameter,
        mlir::Value gradient, llvm::ArrayRef<mlir::Value> moments,
        llvm::ArrayRef<mlir::Value> touched) = 0;
};

std::unique_ptr<Optimizer> makeSgd(const OptimizerOptions &options);
std::unique_ptr<Optimizer> makeAdamW(const OptimizerOptions &options);

} // namespace bessemer::training

#endif // BESSEMER_LIB_TRAINING_OPTIMIZERS_H
