// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Carries the precompiled header of the compiler's libraries: reading MLIR's
// headers takes longer than compiling most of our files.
