// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scopes of region values, and the check that a region can be compiled. The
// ops themselves: ScalarOps.cpp.

#include "RegionEmitter.h"
#include "ScalarOps.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::cpu;

bool bessemer::cpu::isSupportedType(Type type) {
  if (isa<graph::StepType>(type) || type.isF32() || type.isF64() ||
      type.isIndex())
    return true;
  auto integer = dyn_cast<IntegerType>(type);
  return integer &&
         llvm::is_contained({1u, 8u, 16u, 32u, 64u}, integer.getWidth());
}

LogicalResult bessemer::cpu::verifyRegion(Block &body) {
  Operation *parent = body.getParentOp();
  for (BlockArgument argument : body.getArguments())
    if (!isSupportedType(argument.getType()))
      return parent->emitError(
                 "cpu kernel: expected elements of f32, f64 or an "
                 "integer type, got ")
             << argument.getType();
  for (Operation &op : body) {
    if (isa<kern::YieldOp>(op))
      continue;
    if (!isa<kern::FoldOp, kern::IndexOp, kern::RandomOp, arith::ConstantOp>(
            op) &&
        !isScalarOpSupported(&op))
      return op.emitError("cpu kernel: unsupported op '")
             << op.getName() << "' in the region";
    for (Type type : op.getResultTypes())
      if (!isSupportedType(type))
        return op.emitError("cpu kernel: unsupported type ") << type;
  }
  return success();
}

unsigned bessemer::cpu::countRegionOps(Block &body) {
  unsigned count = 0;
  for (Operation &op : body)
    if (!isa<kern::YieldOp, arith::ConstantOp>(op))
      count += isa<kern::RandomOp>(op) ? 100 : isExpensive(&op) ? 12 : 1;
  return count;
}

bool bessemer::cpu::isExpensive(Operation *op) {
  if (isa<kern::RandomOp, arith::DivFOp, arith::RemFOp, arith::DivSIOp,
          arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op))
    return true;
  return isa<math::MathDialect>(op->getDialect()) &&
         !isa<math::AbsFOp, math::AbsIOp, math::FmaOp, math::CopySignOp,
              math::IsNaNOp, math::IsInfOp, math::IsFiniteOp, math::FloorOp,
              math::CeilOp, math::TruncOp, math::RoundEvenOp>(op);
}

Val RegionEmitter::lookup(Value value) const {
  for (const RegionEmitter *scope = this; scope; scope = scope->parent)
    if (Val known = scope->values.lookup(value))
      return known;
  return nullptr;
}

Val RegionEmitter::get(Value value) {
  if (Val known = lookup(value))
    return known;
  Operation *op = value.getDefiningOp();
  assert(op && !isa<kern::FoldOp>(op) && "expected a bound value");
  Vals operands;
  for (Value operand : op->getOperands())
    operands.push_back(get(operand));
  Val result = emitScalarOp(k, op, operands);
  values[value] = result;
  return result;
}

void RegionEmitter::evaluateKnown() {
  for (Operation &op : body) {
    if (isa<kern::YieldOp, kern::FoldOp, kern::IndexOp>(op))
      continue;
    if (llvm::all_of(op.getOperands(),
                     [&](Value operand) { return isKnown(operand); }))
      get(op.getResult(0));
  }
}
