// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f64 functions: Taylor and Chebyshev polynomials after argument reduction.

#include "DoubleFunctions.h"
#include "llvm/IR/Constants.h"

using namespace bessemer::cpu;

/// erf(x) / x as a polynomial in t = 2 x^2 / b^2 - 1 on |x| <= b, from
/// Chebyshev interpolation in 40 digits; relative error 7e-11 (b = 4), 4e-16 (b
/// = 6).
static constexpr double kErf4[] = {
    -3.5566795785810666e-05, 9.7256637699241589e-05,  -7.7758922494168751e-05,
    0.00015876961967527849,  -0.00066221949664613635, 0.0014372159312613072,
    -0.0025422212206154073,  0.0047476391993702015,   -0.0086223413586865912,
    0.014397091965097183,    -0.022469199937727329,   0.03304775025622779,
    -0.045765787725826117,   0.059888903555390775,    -0.074727812570748411,
    0.090208837144940143,    -0.10771044414410302,    0.13167512166462025,
    -0.1765762332932892,     0.35353099561954215};
static constexpr double kErf6[] = {
    -1.021942826717168e-06,  2.5097807122919075e-06,  4.1710609337577712e-06,
    -1.079653612830363e-05,  -1.9954722245343965e-05, 4.8546541836695932e-05,
    1.7671845505708237e-05,  -5.4074688719041823e-05, -0.00010862330574998217,
    0.00023463414104439779,  -0.00013800532237094433, 0.00019552999888729574,
    -0.00061172522796321257, 0.001042274085084774,    -0.001436252320197813,
    0.0021764581914442559,   -0.0033671033361519867,  0.0048681817191378153,
    -0.0067313793246766328,  0.0090829647667833788,   -0.011898434087062319,
    0.0150771050488193,      -0.01852037774700268,    0.022103589120544685,
    -0.02567783839466644,    0.029111173437250035,    -0.032317570396438997,
    0.035270410559780085,    -0.038006938365774103,   0.040621981391225408,
    -0.04325439176409588,    0.046075057564540431,    -0.049285896431034287,
    0.053139566521615299,    -0.05799503664674531,    0.064447281610693824,
    -0.07365642241323872,    0.088388263696103017,    -0.11785112137262105,
    0.23570225993043398};

static Val polynomial(KernelBuilder &k, Val x, llvm::ArrayRef<double> c) {
  Val result = k.splat(x->getType(), c[0]);
  for (double coefficient : c.drop_front())
    result = k.fma(result, x, k.splat(x->getType(), coefficient));
  return result;
}

/// Rounds to an integer by adding 1.5 * 2^52; `shifted` holds it in its low
/// bits.
static Val roundByShift(KernelBuilder &k, Val x, Val &shifted) {
  Val magic = k.splat(x->getType(), 6755399441055744.0);
  shifted = k.ir.CreateFAdd(x, magic);
  return k.ir.CreateFSub(shifted, magic);
}

Val bessemer::cpu::buildExp64(KernelBuilder &k, Val x) {
  llvm::Type *type = x->getType();
  x = k.maxKeepFirst(x, k.splat(type, -746.0));
  x = k.minKeepFirst(x, k.splat(type, 710.0));
  Val shifted;
  Val n = roundByShift(
      k, k.ir.CreateFMul(x, k.splat(type, 1.44269504088896340736)), shifted);
  Val r = k.fma(n, k.splat(type, -6.93147180369123816490e-01), x);
  r = k.fma(n, k.splat(type, -1.90821492927058770002e-10), r);
  // Taylor to degree 13: 4e-18 at ln2/2.
  double coefficients[14], factorial = 1;
  for (int i = 0; i < 14; ++i) {
    coefficients[13 - i] = 1 / factorial;
    factorial *= i + 1;
  }
  Val p = polynomial(k, r, coefficients);
  llvm::Type *i64 = k.ir.getInt64Ty();
  Val bits = k.ir.CreateSub(k.bitcast(shifted, i64),
                            k.bitcast(k.splat(type, 6755399441055744.0), i64));
  llvm::Type *bitsType = bits->getType();
  Val half = k.ir.CreateAShr(bits, k.splatInt(bitsType, 1));
  Val rest = k.ir.CreateSub(bits, half);
  auto power = [&](Val exponent) {
    Val biased = k.ir.CreateAdd(exponent, k.splatInt(bitsType, 1023));
    return k.ir.CreateBitCast(k.ir.CreateShl(biased, k.splatInt(bitsType, 52)),
                              type);
  };
  return k.ir.CreateFMul(k.ir.CreateFMul(p, power(half)), power(rest));
}

