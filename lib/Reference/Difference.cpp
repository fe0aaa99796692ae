// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How two evaluations differ, and which op is the first to compute something
// else.

#include "Difference.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace bessemer::reference;

/// " at [1, 2]" of an element in row-major order.
static std::string describePosition(ArrayRef<int64_t> shape, int64_t position) {
  if (shape.empty())
    return "";
  SmallVector<int64_t> index(shape.size());
  for (size_t dim = shape.size(); dim-- > 0; position /= shape[dim])
    index[dim] = position % shape[dim];
  return llvm::formatv(" at [{0:$[, ]}]",
                       llvm::make_range(index.begin(), index.end()))
      .str();
}

/// The largest difference of two float tensors of equal size beyond the
/// tolerance: its position.
static std::optional<int64_t>
largestDifference(const Tensor &before, const Tensor &after, double &largest) {
  double magnitude = 0.0;
  for (double value : before.floats)
    if (std::isfinite(value))
      magnitude = std::max(magnitude, std::fabs(value));
  largest = 0.0;
  int64_t position = 0;
  for (int64_t i = 0; i < before.size(); ++i) {
    double a = before.floats[i], b = after.floats[i];
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    double difference = std::fabs(a - b);
    if (!std::isfinite(difference))
      difference = std::numeric_limits<double>::infinity();
    if (difference > largest) {
      largest = difference;
      position = i;
    }
  }
  if (largest <= 1e-6 * magnitude)
    return std::nullopt;
  return position;
}

std::optional<std::string>
bessemer::reference::describeDifference(const Tensor &before,
                                        const Tensor &after) {
  if (before.type != after.type)
    return llvm::formatv("its type was {0}, is {1}", Type(before.type),
                         Type(after.type))
        .str();
  if (!before.isFloat()) {
    for (int64_t i = 0; i < before.size(); ++i)
      if (before.integers[i] != after.integers[i])
        return llvm::formatv("an element was {0}, is {1}{2}",
                             before.integers[i], after.integers[i],
                             describePosition(before.shape(), i))
            .str();
    return std::nullopt;
  }
  double largest;
  std::optional<int64_t> position = largestDifference(before, after, largest);
  if (!position)
    return std::nullopt;
  return llvm::formatv("largest difference {0:e3} (was {1:e6}, is {2:e6}{3})",
                       largest, before.floats[*position],
                       after.floats[*position],
                       describePosition(before.shape(), *position))
      .str();
}

/// Whether two tensors have the same elements, in whatever shape.
static bool haveSameElements(const Tensor &a, const Tensor &b) {
  if (a.size() != b.size() || a.isFloat() != b.isFloat())
    return false;
  double unused;
  return a.isFloat() ? !largestDifference(a, b, unused)
                     : a.integers == b.integers;
}

namespace {
class Search {
public:
  Search(const Trace &before, const Trace &after) : before(before) {
    for (const auto &[value, tensor] : after)
      tensors[value] = &tensor;
  }

  /// The first op in program order among those that make `wrong` differ.
  std::optional<Culprit> run(Value wrong) {
    visit(wrong);
    if (!first)
      return std::nullopt;
    return Culprit{first, describe(first)};
  }

private:
  bool isRight(Value value) {
    auto tensor = tensors.find(value);
    if (tensor == tensors.end())
      return true; // an argument, or the step block
    // What an op makes of nothing was not computed wrongly.
    if (value.getDefiningOp()->getNumOperands() == 0)
      return true;
    return llvm::any_of(before, [&](const auto &entry) {
      return haveSameElements(entry.second, *tensor->second);
    });
  }

  /// Returns whether `value` is wrong. It is the first of its kind when all
  /// that it is computed from is right.
  bool visit(Value value) {
    auto [known, isNew] = wrongs.try_emplace(value, false);
    if (!isNew)
      return known->second;
    if (isRight(value))
      return false;
    wrongs[value] = true;
    bool inherited = false;
    for (Value operand : value.getDefiningOp()->getOperands())
      inherited |= visit(operand);
    auto result = cast<OpResult>(value);
    if (!inherited &&
        (!first || result.getOwner()->isBeforeInBlock(first.getOwner())))
      first = result;
    return true;
  }

  /// The value of before that `value` stands for: of its type, computed at its
  /// location, and no value behind the pass.
  std::string describe(OpResult value) {
    const Tensor &is = *tensors[value];
    for (bool needsLocation : {true, false})
      for (const auto &[old, tensor] : before) {
        if (tensor.type != is.type ||
            (needsLocation && old.getLoc() != value.getLoc()))
          continue;
        bool survives = llvm::any_of(tensors, [&, &was = tensor](auto &entry) {
          return haveSameElements(was, *entry.second);
        });
        if (survives)
          continue;
        if (auto text = describeDifference(tensor, is))
          return *text;
      }
    return "";
  }

  const Trace &before;
  llvm::DenseMap<Value, const Tensor *> tensors;
  llvm::DenseMap<Value, bool> wrongs;
  OpResult first;
};
} // namespace

std::optional<Culprit> bessemer::reference::findCulprit(Value wrong,
                                                        const Trace &before,
                                                        const Trace &after) {
  return Search(before, after).run(wrong);
}
