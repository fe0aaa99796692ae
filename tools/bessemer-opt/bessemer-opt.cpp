// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mlir-opt with Bessemer's dialects and passes.

#include "bessemer/Pipelines/Register.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  bessemer::registerAllDialects(registry);
  bessemer::registerAllPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "Bessemer's optimizer driver\n", registry));
}