Val bessemer::cpu::selectLogSpecialCases(KernelBuilder &k, Val x, Val y) {
  llvm::Type *type = x->getType();
  Val zero = k.splat(type, 0.0);
  Val infinity = llvm::ConstantFP::getInfinity(type);
  y = k.select(k.ir.CreateFCmpOEQ(x, zero),
               llvm::ConstantFP::getInfinity(type, /*Negative=*/true), y);
  y = k.select(k.ir.CreateFCmpOEQ(x, infinity), infinity, y);
  // Negative or NaN.
  return k.select(k.ir.CreateFCmpULT(x, zero), llvm::ConstantFP::getNaN(type),
                  y);
}

Val bessemer::cpu::buildLog64(KernelBuilder &k, Val x) {
  llvm::Type *type = x->getType(), *i64 = k.ir.getInt64Ty();
  Val tiny = k.ir.CreateFCmpOLT(x, k.splat(type, 2.2250738585072014e-308));
  Val scaled =
      k.select(tiny, k.ir.CreateFMul(x, k.splat(type, 4503599627370496.0)), x);
  Val bits = k.bitcast(scaled, i64);
  llvm::Type *bitsType = bits->getType();
  // x = m 2^e with m in [sqrt(1/2), sqrt(2)).
  Val e = k.ir.CreateAShr(
      k.ir.CreateSub(bits, k.splatInt(bitsType, 0x3fe6a09e667f3bcd)),
      k.splatInt(bitsType, 52));
  Val m = k.bitcast(
      k.ir.CreateSub(bits, k.ir.CreateShl(e, k.splatInt(bitsType, 52))),
      k.ir.getDoubleTy());
  Val exponent = k.ir.CreateSIToFP(e, type);
  exponent = k.ir.CreateFSub(
      exponent, k.select(tiny, k.splat(type, 52.0), k.splat(type, 0.0)));
  // With s = f / (2 + f): log(1 + f) = f - (f^2/2 - s (f^2/2 + R)), where R is
  // the series of 2 atanh(s) / s - 2 (fdlibm's arrangement).
  Val f = k.ir.CreateFSub(m, k.splat(type, 1.0));
  Val s = k.ir.CreateFDiv(f, k.ir.CreateFAdd(f, k.splat(type, 2.0)));
  Val z = k.ir.CreateFMul(s, s);
  double coefficients[11];
  for (int i = 0; i < 11; ++i)
    coefficients[10 - i] = 2.0 / (2 * i + 3);
  Val series = k.ir.CreateFMul(polynomial(k, z, coefficients), z);
  Val halfSquare = k.ir.CreateFMul(k.splat(type, 0.5), k.ir.CreateFMul(f, f));
  Val inner = k.ir.CreateFMul(s, k.ir.CreateFAdd(halfSquare, series));
  inner = k.fma(exponent, k.splat(type, 1.90821492927058770002e-10), inner);
  Val correction = k.ir.CreateFSub(halfSquare, inner);
  Val y = k.fma(exponent, k.splat(type, 6.93147180369123816490e-01),
                k.ir.CreateFSub(f, correction));
  return selectLogSpecialCases(k, x, y);
}

