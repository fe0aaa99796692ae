// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementary functions against libm in double: largest error in units of the
// last place of the result, and special values.

#include "KernelTest.h"
#include "llvm/Support/FormatVariadic.h"

using namespace bessemer::test;
using llvm::formatv;

namespace {
struct FunctionCase {
  const char *op;
  double (*exact)(double);
  double low, high;
  /// In ulp.
  double tolerance, strictTolerance;
};
} // namespace

static double rsqrt(double x) { return 1 / std::sqrt(x); }

static const FunctionCase kFunctions[] = {
    {"exp", std::exp, -87, 88.5, 1.0, 1.0},
    {"log", std::log, 1e-3, 1e4, 1.0, 1.0},
    {"tanh", std::tanh, -10, 10, 5.0, 0.6},
    {"erf", std::erf, -4.5, 4.5, 6.0, 0.6},
    {"sin", std::sin, -1000, 1000, 0.6, 0.6},
    {"cos", std::cos, -1000, 1000, 0.6, 0.6},
    {"tan", std::tan, -100, 100, 2.0, 2.0},
    {"atan", std::atan, -10, 10, 0.6, 0.6},
    {"expm1", std::expm1, -5, 5, 4.0, 1.0},
    {"log1p", std::log1p, -0.9, 5, 4.0, 1.0},
    {"exp2", std::exp2, -100, 100, 0.6, 0.6},
    {"log2", std::log2, 1e-3, 1e4, 3.0, 3.0},
    {"log10", std::log10, 1e-3, 1e4, 3.0, 3.0},
    {"sinh", std::sinh, -10, 10, 5.0, 3.0},
    {"cosh", std::cosh, -10, 10, 3.0, 3.0},
    {"sqrt", std::sqrt, 0, 100, 0.51, 0.51},
    {"rsqrt", rsqrt, 1e-3, 100, 1.5, 1.5},
    {"ceil", std::ceil, -10, 10, 0, 0},
    {"floor", std::floor, -10, 10, 0, 0},
    {"round", std::round, -10, 10, 0, 0},
    {"roundeven", std::nearbyint, -10, 10, 0, 0},
};

static const int kCount = 200000;

static std::string unary(const char *op, int count, const char *type = "f32") {
  return formatv(
      R"(%y = kern.map(%x) bounds = [{1}] maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {{
    ^bb0(%a: {2}):
      %r = math.{0} %a : {2}
      kern.yield %r : {2}
    } : (tensor<{1}x{2}>) -> tensor<{1}x{2}>)",
      op, count, type);
}

/// |actual - exact| in units of the last place of `exact` as a float.
static double ulps(float actual, double exact) {
  float rounded = std::fabs(float(exact));
  double ulp = std::nextafter(rounded, INFINITY) - double(rounded);
  return std::fabs(actual - exact) / std::max(ulp, 0x1p-149);
}

TEST(Functions, ErrorsInUlp) {
  KernelSet set;
  std::string signature = formatv("(%x: tensor<{0}xf32>)", kCount);
  for (const FunctionCase &function : kFunctions)
    set.add(signature, unary(function.op, kCount));
  for (const auto &target : getRunnableTargets())
    for (bool strict : {false, true}) {
      set.compile(target, strict);
      for (size_t i = 0; i < std::size(kFunctions); ++i) {
        const FunctionCase &function = kFunctions[i];
        std::vector<float> x(kCount);
        for (int j = 0; j < kCount; ++j)
          x[j] =
              function.low + (function.high - function.low) * j / (kCount - 1);
        // And small arguments.
        for (int j = 0; j < 1000 && function.low < 0; ++j)
          x[j] = std::pow(10.0f, -j / 30.0f);
        BufferPtr y = makeFloats(kCount);
        set.runOnce(i, {makeBuffer(x), y});
        double worst = 0;
        float at = 0;
        for (int j = 0; j < kCount; ++j) {
          double error = ulps(y->as<float>()[j], function.exact(x[j]));
          if (!(error <= worst)) {
            worst = error;
            at = x[j];
          }
        }
        EXPECT_LE(worst, strict ? function.strictTolerance : function.tolerance)
            << function.op << "(" << at << ") on " << target.name.str()
            << (strict ? ", strict" : "");
      }
    }
}

TEST(Functions, SpecialValues) {
  std::vector<float> x = {NAN,    INFINITY, -INFINITY, 0.0f,   -0.0f, 1e-40f,
                          100.0f, -100.0f,  88.7f,     -88.0f, 3e38f, -3e38f,
                          1.0f,   -1.0f,    20.0f,     -20.0f};
  KernelSet set;
  const char *ops[] = {"exp",  "log",   "tanh",  "erf",  "log1p",
                       "sqrt", "expm1", "rsqrt", "log2", "atan"};
  double (*exact[])(double) = {std::exp,   std::log,  std::tanh,  std::erf,
                               std::log1p, std::sqrt, std::expm1, rsqrt,
                               std::log2,  std::atan};
  for (const char *op : ops)
    set.add(formatv("(%x: tensor<{0}xf32>)", x.size()), unary(op, x.size()));
  for (const auto &target : getRunnableTargets())
    for (bool strict : {false, true}) {
      set.compile(target, strict);
      for (size_t i = 0; i < std::size(ops); ++i) {
        std::vector<double> expected;
        for (float value : x)
          expected.push_back(float(exact[i](value)));
        BufferPtr y = makeFloats(x.size());
        set.runOnce(i, {makeBuffer(x), y});
        expectNear(y->values<float>(), expected, 1e-6, ops[i]);
      }
      // Saturated exactly.
      BufferPtr y = makeFloats(x.size());
      set.runOnce(2, {makeBuffer(x), y});
      EXPECT_EQ(y->as<float>()[14], 1.0f);
      EXPECT_EQ(y->as<float>()[15], -1.0f);
    }
}

