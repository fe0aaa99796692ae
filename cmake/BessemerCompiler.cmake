# What the compiler is built with: MLIR, LLVM and helpers for its libraries.

find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})

# Upstream headers that nearly every file reads, compiled once. Ours are left
# out, so that a changed dialect does not recompile them.
add_library(bessemer_pch OBJECT ${CMAKE_SOURCE_DIR}/cmake/pch.cpp)
target_compile_options(bessemer_pch PRIVATE -fpch-preprocess)
target_precompile_headers(bessemer_pch PRIVATE
  <mlir/Bytecode/BytecodeOpInterface.h>
  <mlir/Dialect/Arith/IR/Arith.h>
  <mlir/Dialect/Func/IR/FuncOps.h>
  <mlir/Dialect/Math/IR/Math.h>
  <mlir/Dialect/Tensor/IR/Tensor.h>
  <mlir/IR/Builders.h>
  <mlir/IR/BuiltinOps.h>
  <mlir/IR/SymbolTable.h>
  <mlir/Interfaces/ControlFlowInterfaces.h>
  <mlir/Interfaces/InferTypeOpInterface.h>
  <mlir/Pass/Pass.h>
  <mlir/Pass/PassManager.h>
)

# add_bessemer_library(NAME sources... [DEPENDS targets...]): one stage of the
# compiler, an object library that becomes part of libbessemer_compiler.so.
function(add_bessemer_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  add_library(${name} OBJECT ${ARG_UNPARSED_ARGUMENTS})
  target_compile_options(${name} PRIVATE -fpch-preprocess)
  target_precompile_headers(${name} REUSE_FROM bessemer_pch)
  add_dependencies(${name} bessemer_dialect_headers ${ARG_DEPENDS})
  set_property(GLOBAL APPEND PROPERTY BESSEMER_COMPILER_LIBRARIES ${name})
endfunction()
