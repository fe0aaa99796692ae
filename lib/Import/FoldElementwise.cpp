// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folding of elementwise ops, casts and reductions of known tensors.

#include "Folding.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

using namespace bessemer;
using namespace bessemer::ingest;
using onnx::TensorProto;

template <typename Ints, typename Floats>
static FoldResult foldBinary(const Folding &f, Ints onInts, Floats onFloats,
                             bool isPredicate = false) {
  const Literal *a = f.literal(0), *b = f.literal(1);
  if (!a || !b || a->elementType != b->elementType ||
      (a->elementType == TensorProto::BOOL && !isPredicate))
    return std::nullopt;
  auto shape = broadcastShapes(a->shape, b->shape);
  if (!shape || product(*shape) > f.largest)
    return std::nullopt;
  Literal result =
      emptyLike(isPredicate ? TensorProto::BOOL : a->elementType, *shape);
  for (int64_t i = 0, end = product(*shape); i < end; ++i) {
    int64_t ia = sourceIndex(*shape, i, a->shape);
    int64_t ib = sourceIndex(*shape, i, b->shape);
    if (!a->isFloat()) {
      auto value = onInts(a->ints[ia], b->ints[ib]);
      if (!value)
        return std::nullopt;
      result.ints[i] = wrapTo(result.elementType, *value);
    } else if (isPredicate) {
      result.ints[i] = onFloats(a->floats[ia], b->floats[ib]) != 0;
    } else {
      result.floats[i] =
          roundTo(a->elementType, onFloats(a->floats[ia], b->floats[ib]));
    }
  }
  return result;
}

using IntResult = std::optional<int64_t>;

static FoldResult foldAdd(const Folding &f) {
  return foldBinary(
      f, [](int64_t a, int64_t b) -> IntResult { return wrappingAdd(a, b); },
      [](double a, double b) { return a + b; });
}
static FoldResult foldSub(const Folding &f) {
  return foldBinary(
      f, [](int64_t a, int64_t b) -> IntResult { return wrappingSub(a, b); },
      [](double a, double b) { return a - b; });
}
static FoldResult foldMul(const Folding &f) {
  return foldBinary(
      f, [](int64_t a, int64_t b) -> IntResult { return wrappingMul(a, b); },
      [](double a, double b) { return a * b; });
}
static FoldResult foldDiv(const Folding &f) {
  return foldBinary(
      f,
      [](int64_t a, int64_t b) -> IntResult {
        return b == 0 || b == -1
                   ? (b ? IntResult(wrappingSub(0, a)) : std::nullopt)
                   : IntResult(a / b);
      },
      [](double a, double b) { return a / b; });
}
static FoldResult foldMod(const Folding &f) {
  bool isC = intAttribute(f.node, "fmod", 0) != 0;
  return foldBinary(
      f,
      [isC](int64_t a, int64_t b) -> IntResult {
        if (b == 0 || b == -1)
          return b ? IntResult(0) : std::nullopt;
        int64_t rest = a % b;
        return !isC && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
      },
      [isC](double a, double b) {
        double rest = std::fmod(a, b);
        if (isC)
          return rest;
        // Python's: the sign of the divisor, also of a zero.
        if (rest == 0)
          return std::copysign(rest, b);
        return (rest < 0) != (b < 0) ? rest + b : rest;
      });
}
static FoldResult foldMin(const Folding &f) {
  return f.operands.size() != 2
             ? std::nullopt
             : foldBinary(
                   f,
                   [](int64_t a, int64_t b) -> IntResult {
                     return std::min(a, b);
                   },
                   [](double a, double b) {
                     return std::isnan(a) ? a : b < a || std::isnan(b) ? b : a;
                   });
}
static FoldResult foldMax(const Folding &f) {
  return f.operands.size() != 2
             ? std::nullopt
             : foldBinary(
                   f,
                   [](int64_t a, int64_t b) -> IntResult {
                     return std::max(a, b);
                   },
                   [](double a, double b) {
                     return std::isnan(a) ? a : b > a || std::isnan(b) ? b : a;
                   });
}

template <typename Compare>
static FoldResult foldCompare(const Folding &f, Compare compare) {
  return foldBinary(
      f, [&](int64_t a, int64_t b) -> IntResult { return compare(a, b); },
      [&](double a, double b) { return compare(a, b) ? 1.0 : 0.0; },
      /*isPredicate=*/true);
}
static FoldResult foldEqual(const Folding &f) {
  return foldCompare(f, [](auto a, auto b) { return a == b; });
}
static FoldResult foldLess(const Folding &f) {
  return foldCompare(f, [](auto a, auto b) { return a < b; });
}
static FoldResult foldLessOrEqual(const Folding &f) {
  return foldCompare(f, [](auto a, auto b) { return a <= b; });
}
static FoldResult foldGreater(const Folding &f) {
  return foldCompare(f, [](auto a, auto b) { return a > b; });
}
static FoldResult foldGreaterOrEqual(const Folding &f) {
  return foldCompare(f, [](auto a, auto b) { return a >= b; });
}
static FoldResult foldLogical(const Folding &f, bool (*combine)(bool, bool)) {
  if (!f.literal(0) || f.literal(0)->elementType != TensorProto::BOOL)
    return std::nullopt;
  return foldCompare(f,
                     [&](auto a, auto b) { return combine(a != 0, b != 0); });
}
static FoldResult foldAnd(const Folding &f) {
  return foldLogical(f, [](bool a, bool b) { return a && b; });
}
static FoldResult foldOr(const Folding &f) {
  return foldLogical(f, [](bool a, bool b) { return a || b; });
}

