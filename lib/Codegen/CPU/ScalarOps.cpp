// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of region ops.

#include "ScalarOps.h"
#include "Approximations.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/IR/Constants.h"

using namespace mlir;
using namespace bessemer;
using namespace bessemer::cpu;
using llvm::Intrinsic::ID;

namespace {
/// Emits one op; `a`, `b`, `c` are its operands, of equal shape.
struct ScalarEmitter {
  KernelBuilder &k;
  Operation *op;
  Val a, b, c;

  llvm::Type *resultType() {
    llvm::Type *type = k.valueType(op->getResult(0).getType());
    return KernelBuilder::isVector(a) ? k.vectorOf(type) : type;
  }
  Val constant(double value) { return k.splat(a->getType(), value); }
  Val intrinsic(ID id) {
    Vals operands = {a};
    if (b)
      operands.push_back(b);
    return k.ir.CreateIntrinsic(id, {a->getType()}, operands);
  }
  Val cast(llvm::Instruction::CastOps kind) {
    return a->getType() == resultType()
               ? a
               : k.ir.CreateCast(kind, a, resultType());
  }
  Val binary(llvm::Instruction::BinaryOps kind) {
    return k.ir.CreateBinOp(kind, a, b);
  }
  /// Divides by 1 where the division would trap: by zero (also in lanes that a
  /// mask switches off), or the smallest number by -1.
  Val divide(llvm::Instruction::BinaryOps kind, bool isSigned) {
    llvm::Type *type = a->getType();
    Val bad = k.ir.CreateICmpEQ(b, llvm::Constant::getNullValue(type));
    if (isSigned) {
      auto smallest =
          llvm::APInt::getSignedMinValue(type->getScalarSizeInBits());
      Val overflow = k.ir.CreateAnd(
          k.ir.CreateICmpEQ(b, llvm::Constant::getAllOnesValue(type)),
          k.ir.CreateICmpEQ(a, llvm::ConstantInt::get(type, smallest)));
      bad = k.ir.CreateOr(bad, overflow);
    }
    return k.ir.CreateBinOp(kind, a,
                            k.ir.CreateSelect(bad, k.splatInt(type, 1), b));
  }

  Val emitArith();
  Val emitMath();
  Val emitPower();
  /// Half away from zero.
  Val emitRound();
};
} // namespace

static llvm::CmpInst::Predicate toPredicate(arith::CmpFPredicate predicate) {
  // The enumerations differ in where the unordered test stands.
  if (predicate == arith::CmpFPredicate::UNO)
    return llvm::CmpInst::FCMP_UNO;
  int number = static_cast<int>(predicate);
  bool isUnordered = predicate >= arith::CmpFPredicate::UEQ &&
                     predicate <= arith::CmpFPredicate::UNE;
  return static_cast<llvm::CmpInst::Predicate>(number + isUnordered);
}

static llvm::CmpInst::Predicate toPredicate(arith::CmpIPredicate predicate) {
  using P = llvm::CmpInst;
  static constexpr P::Predicate table[] = {
      P::ICMP_EQ,  P::ICMP_NE,  P::ICMP_SLT, P::ICMP_SLE, P::ICMP_SGT,
      P::ICMP_SGE, P::ICMP_ULT, P::ICMP_ULE, P::ICMP_UGT, P::ICMP_UGE};
  return table[static_cast<int>(predicate)];
}

