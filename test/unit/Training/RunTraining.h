// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes of the Training stage on a module.

#ifndef BESSEMER_TEST_UNIT_TRAINING_RUNTRAINING_H
#define BESSEMER_TEST_UNIT_TRAINING_RUNTRAINING_H

#include "bessemer/Training/Passes.h"
#include "mlir/Pass/PassManager.h"

namespace bessemer::test {

inline llvm::LogicalResult runTraining(mlir::ModuleOp module,
                                       const TrainingOptions &options) {
  mlir::PassManager manager(module.getContext());
  buildTrainingPipeline(manager, options);
  return manager.run(module);
}

} // namespace bessemer::test

#endif // BESSEMER_TEST_UNIT_TRAINING_RUNTRAINING_H