static FoldResult foldUnary(const Folding &f, double (*function)(double)) {
  const Literal *a = f.literal(0);
  if (!a || !a->isFloat())
    return std::nullopt;
  Literal result = *a;
  for (double &element : result.floats)
    element = roundTo(a->elementType, function(element));
  return result;
}
static FoldResult foldNeg(const Folding &f) {
  const Literal *a = f.literal(0);
  if (!a)
    return std::nullopt;
  Literal result = *a;
  for (double &element : result.floats)
    element = -element;
  for (int64_t &element : result.ints)
    element = wrapTo(a->elementType, wrappingSub(0, element));
  return result;
}
static FoldResult foldAbs(const Folding &f) {
  const Literal *a = f.literal(0);
  if (!a)
    return std::nullopt;
  Literal result = *a;
  for (double &element : result.floats)
    element = std::fabs(element);
  for (int64_t &element : result.ints)
    element =
        wrapTo(a->elementType, element < 0 ? wrappingSub(0, element) : element);
  return result;
}
static FoldResult foldSign(const Folding &f) {
  const Literal *a = f.literal(0);
  if (!a)
    return std::nullopt;
  Literal result = *a;
  for (double &element : result.floats)
    element = element > 0 ? 1 : element < 0 ? -1 : element;
  for (int64_t &element : result.ints)
    element = (element > 0) - (element < 0);
  return result;
}
static FoldResult foldSqrt(const Folding &f) {
  return foldUnary(f, [](double x) { return std::sqrt(x); });
}
static FoldResult foldReciprocal(const Folding &f) {
  return foldUnary(f, [](double x) { return 1 / x; });
}
static FoldResult foldExp(const Folding &f) {
  return foldUnary(f, [](double x) { return std::exp(x); });
}
static FoldResult foldLog(const Folding &f) {
  return foldUnary(f, [](double x) { return std::log(x); });
}
static FoldResult foldFloor(const Folding &f) {
  return foldUnary(f, [](double x) { return std::floor(x); });
}
static FoldResult foldCeil(const Folding &f) {
  return foldUnary(f, [](double x) { return std::ceil(x); });
}
/// A question about each element of a float tensor.
template <typename Predicate>
static FoldResult foldQuestion(const Folding &f, Predicate predicate) {
  const Literal *a = f.literal(0);
  if (!a || !a->isFloat())
    return std::nullopt;
  Literal result = emptyLike(TensorProto::BOOL, a->shape);
  for (auto [answer, element] : llvm::zip_equal(result.ints, a->floats))
    answer = predicate(element);
  return result;
}
static FoldResult foldIsNaN(const Folding &f) {
  return foldQuestion(f, [](double x) { return std::isnan(x); });
}
static FoldResult foldIsInf(const Folding &f) {
  bool positive = intAttribute(f.node, "detect_positive", 1) != 0;
  bool negative = intAttribute(f.node, "detect_negative", 1) != 0;
  return foldQuestion(f, [=](double x) {
    return std::isinf(x) && (x > 0 ? positive : negative);
  });
}

static FoldResult foldNot(const Folding &f) {
  const Literal *a = f.literal(0);
  if (!a || a->elementType != TensorProto::BOOL)
    return std::nullopt;
  Literal result = *a;
  for (int64_t &element : result.ints)
    element = !element;
  return result;
}
static FoldResult foldPow(const Folding &f) {
  const Literal *a = f.literal(0), *b = f.literal(1);
  if (!a || !b || !a->isFloat() || !b->isSplat())
    return std::nullopt;
  auto shape = broadcastShapes(a->shape, b->shape);
  if (!shape || *shape != a->shape)
    return std::nullopt;
  Literal result = *a;
  for (double &element : result.floats)
    element = roundTo(a->elementType, std::pow(element, b->at(0)));
  return result;
}