Val ScalarEmitter::emitArith() {
  using I = llvm::Instruction;
  return TypeSwitch<Operation *, Val>(op)
      .Case([&](arith::AddFOp) { return binary(I::FAdd); })
      .Case([&](arith::SubFOp) { return binary(I::FSub); })
      .Case([&](arith::MulFOp) { return binary(I::FMul); })
      .Case([&](arith::DivFOp) { return binary(I::FDiv); })
      .Case([&](arith::NegFOp) { return k.ir.CreateFNeg(a); })
      .Case([&](arith::MaximumFOp) { return k.maximum(a, b); })
      .Case([&](arith::MinimumFOp) { return k.minimum(a, b); })
      .Case([&](arith::MaxNumFOp) { return k.maxNumber(a, b); })
      .Case([&](arith::MinNumFOp) { return k.minNumber(a, b); })
      .Case([&](arith::AddIOp) { return binary(I::Add); })
      .Case([&](arith::SubIOp) { return binary(I::Sub); })
      .Case([&](arith::MulIOp) { return binary(I::Mul); })
      .Case([&](arith::DivSIOp) { return divide(I::SDiv, true); })
      .Case([&](arith::DivUIOp) { return divide(I::UDiv, false); })
      .Case([&](arith::RemSIOp) { return divide(I::SRem, true); })
      .Case([&](arith::RemUIOp) { return divide(I::URem, false); })
      .Case([&](arith::AndIOp) { return binary(I::And); })
      .Case([&](arith::OrIOp) { return binary(I::Or); })
      .Case([&](arith::XOrIOp) { return binary(I::Xor); })
      .Case([&](arith::ShLIOp) { return binary(I::Shl); })
      .Case([&](arith::ShRSIOp) { return binary(I::AShr); })
      .Case([&](arith::ShRUIOp) { return binary(I::LShr); })
      .Case([&](arith::MaxSIOp) { return intrinsic(llvm::Intrinsic::smax); })
      .Case([&](arith::MinSIOp) { return intrinsic(llvm::Intrinsic::smin); })
      .Case([&](arith::MaxUIOp) { return intrinsic(llvm::Intrinsic::umax); })
      .Case([&](arith::MinUIOp) { return intrinsic(llvm::Intrinsic::umin); })
      .Case([&](arith::CmpFOp cmp) {
        return k.ir.CreateFCmp(toPredicate(cmp.getPredicate()), a, b);
      })
      .Case([&](arith::CmpIOp cmp) {
        return k.ir.CreateICmp(toPredicate(cmp.getPredicate()), a, b);
      })
      .Case([&](arith::SelectOp) { return k.ir.CreateSelect(a, b, c); })
      .Case([&](arith::ExtFOp) { return cast(I::FPExt); })
      .Case([&](arith::TruncFOp) { return cast(I::FPTrunc); })
      .Case([&](arith::ExtSIOp) { return cast(I::SExt); })
      .Case([&](arith::ExtUIOp) { return cast(I::ZExt); })
      .Case([&](arith::TruncIOp) { return cast(I::Trunc); })
      .Case([&](arith::SIToFPOp) { return cast(I::SIToFP); })
      .Case([&](arith::UIToFPOp) { return cast(I::UIToFP); })
      .Case([&](arith::BitcastOp) { return cast(I::BitCast); })
      .Case([&](arith::IndexCastOp) {
        return k.ir.CreateSExtOrTrunc(a, resultType());
      })
      .Case([&](arith::IndexCastUIOp) {
        return k.ir.CreateZExtOrTrunc(a, resultType());
      })
      // Saturating, so that NaN and large values are not undefined.
      .Case([&](arith::FPToSIOp) {
        return Val(k.ir.CreateIntrinsic(llvm::Intrinsic::fptosi_sat,
                                        {resultType(), a->getType()}, {a}));
      })
      .Case([&](arith::FPToUIOp) {
        return Val(k.ir.CreateIntrinsic(llvm::Intrinsic::fptoui_sat,
                                        {resultType(), a->getType()}, {a}));
      })
      .Default([](Operation *) { return Val(); });
}

Val ScalarEmitter::emitRound() {
  // trunc(x + copysign(0.49999997, x)): the largest number below one half, so
  // that the addition cannot round up to the next integer.
  bool isDouble = a->getType()->getScalarType()->isDoubleTy();
  Val almostHalf = constant(isDouble ? 0.49999999999999994 : 0.49999997f);
  Val half = k.ir.CreateIntrinsic(llvm::Intrinsic::copysign, {a->getType()},
                                  {almostHalf, a});
  return k.unary(llvm::Intrinsic::trunc, k.ir.CreateFAdd(a, half));
}