TEST(Functions, ScalarsAreComputedAlike) {
  // A rank-0 operand stays scalar: the same functions outside of vectors.
  KernelSet set;
  const char *ops[] = {"exp", "log", "tanh", "erf", "sin", "atan"};
  double (*exact[])(double) = {std::exp, std::log, std::tanh,
                               std::erf, std::sin, std::atan};
  for (const char *type : {"f32", "f64"})
    for (const char *op : ops)
      set.add(
          formatv("(%x: tensor<{0}>)", type),
          formatv(
              R"(%y = kern.map(%x) bounds = [] maps = [affine_map<() -> ()>, affine_map<() -> ()>] {{
                ^bb0(%a: {1}):
                  %r = math.{0} %a : {1}
                  kern.yield %r : {1}
                } : (tensor<{1}>) -> tensor<{1}>)",
              op, type));
  for (const auto &target : getRunnableTargets()) {
    set.compile(target);
    for (float x : {0.3f, 1.7f, 5.0f})
      for (size_t i = 0; i < std::size(ops); ++i) {
        BufferPtr y = makeFloats(1);
        set.runOnce(i, {makeBuffer(std::vector<float>{x}), y});
        EXPECT_LE(ulps(y->as<float>()[0], exact[i](x)), 6) << ops[i];
        BufferPtr z = makeBuffer(std::vector<double>{0});
        set.runOnce(std::size(ops) + i,
                    {makeBuffer(std::vector<double>{x}), z});
        EXPECT_NEAR(z->as<double>()[0], exact[i](x),
                    1e-15 * (1 + std::fabs(exact[i](x))))
            << ops[i];
      }
  }
}

TEST(Functions, PowersFollowIEEE) {
  std::vector<float> bases = {2.5f,  -2.0f, 0.0f,     -0.0f,     1.0f,
                              -1.0f, 0.5f,  INFINITY, -INFINITY, NAN};
  std::vector<float> exponents = {0.0f,     1.0f,      2.0f, 3.0f,
                                  -1.0f,    -3.0f,     0.5f, 10.0f,
                                  INFINITY, -INFINITY, NAN,  2.5f};
  std::vector<float> x, y;
  std::vector<double> expected;
  for (float base : bases)
    for (float exponent : exponents) {
      x.push_back(base);
      y.push_back(exponent);
      expected.push_back(float(std::pow(double(base), double(exponent))));
    }
  KernelSet set;
  set.add(
      formatv("(%x: tensor<{0}xf32>, %e: tensor<{0}xf32>)", x.size()),
      formatv(
          R"(%y = kern.map(%x, %e) bounds = [{0}] maps = [affine_map<(d0) -> (d0)>,
              affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {{
            ^bb0(%a: f32, %b: f32):
              %r = math.powf %a, %b : f32
              kern.yield %r : f32
            } : (tensor<{0}xf32>, tensor<{0}xf32>) -> tensor<{0}xf32>)",
          x.size()));
  for (const auto &target : getRunnableTargets()) {
    set.compile(target);
    BufferPtr result = makeFloats(x.size());
    set.runOnce(0, {makeBuffer(x), makeBuffer(y), result});
    expectNear(result->values<float>(), expected, 1e-6, "powf");
  }
}

TEST(Functions, MaximumsTreatNaNAsTheirNamesSay) {
  std::vector<float> x = {1, NAN, 1, NAN, 2, -INFINITY},
                     y = {2, 1, NAN, NAN, 1, INFINITY};
  KernelSet set;
  for (const char *op : {"maximumf", "minimumf", "maxnumf", "minnumf"})
    set.add(
        "(%x: tensor<6xf32>, %z: tensor<6xf32>)",
        formatv(
            R"(%y = kern.map(%x, %z) bounds = [6] maps = [affine_map<(d0) -> (d0)>,
                affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>] {{
              ^bb0(%a: f32, %b: f32):
                %r = arith.{0} %a, %b : f32
                kern.yield %r : f32
              } : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>)",
            op));
  std::vector<std::vector<double>> expected = {{2, NAN, NAN, NAN, 2, INFINITY},
                                               {1, NAN, NAN, NAN, 1, -INFINITY},
                                               {2, 1, 1, NAN, 2, INFINITY},
                                               {1, 1, 1, NAN, 1, -INFINITY}};
  for (const auto &target : getRunnableTargets()) {
    set.compile(target);
    for (size_t i = 0; i < expected.size(); ++i) {
      BufferPtr result = makeFloats(6);
      set.runOnce(i, {makeBuffer(x), makeBuffer(y), result});
      expectNear(result->values<float>(), expected[i], 0, "maximum");
    }
  }
}
