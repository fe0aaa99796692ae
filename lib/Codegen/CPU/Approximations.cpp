// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f32 functions, and the choice between them and the f64 ones.

#include "Approximations.h"
#include "DoubleFunctions.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IntrinsicsX86.h"

using namespace bessemer::cpu;

static bool isDouble(Val x) {
  return x->getType()->getScalarType()->isDoubleTy();
}

/// Evaluates an f32 function through its f64 form.
static Val throughDouble(KernelBuilder &k, Val x,
                         llvm::function_ref<Val(Val)> function) {
  llvm::Type *wide = k.ir.getDoubleTy();
  Val result = function(k.ir.CreateFPExt(
      x, KernelBuilder::isVector(x) ? k.vectorOf(wide) : wide));
  return k.ir.CreateFPTrunc(result, x->getType());
}

/// Horner's scheme, highest coefficient first.
static Val polynomial(KernelBuilder &k, Val x, llvm::ArrayRef<double> c) {
  Val result = k.splat(x->getType(), c[0]);
  for (double coefficient : c.drop_front())
    result = k.fma(result, x, k.splat(x->getType(), coefficient));
  return result;
}

static Val clamp(KernelBuilder &k, Val x, double lo, double hi) {
  x = k.maxKeepFirst(x, k.splat(x->getType(), lo));
  return k.minKeepFirst(x, k.splat(x->getType(), hi));
}

/// p * 2^n for |n| up to 254, with gradual underflow and overflow.
static Val scaleByPower(KernelBuilder &k, Val p, Val n, Val nBits) {
  llvm::Type *type = p->getType();
  if (k.lanes() == 16 && KernelBuilder::isVector(p)) {
    Val ones = llvm::ConstantInt::get(k.ir.getInt16Ty(), 0xffff);
    return k.ir.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512,
                                {},
                                {p, n, llvm::Constant::getNullValue(type), ones,
                                 k.ir.getInt32(4 /* current rounding */)});
  }
  // In two factors, because 2^n itself may not be representable.
  llvm::Type *bits = nBits->getType();
  Val half = k.ir.CreateAShr(nBits, k.splatInt(bits, 1));
  Val rest = k.ir.CreateSub(nBits, half);
  auto power = [&](Val exponent) {
    Val biased = k.ir.CreateAdd(exponent, k.splatInt(bits, 127));
    return k.ir.CreateBitCast(k.ir.CreateShl(biased, k.splatInt(bits, 23)),
                              type);
  };
  return k.ir.CreateFMul(k.ir.CreateFMul(p, power(half)), power(rest));
}

Val bessemer::cpu::buildExp(KernelBuilder &k, Val x) {
  if (isDouble(x))
    return buildExp64(k, x);
  llvm::Type *type = x->getType();
  // exp(-104) rounds to 0 and exp(89) to infinity. The clamps keep NaN.
  x = clamp(k, x, -104.0, 89.0);
  // Adding 1.5 * 2^23 rounds to an integer, which then stands in the low bits.
  Val magic = k.splat(type, 12582912.0);
  Val shifted = k.fma(x, k.splat(type, 1.44269504088896341), magic);
  Val n = k.ir.CreateFSub(shifted, magic);
  Val r = k.fma(n, k.splat(type, -0.693145752), x);
  r = k.fma(n, k.splat(type, -1.42860677e-6), r);
  // Minimax of degree 6 on [-ln2/2, ln2/2], 3e-9.
  Val p = polynomial(k, r,
                     {1.3814599864e-03, 8.3687154119e-03, 4.1668387930e-02,
                      1.6666520643e-01, 4.9999993448e-01, 1.0, 1.0});
  Val bits = k.ir.CreateSub(k.bitcast(shifted, k.ir.getInt32Ty()),
                            k.bitcast(magic, k.ir.getInt32Ty()));
  return scaleByPower(k, p, n, bits);
}

Val bessemer::cpu::buildLog(KernelBuilder &k, Val x) {
  if (isDouble(x))
    return buildLog64(k, x);
  llvm::Type *type = x->getType(), *i32 = k.ir.getInt32Ty();
  // Denormal arguments are scaled by 2^23 first.
  Val tiny = k.ir.CreateFCmpOLT(x, k.splat(type, 1.17549435e-38));
  Val scaled = k.select(tiny, k.ir.CreateFMul(x, k.splat(type, 8388608.0)), x);
  Val bits = k.bitcast(scaled, i32);
  llvm::Type *intType = bits->getType();
  // x = m 2^e with m in [sqrt(1/2), sqrt(2)); Cephes logf.
  Val e = k.ir.CreateAShr(k.ir.CreateSub(bits, k.splatInt(intType, 0x3f3504f3)),
                          k.splatInt(intType, 23));
  Val m = k.bitcast(
      k.ir.CreateSub(bits, k.ir.CreateShl(e, k.splatInt(intType, 23))),
      k.ir.getFloatTy());
  Val exponent = k.ir.CreateSIToFP(e, type);
  exponent = k.ir.CreateFSub(
      exponent, k.select(tiny, k.splat(type, 23.0), k.splat(type, 0.0)));
  Val f = k.ir.CreateFSub(m, k.splat(type, 1.0));
  Val z = k.ir.CreateFMul(f, f);
  Val p = polynomial(k, f,
                     {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1,
                      -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
                      2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1});
  Val y = k.ir.CreateFMul(k.ir.CreateFMul(p, z), f);
  y = k.fma(exponent, k.splat(type, -2.12194440e-4), y);
  y = k.fma(z, k.splat(type, -0.5), y);
  y = k.fma(exponent, k.splat(type, 0.693359375), k.ir.CreateFAdd(f, y));
  return selectLogSpecialCases(k, x, y);
}