Val ScalarEmitter::emitPower() {
  llvm::Constant *constantPower = llvm::dyn_cast<llvm::Constant>(b);
  if (constantPower && KernelBuilder::isVector(b))
    constantPower = constantPower->getSplatValue();
  if (auto *power = llvm::dyn_cast_or_null<llvm::ConstantFP>(constantPower)) {
    double value = power->getValueAPF().convertToDouble();
    if (value == 1)
      return a;
    if (value == 2)
      return k.ir.CreateFMul(a, a);
    if (value == 3)
      return k.ir.CreateFMul(k.ir.CreateFMul(a, a), a);
    if (value == -1)
      return k.ir.CreateFDiv(constant(1), a);
  }
  return buildPow(k, a, b);
}

Val ScalarEmitter::emitMath() {
  namespace Intrinsic = llvm::Intrinsic;
  auto fabs = [&] { return k.unary(Intrinsic::fabs, a); };
  auto infinity = [&] { return llvm::ConstantFP::getInfinity(a->getType()); };
  return TypeSwitch<Operation *, Val>(op)
      .Case([&](math::ExpOp) { return buildExp(k, a); })
      .Case([&](math::Exp2Op) { return buildPow(k, constant(2), a); })
      .Case([&](math::ExpM1Op) { return buildExpm1(k, a); })
      .Case([&](math::LogOp) { return buildLog(k, a); })
      .Case([&](math::Log1pOp) { return buildLog1p(k, a); })
      .Case([&](math::Log2Op) {
        return k.ir.CreateFMul(buildLog(k, a), constant(1.4426950408889634));
      })
      .Case([&](math::Log10Op) {
        return k.ir.CreateFMul(buildLog(k, a), constant(0.43429448190325183));
      })
      .Case([&](math::TanhOp) { return buildTanh(k, a); })
      .Case([&](math::SinhOp) {
        // With u = e^|x| - 1: (u + u / (u + 1)) / 2, signed; u itself once it
        // is infinite.
        Val u = buildExpm1(k, fabs());
        Val v = k.ir.CreateFAdd(
            u, k.ir.CreateFDiv(u, k.ir.CreateFAdd(u, constant(1))));
        v = k.select(k.ir.CreateFCmpOEQ(u, infinity()), u, v);
        return Val(
            k.ir.CreateIntrinsic(Intrinsic::copysign, {a->getType()},
                                 {k.ir.CreateFMul(constant(0.5), v), a}));
      })
      .Case([&](math::CoshOp) {
        Val e = buildExp(k, fabs());
        return k.ir.CreateFMul(
            constant(0.5), k.ir.CreateFAdd(e, k.ir.CreateFDiv(constant(1), e)));
      })
      .Case([&](math::ErfOp) { return buildErf(k, a); })
      .Case([&](math::SinOp) { return buildSin(k, a); })
      .Case([&](math::CosOp) { return buildCos(k, a); })
      .Case([&](math::TanOp) {
        return k.ir.CreateFDiv(buildSin(k, a), buildCos(k, a));
      })
      .Case([&](math::AtanOp) { return buildAtan(k, a); })
      .Case([&](math::PowFOp) { return emitPower(); })
      .Case([&](math::SqrtOp) { return k.unary(Intrinsic::sqrt, a); })
      .Case([&](math::RsqrtOp) {
        return k.ir.CreateFDiv(constant(1), k.unary(Intrinsic::sqrt, a));
      })
      .Case([&](math::FmaOp) { return k.fma(a, b, c); })
      .Case([&](math::AbsFOp) { return fabs(); })
      .Case([&](math::AbsIOp) {
        return Val(k.ir.CreateIntrinsic(Intrinsic::abs, {a->getType()},
                                        {a, k.ir.getFalse()}));
      })
      .Case([&](math::CeilOp) { return k.unary(Intrinsic::ceil, a); })
      .Case([&](math::FloorOp) { return k.unary(Intrinsic::floor, a); })
      .Case([&](math::TruncOp) { return k.unary(Intrinsic::trunc, a); })
      .Case([&](math::RoundEvenOp) { return k.unary(Intrinsic::roundeven, a); })
      .Case([&](math::RoundOp) { return emitRound(); })
      .Case([&](math::CopySignOp) { return intrinsic(Intrinsic::copysign); })
      .Case([&](math::IsNaNOp) { return k.ir.CreateFCmpUNO(a, a); })
      .Case(
          [&](math::IsInfOp) { return k.ir.CreateFCmpOEQ(fabs(), infinity()); })
      .Case([&](math::IsFiniteOp) {
        return k.ir.CreateFCmpOLT(fabs(), infinity());
      })
      .Default([](Operation *) { return Val(); });
}

