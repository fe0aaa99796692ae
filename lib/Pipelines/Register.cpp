// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration of everything the compiler has.

#include "bessemer/Pipelines/Register.h"
#include "bessemer/Dialect/Exec/IR/Exec.h"
#include "bessemer/Dialect/Graph/IR/Graph.h"
#include "bessemer/Dialect/Kern/IR/Kern.h"
#include "bessemer/Fusion/Passes.h"
#include "bessemer/Memory/Passes.h"
#include "bessemer/Raising/Passes.h"
#include "bessemer/Reference/Passes.h"
#include "bessemer/Training/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void bessemer::registerAllDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, func::FuncDialect, math::MathDialect,
                  tensor::TensorDialect, graph::GraphDialect, kern::KernDialect,
                  exec::ExecDialect>();
  graph::registerUpstreamGradients(registry);
}

void bessemer::registerAllPasses() {
  registerCanonicalizerPass();
  registerCSEPass();
  registerSymbolDCEPass();
  registerRaisingPasses();
  registerTrainingPasses();
  registerFusionPasses();
  registerMemoryPasses();
  registerReferencePasses();
  registerFailurePass();
}