static FoldResult castTo(const Literal &from, int32_t type) {
  if (!isFloatType(type) && type != TensorProto::INT64 &&
      type != TensorProto::INT32 && type != TensorProto::BOOL &&
      type != TensorProto::INT8 && type != TensorProto::UINT8 &&
      type != TensorProto::INT16)
    return std::nullopt;
  if (type == TensorProto::FLOAT16 || type == TensorProto::BFLOAT16)
    return std::nullopt;
  Literal result = emptyLike(type, from.shape);
  for (int64_t i = 0, end = from.size(); i < end; ++i) {
    if (result.isFloat()) {
      result.floats[i] = roundTo(type, from.at(i));
      continue;
    }
    if (from.isFloat()) {
      double value = from.floats[i];
      if (type == TensorProto::BOOL) {
        result.ints[i] = value != 0;
        continue;
      }
      // Out of range is undefined in ONNX; leave it to the graph.
      if (!(std::fabs(value) < 9.2e18))
        return std::nullopt;
      result.ints[i] = static_cast<int64_t>(value);
    } else {
      result.ints[i] = from.ints[i];
    }
    result.ints[i] = wrapTo(type, result.ints[i]);
  }
  return result;
}
static FoldResult foldCast(const Folding &f) {
  const Literal *a = f.literal(0);
  return a ? castTo(*a, intAttribute(f.node, "to", 0)) : std::nullopt;
}
static FoldResult foldCastLike(const Folding &f) {
  const Literal *a = f.literal(0);
  return a && f.has(1) ? castTo(*a, f.operands[1].elementType) : std::nullopt;
}
static FoldResult foldIdentity(const Folding &f) {
  const Literal *a = f.literal(0);
  return a ? FoldResult(*a) : std::nullopt;
}

static FoldResult foldWhere(const Folding &f) {
  const Literal *condition = f.literal(0), *a = f.literal(1), *b = f.literal(2);
  if (!condition || condition->elementType != TensorProto::BOOL || !a || !b ||
      a->elementType != b->elementType)
    return std::nullopt;
  auto shape = broadcastShapes(a->shape, b->shape);
  if (shape)
    shape = broadcastShapes(*shape, condition->shape);
  if (!shape || product(*shape) > f.largest)
    return std::nullopt;
  Literal result = emptyLike(a->elementType, *shape);
  for (int64_t i = 0, end = result.size(); i < end; ++i) {
    const Literal &from =
        condition->ints[sourceIndex(*shape, i, condition->shape)] ? *a : *b;
    copyElement(from, sourceIndex(*shape, i, from.shape), result, i);
  }
  return result;
}

/// Shape arithmetic only needs products and sums over a whole list.
template <typename Combine>
static FoldResult foldReduceAll(const Folding &f, int64_t initial,
                                Combine combine) {
  const Literal *data = f.literal(0);
  if (!data || data->isFloat() || data->elementType == TensorProto::BOOL ||
      (f.has(1) && !f.ints(1)))
    return std::nullopt;
  std::set<int64_t> axes;
  if (f.has(1))
    for (int64_t entry : *f.ints(1)) {
      auto axis = Folding::normalAxis(entry, data->shape.size());
      if (!axis || !axes.insert(*axis).second)
        return std::nullopt;
    }
  if (axes.empty() && intAttribute(f.node, "noop_with_empty_axes", 0))
    return *data;
  if (!axes.empty() && axes.size() != data->shape.size())
    return std::nullopt;
  int64_t value = initial;
  for (int64_t element : data->ints)
    value = wrapTo(data->elementType, combine(value, element));
  Literal result = *data;
  result.ints = {value};
  result.shape.assign(
      intAttribute(f.node, "keepdims", 1) ? data->shape.size() : 0, 1);
  return result;
}
static FoldResult foldReduceProd(const Folding &f) {
  return foldReduceAll(f, 1, wrappingMul);
}
static FoldResult foldReduceSum(const Folding &f) {
  return foldReduceAll(f, 0, wrappingAdd);
}
static FoldResult foldReduceMax(const Folding &f) {
  const Literal *data = f.literal(0);
  if (!data || data->size() == 0)
    return std::nullopt;
  return foldReduceAll(f, std::numeric_limits<int64_t>::min(),
                       [](int64_t a, int64_t b) { return std::max(a, b); });
}

void ingest::addElementwiseFolders(llvm::StringMap<Folder> &table) {
  static constexpr std::pair<const char *, Folder> entries[] = {
      {"Abs", foldAbs},
      {"Add", foldAdd},
      {"And", foldAnd},
      {"Cast", foldCast},
      {"CastLike", foldCastLike},
      {"Ceil", foldCeil},
      {"Div", foldDiv},
      {"Equal", foldEqual},
      {"Exp", foldExp},
      {"Floor", foldFloor},
      {"Greater", foldGreater},
      {"GreaterOrEqual", foldGreaterOrEqual},
      {"Identity", foldIdentity},
      {"IsInf", foldIsInf},
      {"IsNaN", foldIsNaN},
      {"Less", foldLess},
      {"LessOrEqual", foldLessOrEqual},
      {"Log", foldLog},
      {"Max", foldMax},
      {"Min", foldMin},
      {"Mod", foldMod},
      {"Mul", foldMul},
      {"Neg", foldNeg},
      {"Not", foldNot},
      {"Or", foldOr},
      {"Pow", foldPow},
      {"Reciprocal", foldReciprocal},
      {"ReduceMax", foldReduceMax},
      {"ReduceProd", foldReduceProd},
      {"ReduceSum", foldReduceSum},
      {"Sign", foldSign},
      {"Sqrt", foldSqrt},
      {"Sub", foldSub},
      {"Where", foldWhere},
  };
  for (auto [name, folder] : entries)
    table[name] = folder;
}