Val bessemer::cpu::buildTanh64(KernelBuilder &k, Val x) {
  llvm::Type *type = x->getType();
  Val size = k.unary(llvm::Intrinsic::fabs, x);
  Val t = buildExp64(k, k.ir.CreateFMul(size, k.splat(type, -2.0)));
  Val one = k.splat(type, 1.0);
  Val large = k.ir.CreateFDiv(k.ir.CreateFSub(one, t), k.ir.CreateFAdd(one, t));
  large = k.ir.CreateIntrinsic(llvm::Intrinsic::copysign, {type}, {large, x});
  // Taylor below 0.1, where 1 - t cancels.
  Val series =
      polynomial(k, k.ir.CreateFMul(x, x),
                 {-929569.0 / 638512875, 21844.0 / 6081075, -1382.0 / 155925,
                  62.0 / 2835, -17.0 / 315, 2.0 / 15, -1.0 / 3, 1.0});
  Val small = k.ir.CreateFMul(x, series);
  return k.select(k.ir.CreateFCmpOLT(size, k.splat(type, 0.1)), small, large);
}

Val bessemer::cpu::buildErf64(KernelBuilder &k, Val x, bool forSingle) {
  llvm::Type *type = x->getType();
  double bound = forSingle ? 4 : 6;
  Val c = k.maxKeepFirst(x, k.splat(type, -bound));
  c = k.minKeepFirst(c, k.splat(type, bound));
  Val t = k.fma(k.ir.CreateFMul(c, c), k.splat(type, 2 / (bound * bound)),
                k.splat(type, -1.0));
  Val p = forSingle ? polynomial(k, t, kErf4) : polynomial(k, t, kErf6);
  return k.ir.CreateFMul(c, p);
}

Val bessemer::cpu::buildSin64(KernelBuilder &k, Val x, bool quarter) {
  llvm::Type *type = x->getType(), *i64 = k.ir.getInt64Ty();
  // x = q pi + r with |r| <= pi/2; for cosine q is an integer and a half.
  Val scaled = k.ir.CreateFMul(x, k.splat(type, 0.318309886183790671538));
  if (quarter)
    scaled = k.ir.CreateFSub(scaled, k.splat(type, 0.5));
  Val shifted;
  Val q = roundByShift(k, scaled, shifted);
  if (quarter)
    q = k.ir.CreateFAdd(q, k.splat(type, 0.5));
  Val r = k.fma(q, k.splat(type, -3.141592653589793116), x);
  r = k.fma(q, k.splat(type, -1.2246467991473531772e-16), r);
  // Taylor to degree 21: 1e-18 at pi/2.
  double coefficients[11], factorial = 1;
  for (int i = 0; i < 11; ++i) {
    coefficients[10 - i] = (i % 2 ? -1 : 1) / factorial;
    factorial *= (2 * i + 2) * (2 * i + 3);
  }
  Val sine =
      k.ir.CreateFMul(r, polynomial(k, k.ir.CreateFMul(r, r), coefficients));
  // sin(x) = (-1)^q sin(r); cos(x) = (-1)^(q + 1/2) sin(r).
  Val parity = k.bitcast(shifted, i64);
  if (quarter)
    parity = k.ir.CreateAdd(parity, k.splatInt(parity->getType(), 1));
  Val sign = k.ir.CreateShl(parity, k.splatInt(parity->getType(), 63));
  return k.bitcast(k.ir.CreateXor(k.bitcast(sine, i64), sign),
                   k.ir.getDoubleTy());
}

