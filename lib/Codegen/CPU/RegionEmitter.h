// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates the scalar region of a kern op on LLVM values, each a scalar or a
// vector. Evaluation is by demand, so that a pass over the data computes only
// what it needs.

#ifndef BESSEMER_LIB_CODEGEN_CPU_REGIONEMITTER_H
#define BESSEMER_LIB_CODEGEN_CPU_REGIONEMITTER_H

#include "KernelBuilder.h"
#include "bessemer/Dialect/Kern/IR/Kern.h"

namespace bessemer::cpu {

/// Whether values of the type can be computed with.
bool isSupportedType(mlir::Type type);

/// Whether all ops and types of the region can be compiled; emits an error at
/// the first that cannot.
mlir::LogicalResult verifyRegion(mlir::Block &body);

/// Number of region ops that cost arithmetic (not constants or yields).
unsigned countRegionOps(mlir::Block &body);

/// Whether an op costs more than a reload of its result: divisions, functions.
bool isExpensive(mlir::Operation *op);

/// A scope of values. An inner scope (the body of a loop) sees what its parent
/// knows, also what the parent learns later; what it adds itself stays inside.
class RegionEmitter {
public:
  RegionEmitter(KernelBuilder &k, mlir::Block &body) : k(k), body(body) {}
  explicit RegionEmitter(const RegionEmitter *parent)
      : k(parent->k), body(parent->body), parent(parent) {}

  void bind(mlir::Value value, Val emitted) { values[value] = emitted; }
  bool isKnown(mlir::Value value) const { return lookup(value) != nullptr; }
  /// The value, evaluated here if it is not known. Block arguments, folds and
  /// indices must be bound.
  Val get(mlir::Value value);
  /// Evaluates all ops whose operands are known: called before a loop, it keeps
  /// them out of it.
  void evaluateKnown();
  mlir::Block &getBody() const { return body; }

private:
  Val lookup(mlir::Value value) const;

  KernelBuilder &k;
  mlir::Block &body;
  const RegionEmitter *parent = nullptr;
  llvm::DenseMap<mlir::Value, Val> values;
};

} // namespace bessemer::cpu

#endif // BESSEMER_LIB_CODEGEN_CPU_REGIONEMITTER_H