bool bessemer::cpu::isScalarOpSupported(Operation *op) {
  // The ops of emitArith and emitMath.
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
             arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp,
             arith::MaxNumFOp, arith::MinNumFOp, arith::AddIOp, arith::SubIOp,
             arith::MulIOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp,
             arith::RemUIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp,
             arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp, arith::MaxSIOp,
             arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp, arith::CmpFOp,
             arith::CmpIOp, arith::SelectOp, arith::ExtFOp, arith::TruncFOp,
             arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::SIToFPOp,
             arith::UIToFPOp, arith::BitcastOp, arith::IndexCastOp,
             arith::IndexCastUIOp, arith::FPToSIOp, arith::FPToUIOp>(op) ||
         isa<math::ExpOp, math::Exp2Op, math::ExpM1Op, math::LogOp,
             math::Log1pOp, math::Log2Op, math::Log10Op, math::TanhOp,
             math::SinhOp, math::CoshOp, math::ErfOp, math::SinOp, math::CosOp,
             math::TanOp, math::AtanOp, math::PowFOp, math::SqrtOp,
             math::RsqrtOp, math::FmaOp, math::AbsFOp, math::AbsIOp,
             math::CeilOp, math::FloorOp, math::TruncOp, math::RoundEvenOp,
             math::RoundOp, math::CopySignOp, math::IsNaNOp, math::IsInfOp,
             math::IsFiniteOp>(op);
}

static Val emitConstant(KernelBuilder &k, arith::ConstantOp op) {
  llvm::Type *type = k.valueType(op.getType());
  if (auto value = dyn_cast<FloatAttr>(op.getValue()))
    return llvm::ConstantFP::get(type, value.getValue());
  return llvm::ConstantInt::get(type,
                                cast<IntegerAttr>(op.getValue()).getValue());
}