/// Restores +-1 where the rational has saturated just below.
static Val saturate(KernelBuilder &k, Val x, Val y, double bound) {
  llvm::Type *type = x->getType();
  Val large = k.ir.CreateFCmpOGT(k.unary(llvm::Intrinsic::fabs, x),
                                 k.splat(type, bound));
  Val one = k.ir.CreateIntrinsic(llvm::Intrinsic::copysign, {type},
                                 {k.splat(type, 1.0), x});
  return k.select(large, one, y);
}

Val bessemer::cpu::buildTanh(KernelBuilder &k, Val x) {
  if (isDouble(x))
    return buildTanh64(k, x);
  if (k.strict)
    return throughDouble(k, x, [&](Val v) { return buildTanh64(k, v); });
  Val c = clamp(k, x, -7.9053111, 7.9053111);
  Val z = k.ir.CreateFMul(c, c);
  Val p = polynomial(k, z,
                     {-2.76076847742355e-16, 2.00018790482477e-13,
                      -8.60467152213735e-11, 5.12229709037114e-08,
                      1.48572235717979e-05, 6.37261928875436e-04,
                      4.89352455891786e-03});
  Val q = polynomial(k, z,
                     {1.19825839466702e-06, 1.18534705686654e-04,
                      2.26843463243900e-03, 4.89352518554385e-03});
  return saturate(k, x, k.ir.CreateFDiv(k.ir.CreateFMul(c, p), q), 9.0);
}

Val bessemer::cpu::buildErf(KernelBuilder &k, Val x) {
  if (isDouble(x))
    return buildErf64(k, x, /*forSingle=*/false);
  if (k.strict)
    return throughDouble(
        k, x, [&](Val v) { return buildErf64(k, v, /*forSingle=*/true); });
  Val c = clamp(k, x, -4.0, 4.0);
  Val z = k.ir.CreateFMul(c, c);
  Val p = polynomial(k, z,
                     {-2.72614225801306e-10, 2.77068142495902e-08,
                      -2.10102402082508e-06, -5.69250639462346e-05,
                      -7.34990630326855e-04, -2.95459980854025e-03,
                      -1.60960333262415e-02});
  Val q = polynomial(k, z,
                     {-1.45660718464996e-05, -2.13374055278905e-04,
                      -1.68282697438203e-03, -7.37332916720468e-03,
                      -1.42647390514189e-02});
  return saturate(k, x, k.ir.CreateFDiv(k.ir.CreateFMul(c, p), q), 3.95);
}

// f32 arguments are reduced in f64, so that large ones and those near multiples
// of pi keep all their bits.
Val bessemer::cpu::buildSin(KernelBuilder &k, Val x) {
  if (isDouble(x))
    return buildSin64(k, x, /*quarter=*/false);
  return throughDouble(
      k, x, [&](Val v) { return buildSin64(k, v, /*quarter=*/false); });
}

Val bessemer::cpu::buildCos(KernelBuilder &k, Val x) {
  if (isDouble(x))
    return buildSin64(k, x, /*quarter=*/true);
  return throughDouble(
      k, x, [&](Val v) { return buildSin64(k, v, /*quarter=*/true); });
}

Val bessemer::cpu::buildAtan(KernelBuilder &k, Val x) {
  if (isDouble(x))
    return buildAtan64(k, x);
  return throughDouble(k, x, [&](Val v) { return buildAtan64(k, v); });
}

Val bessemer::cpu::buildPow(KernelBuilder &k, Val x, Val y) {
  k.unify(x, y);
  if (isDouble(x))
    return buildPow64(k, x, y);
  return throughDouble(k, x, [&](Val wide) {
    return buildPow64(k, wide, k.ir.CreateFPExt(y, wide->getType()));
  });
}

// Kahan's corrections: exact where the naive form cancels.
Val bessemer::cpu::buildExpm1(KernelBuilder &k, Val x) {
  if (!isDouble(x) && k.strict)
    return throughDouble(k, x, [&](Val v) { return buildExpm1(k, v); });
  llvm::Type *type = x->getType();
  Val one = k.splat(type, 1.0);
  Val u = buildExp(k, x), less = k.ir.CreateFSub(u, one);
  Val corrected = k.ir.CreateFDiv(k.ir.CreateFMul(less, x), buildLog(k, u));
  // u = 1: x itself; u tiny or infinite: u - 1.
  Val moderate = k.ir.CreateFCmpOLT(k.unary(llvm::Intrinsic::fabs, x),
                                    k.splat(type, 10.0));
  return k.select(k.ir.CreateFCmpOEQ(u, one), x,
                  k.select(moderate, corrected, less));
}

Val bessemer::cpu::buildLog1p(KernelBuilder &k, Val x) {
  if (!isDouble(x) && k.strict)
    return throughDouble(k, x, [&](Val v) { return buildLog1p(k, v); });
  llvm::Type *type = x->getType();
  Val u = k.ir.CreateFAdd(x, k.splat(type, 1.0));
  Val lost = k.ir.CreateFSub(x, k.ir.CreateFSub(u, k.splat(type, 1.0)));
  Val logarithm = buildLog(k, u);
  Val corrected = k.ir.CreateFAdd(logarithm, k.ir.CreateFDiv(lost, u));
  // u = 0 or infinite: no correction.
  Val regular = k.ir.CreateAnd(
      k.ir.CreateFCmpOGT(u, k.splat(type, 0.0)),
      k.ir.CreateFCmpOLT(u, llvm::ConstantFP::getInfinity(type)));
  return k.select(regular, corrected, logarithm);
}