Val bessemer::cpu::buildAtan64(KernelBuilder &k, Val x) {
  llvm::Type *type = x->getType();
  Val zero = k.splat(type, 0.0), one = k.splat(type, 1.0);
  Val size = k.unary(llvm::Intrinsic::fabs, x);
  // atan(s) is pi/2 + atan(-1/s) or pi/4 + atan((s - 1) / (s + 1)), so that
  // the argument left is small (Cephes).
  Val isLarge = k.ir.CreateFCmpOGT(size, k.splat(type, 2.41421356237309504880));
  Val isMiddle = k.ir.CreateFCmpOGT(size, k.splat(type, 0.66));
  Val turned = k.ir.CreateFDiv(k.splat(type, -1.0), size);
  Val shifted =
      k.ir.CreateFDiv(k.ir.CreateFSub(size, one), k.ir.CreateFAdd(size, one));
  Val r = k.select(isLarge, turned, k.select(isMiddle, shifted, size));
  auto choose = [&](double large, double middle) {
    return k.select(isLarge, k.splat(type, large),
                    k.select(isMiddle, k.splat(type, middle), zero));
  };
  Val z = k.ir.CreateFMul(r, r);
  Val p = polynomial(k, z,
                     {-8.750608600031904122785e-1, -1.615753718733365076637e1,
                      -7.500855792314704667340e1, -1.228866684490136173410e2,
                      -6.485021904942025371773e1});
  Val q = polynomial(k, z,
                     {1.0, 2.485846490142306297962e1, 1.650270098316988542046e2,
                      4.328810604912902668951e2, 4.853903996359136964868e2,
                      1.945506571482613964425e2});
  Val y = k.fma(k.ir.CreateFMul(r, z), k.ir.CreateFDiv(p, q), r);
  // What pi/2 and pi/4 have more bits of.
  y = k.ir.CreateFAdd(
      y, choose(6.123233995736765886130e-17, 3.061616997868382943065e-17));
  y = k.ir.CreateFAdd(choose(1.57079632679489661923, 0.78539816339744830962),
                      y);
  return k.ir.CreateIntrinsic(llvm::Intrinsic::copysign, {type}, {y, x});
}

Val bessemer::cpu::buildPow64(KernelBuilder &k, Val x, Val y) {
  llvm::Type *type = x->getType();
  Val zero = k.splat(type, 0.0), one = k.splat(type, 1.0);
  Val size = k.unary(llvm::Intrinsic::fabs, x);
  Val power = buildExp64(k, k.ir.CreateFMul(y, buildLog64(k, size)));
  // A negative base needs an integer exponent; an odd one keeps the sign.
  Val isInteger = k.ir.CreateFCmpOEQ(k.unary(llvm::Intrinsic::trunc, y), y);
  Val half = k.ir.CreateFMul(y, k.splat(type, 0.5));
  Val isOdd = k.ir.CreateAnd(
      isInteger,
      k.ir.CreateFCmpONE(k.unary(llvm::Intrinsic::trunc, half), half));
  Val isNegative = k.ir.CreateFCmpOLT(x, zero);
  Val bad = k.ir.CreateAnd(isNegative, k.ir.CreateNot(isInteger));
  Val infinite = k.ir.CreateFCmpOEQ(size, llvm::ConstantFP::getInfinity(type));
  bad = k.ir.CreateAnd(bad, k.ir.CreateNot(infinite));
  power = k.select(bad, llvm::ConstantFP::getNaN(type), power);
  Val signedPower =
      k.ir.CreateIntrinsic(llvm::Intrinsic::copysign, {type}, {power, x});
  power = k.select(isOdd, signedPower, power);
  Val isOne =
      k.ir.CreateOr(k.ir.CreateFCmpOEQ(x, one), k.ir.CreateFCmpOEQ(y, zero));
  // (-1)^(+-inf) = 1.
  Val unitToInfinity =
      k.ir.CreateAnd(k.ir.CreateFCmpOEQ(size, one),
                     k.ir.CreateFCmpOEQ(k.unary(llvm::Intrinsic::fabs, y),
                                        llvm::ConstantFP::getInfinity(type)));
  return k.select(k.ir.CreateOr(isOne, unitToInfinity), one, power);
}
