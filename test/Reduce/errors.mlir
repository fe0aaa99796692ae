// What cannot be reduced is said in one line.
// RUN: not bessemer-reduce %s -o %t 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not bessemer-reduce %s -o %t --crashes 2>&1 | FileCheck %s --check-prefix=PIPELINE
// RUN: not bessemer-reduce %s -o %t --crashes --pipeline='builtin.module(cse)' 2>&1 | FileCheck %s --check-prefix=BORING
// RUN: not bessemer-reduce %s -o %t --crashes --pipeline='builtin.module(cse)' --pass-plugin=none.so 2>&1 | FileCheck %s --check-prefix=PLUGIN

// NONE: bessemer-reduce: expected one of --test, --fails-with, --crashes and --differs-at, got 0
// PIPELINE: bessemer-reduce: expected --pipeline with --fails-with, --crashes and --differs-at, and only there
// BORING: bessemer-reduce: {{.*}}errors.mlir: is not interesting: the test does not hold for it
// PLUGIN: bessemer-reduce: plugin 'none.so': cannot be opened

func.func @f() {
  return
}