// Philox4x32-10 with every 32-bit word in the low half of 64 bits, where a
// product is one instruction per half vector.
Val bessemer::cpu::emitRandom(KernelBuilder &k, Val step, Val element,
                              uint64_t id, llvm::Type *result) {
  llvm::IRBuilder<> &ir = k.ir;
  llvm::Type *type = element->getType();
  auto word = [&](uint64_t value) { return k.splatInt(type, value); };
  auto same = [&](Val scalar) {
    return KernelBuilder::isVector(element) ? k.broadcast(scalar) : scalar;
  };
  Val low = word(0xffffffff), shift = word(32);
  Val stepNumber = same(k.load(ir.getInt64Ty(), step));
  Val seed = same(
      k.load(ir.getInt64Ty(), k.address(step, ir.getInt64Ty(), int64_t(1))));
  Val key0 = ir.CreateXor(ir.CreateAnd(seed, low), word(uint32_t(id)));
  Val key1 = ir.CreateLShr(seed, shift);
  Val c0 = ir.CreateAnd(element, low), c1 = ir.CreateLShr(element, shift);
  Val c2 = ir.CreateAnd(stepNumber, low), c3 = ir.CreateLShr(stepNumber, shift);
  for (int round = 0; round < 10; ++round) {
    Val first = ir.CreateMul(c0, word(0xD2511F53));
    Val second = ir.CreateMul(c2, word(0xCD9E8D57));
    c0 = ir.CreateXor(ir.CreateXor(ir.CreateLShr(second, shift), c1), key0);
    c2 = ir.CreateXor(ir.CreateXor(ir.CreateLShr(first, shift), c3), key1);
    c1 = ir.CreateAnd(second, low);
    c3 = ir.CreateAnd(first, low);
    key0 = ir.CreateAnd(ir.CreateAdd(key0, word(0x9E3779B9)), low);
    key1 = ir.CreateAnd(ir.CreateAdd(key1, word(0xBB67AE85)), low);
  }
  llvm::Type *i32 = ir.getInt32Ty();
  if (KernelBuilder::isVector(element)) {
    result = k.vectorOf(result);
    i32 = k.vectorOf(i32);
  }
  // 24 bits: exact in f32.
  Val bits = ir.CreateTrunc(ir.CreateLShr(c0, word(8)), i32);
  return ir.CreateFMul(ir.CreateSIToFP(bits, result), k.splat(result, 0x1p-24));
}

Val bessemer::cpu::emitScalarOp(KernelBuilder &k, Operation *op,
                                ArrayRef<Val> operands) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return emitConstant(k, constant);
  if (auto random = dyn_cast<kern::RandomOp>(op))
    return emitRandom(k, operands[0], operands[1], random.getId(),
                      k.valueType(random.getType()));
  Vals equal(operands);
  if (llvm::any_of(equal, KernelBuilder::isVector))
    for (Val &operand : equal)
      operand = k.broadcast(operand);
  equal.resize(3);
  ScalarEmitter emitter{k, op, equal[0], equal[1], equal[2]};
  Val result = isa<math::MathDialect>(op->getDialect()) ? emitter.emitMath()
                                                        : emitter.emitArith();
  assert(result && "expected verifyRegion to have refused the op");
  return result;
}

Val bessemer::cpu::emitFold(KernelBuilder &k, kern::FoldKind kind, Val a,
                            Val b) {
  bool isFloat = a->getType()->isFPOrFPVectorTy();
  switch (kind) {
  case kern::FoldKind::Sum:
    return isFloat ? k.ir.CreateFAdd(a, b) : k.ir.CreateAdd(a, b);
  case kern::FoldKind::Product:
    return isFloat ? k.ir.CreateFMul(a, b) : k.ir.CreateMul(a, b);
  case kern::FoldKind::Max:
    return isFloat ? k.maximum(a, b)
                   : k.ir.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b);
  case kern::FoldKind::Min:
    return isFloat ? k.minimum(a, b)
                   : k.ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
  }
  llvm_unreachable("all fold kinds handled");
}

Val bessemer::cpu::foldIdentity(KernelBuilder &k, kern::FoldKind kind,
                                llvm::Type *type) {
  bool isFloat = type->isFPOrFPVectorTy();
  switch (kind) {
  case kern::FoldKind::Sum:
    // x + -0.0 is x, also for -0.0.
    return isFloat ? k.splat(type, -0.0) : k.splatInt(type, 0);
  case kern::FoldKind::Product:
    return isFloat ? k.splat(type, 1) : k.splatInt(type, 1);
  case kern::FoldKind::Max:
  case kern::FoldKind::Min: {
    bool isMax = kind == kern::FoldKind::Max;
    if (isFloat)
      return llvm::ConstantFP::getInfinity(type, /*Negative=*/isMax);
    unsigned bits = type->getScalarSizeInBits();
    return llvm::ConstantInt::get(type,
                                  isMax ? llvm::APInt::getSignedMinValue(bits)
                                        : llvm::APInt::getSignedMaxValue(bits));
  }
  }
  llvm_unreachable("all fold kinds handled");
}
