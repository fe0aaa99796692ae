// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes of a loop's body for several iterations at once. What cannot be done
// together narrows the lanes, and the loop tries again with fewer.

#include "Folding.h"
#include "GraphImporter.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

bool ingest::isElementwise(const std::string &op) {
  static const HandlerTable table = [] {
    HandlerTable table;
    addElementwiseHandlers(table);
    return table;
  }();
  return table.contains(op);
}

int64_t ingest::affineAt(int64_t first, int64_t slope, int64_t lane) {
  return wrappingAdd(first, wrappingMul(slope, lane));
}

/// The elements of an affine literal at a lane.
static Literal literalAt(const Imported &value, int64_t lane) {
  Literal literal = *value.literal;
  for (size_t i = 0; i < value.slope.size(); ++i)
    literal.ints[i] = affineAt(literal.ints[i], value.slope[i], lane);
  return literal;
}

static Imported known(Literal literal, OpBuilder &builder) {
  Imported result;
  if (Type element = elementTypeOf(builder.getContext(), literal.elementType))
    result.type = RankedTensorType::get(literal.shape, element);
  result.literal = std::move(literal);
  return result;
}

static Imported knownInts(std::vector<int64_t> ints, OpBuilder &builder) {
  int64_t count = ints.size();
  return known(Literal::ofInts(std::move(ints), {count}), builder);
}

/// The shape without the lanes.
static ArrayRef<int64_t> laneShape(const Imported &value) {
  return value.isStacked ? value.shape().drop_front() : value.shape();
}

std::optional<Imported> GraphImporter::stacked(const onnx::NodeProto &node,
                                               const Imported &value) {
  if (value.isStacked)
    return value;
  std::vector<int64_t> shape = value.shape().vec();
  shape.insert(shape.begin(), lanes);
  if (!value.slope.empty()) {
    if (product(shape) > largestFolded())
      return narrow(0);
    foldedElements += product(shape);
    Literal all = emptyLike(value.literal->elementType, shape);
    size_t count = value.slope.size();
    for (int64_t lane = 0; lane < lanes; ++lane)
      for (size_t i = 0; i < count; ++i)
        all.ints[lane * count + i] =
            affineAt(value.literal->ints[i], value.slope[i], lane);
    Imported result = known(std::move(all), builder);
    result.isStacked = true;
    return result;
  }
  Imported source = value, target = knownInts(shape, builder);
  source.validLanes = 0;
  auto result = emit(node, "Expand", {&source, &target});
  if (result)
    result->isStacked = true;
  return result;
}

/// Ops whose results are sums of their data operands' elements, so that
/// operands that are affine in the lane give results that are.
static bool isLinear(const onnx::NodeProto &node,
                     ArrayRef<Imported *> operands) {
  StringRef op = node.op_type();
  bool onlyData =
      llvm::StringSwitch<bool>(op)
          .Cases({"Add", "Cast", "Concat", "Identity", "Neg", "Sub"}, true)
          .Default(false);
  bool alsoShape =
      llvm::StringSwitch<bool>(op)
          .Cases({"CastLike", "Reshape", "Squeeze", "Unsqueeze"}, true)
          .Default(false);
  return onlyData || (alsoShape && (operands.size() < 2 || !operands[1] ||
                                    operands[1]->slope.empty()));
}

/// Folds a node whose operands are all known in every lane.
GraphImporter::Results GraphImporter::foldInLanes(const onnx::NodeProto &node,
                                                  const Operands &operands) {
  int64_t valid = 0;
  for (const Imported *operand : operands)
    if (operand && operand->validLanes)
      valid =
          valid ? std::min(valid, operand->validLanes) : operand->validLanes;
  int64_t limit = valid ? std::min(valid, lanes) : lanes;
  auto at = [&](int64_t lane) {
    std::vector<Literal> literals(operands.size());
    std::vector<FoldOperand> foldOperands(operands.size());
    for (auto [i, operand] : llvm::enumerate(operands))
      if (operand) {
        const Literal *literal = &*operand->literal;
        if (!operand->slope.empty()) {
          literals[i] = literalAt(*operand, lane);
          literal = &literals[i];
        }
        foldOperands[i] = {literal->elementType, literal->shape, literal, true};
      }
    return fold(node, foldOperands);
  };
  auto first = at(0);
  if (!first)
    return std::nullopt;
  Imported result = known(*first, builder);
  auto done = [&](int64_t lanesOfResult) -> Results {
    result.validLanes = lanesOfResult < lanes ? lanesOfResult : 0;
    return std::vector{std::move(result)};
  };
  if (llvm::all_of(operands, [](const Imported *operand) {
        return !operand || operand->slope.empty();
      }))
    return done(limit);
  // A lane alone computes like lanes of many, so that both can be joined.
  if (lanes == 1 && first->isFloat()) {
    first->shape.insert(first->shape.begin(), 1);
    result = known(std::move(*first), builder);
    result.isStacked = true;
    return std::vector{std::move(result)};
  }
  if (lanes == 1 && first->elementType != onnx::TensorProto::BOOL)
    result.slope.assign(first->ints.size(), 0);
  if (limit == 1)
    return done(1);

  auto second = at(1);
  if (!second || second->shape != first->shape)
    return narrow(1);
  if (first->isFloat()) {
    // Numbers that change are data from here on.
    std::vector<int64_t> shape = first->shape;
    shape.insert(shape.begin(), limit);
    if (limit < lanes)
      return narrow(limit);
    if (product(shape) > largestFolded())
      return narrow(0);
    Literal all = emptyLike(first->elementType, shape);
    for (int64_t lane = 0, size = first->size(); lane < lanes; ++lane) {
      auto element = at(lane);
      if (!element || element->shape != first->shape)
        return narrow(lane);
      llvm::copy(element->floats, all.floats.begin() + lane * size);
    }
    result = known(std::move(all), builder);
    result.isStacked = true;
    return std::vector{std::move(result)};
  }
  if (first->elementType == onnx::TensorProto::BOOL) {
    int64_t lane = 1;
    for (; lane < limit; ++lane) {
      auto other = at(lane);
      if (!other || other->shape != first->shape || other->ints != first->ints)
        break;
    }
    return done(lane);
  }
  std::vector<int64_t> slope;
  for (auto [a, b] : llvm::zip_equal(first->ints, second->ints))
    slope.push_back(wrappingSub(b, a));
  if (llvm::any_of(slope, [](int64_t step) { return step != 0; }))
    result.slope = slope;
  // Smaller integers wrap.
  if (first->elementType != onnx::TensorProto::INT64 ||
      !isLinear(node, operands))
    for (int64_t lane = 2; lane < limit; ++lane) {
      auto other = at(lane);
      bool fits = other && other->shape == first->shape;
      for (size_t i = 0; fits && i < slope.size(); ++i)
        fits = other->ints[i] == affineAt(first->ints[i], slope[i], lane);
      if (!fits)
        return narrow(lane);
    }
  return done(limit);
}

/// Slices along dimension 0 whose bounds move with the lane.
GraphImporter::Results GraphImporter::sliceInLanes(const onnx::NodeProto &node,
                                                   const Operands &operands) {
  Imported &data = *operands[0];
  auto isOne = [&](size_t i, int64_t expected) {
    if (i >= operands.size() || !operands[i])
      return true;
    const Imported &operand = *operands[i];
    return operand.literal && operand.slope.empty() &&
           operand.literal->ints == std::vector<int64_t>{expected};
  };
  if (operands.size() < 3 || data.varies() || data.shape().empty() ||
      !isOne(3, 0) || !isOne(4, 1))
    return narrow(0);
  int64_t first[2], step[2], size = data.shape()[0];
  for (int i = 0; i < 2; ++i) {
    const Imported &bound = *operands[i + 1];
    if (!bound.literal || bound.literal->isFloat() || bound.isStacked ||
        bound.literal->ints.size() != 1)
      return narrow(0);
    first[i] = bound.literal->ints[0];
    step[i] = bound.slope.empty() ? 0 : bound.slope[0];
    if (first[i] < 0 || step[i] < 0)
      return narrow(0);
    first[i] = std::min(first[i], size);
    // The bounds of later lanes must lie in the tensor, too.
    if (step[i] > 0 && (size - first[i]) / step[i] + 1 < lanes)
      return narrow((size - first[i]) / step[i] + 1);
  }
  int64_t length = first[1] - first[0];
  if (length <= 0)
    return narrow(0);
  if (lanes > 1 && step[0] != step[1])
    return narrow(1);
  std::vector<int64_t> shape = data.shape().vec();
  shape[0] = length;
  shape.insert(shape.begin(), lanes);
  std::optional<Imported> result;
  if (lanes == 1 || step[0] == length) {
    Imported start = knownInts({first[0]}, builder);
    Imported end = knownInts({first[0] + lanes * length}, builder);
    Imported axis = knownInts({0}, builder);
    auto rows = emit(node, "Slice", {&data, &start, &end, &axis});
    if (!rows)
      return std::nullopt;
    result = reshaped(node, *rows, shape);
  } else {
    if (product({lanes, length}) > largestFolded())
      return narrow(0);
    foldedElements += lanes * length;
    Literal rows = emptyLike(onnx::TensorProto::INT64, {lanes, length});
    for (int64_t lane = 0; lane < lanes; ++lane)
      for (int64_t i = 0; i < length; ++i)
        rows.ints[lane * length + i] = first[0] + lane * step[0] + i;
    Imported indices = known(std::move(rows), builder);
    result = emit(node, "Gather", {&data, &indices}, {{"axis", 0}});
  }
  if (!result)
    return std::nullopt;
  result->isStacked = true;
  return std::vector{std::move(*result)};
}

GraphImporter::Results GraphImporter::gatherInLanes(const onnx::NodeProto &node,
                                                    const Operands &operands) {
  if (operands.size() != 2 || operands[0]->varies() ||
      operands[0]->shape().empty())
    return narrow(0);
  int64_t rank = operands[0]->shape().size();
  int64_t axis = intAttribute(node, "axis", 0);
  if (axis != 0 && axis != -rank)
    return narrow(0);
  Imported &data = *operands[0], &indices = *operands[1];
  std::optional<Imported> result;
  if (!indices.isStacked && indices.shape().empty() && lanes > 1 &&
      indices.slope == std::vector<int64_t>{1} &&
      indices.literal->ints[0] >= 0 &&
      indices.literal->ints[0] <= data.shape()[0] - lanes) {
    Imported start = knownInts({indices.literal->ints[0]}, builder);
    Imported end = knownInts({indices.literal->ints[0] + lanes}, builder);
    Imported along = knownInts({0}, builder);
    result = emit(node, "Slice", {&data, &start, &end, &along});
  } else {
    auto all = stacked(node, indices);
    if (!all)
      return std::nullopt;
    result = emit(node, "Gather", {&data, &*all}, {{"axis", 0}});
  }
  if (!result)
    return std::nullopt;
  result->isStacked = true;
  return std::vector{std::move(*result)};
}

/// Axes that count from the front move behind the lanes.
static std::vector<int64_t> behindLanes(std::vector<int64_t> axes) {
  for (int64_t &axis : axes)
    axis += axis >= 0;
  return axes;
}

GraphImporter::Results GraphImporter::reduceInLanes(const onnx::NodeProto &node,
                                                    const Operands &operands) {
  Imported &data = *operands[0];
  std::vector<int64_t> axes;
  if (operands.size() > 1 && operands[1]) {
    if (!operands[1]->literal || operands[1]->varies())
      return narrow(0);
    axes = behindLanes(operands[1]->literal->ints);
  }
  if (axes.empty() && !intAttribute(node, "noop_with_empty_axes", 0))
    llvm::append_range(axes, llvm::seq<int64_t>(1, data.shape().size()));
  if (axes.empty())
    return std::vector{data};
  Imported moved = knownInts(axes, builder);
  return importOp(node, {&data, &moved});
}

GraphImporter::Results
GraphImporter::elementwiseInLanes(const onnx::NodeProto &node,
                                  const Operands &operands) {
  // Broadcasts align the last dimensions: those between the lanes and the
  // dimensions of an operand of smaller rank are filled with ones.
  size_t rank = 0;
  for (const Imported *operand : operands)
    if (operand)
      rank = std::max(rank, laneShape(*operand).size());
  std::vector<Imported> aligned;
  for (const Imported *operand : operands) {
    Imported &mine = aligned.emplace_back();
    if (!operand)
      continue;
    mine = *operand;
    if (!mine.slope.empty()) {
      auto all = stacked(node, mine);
      if (!all)
        return std::nullopt;
      mine = *all;
    }
    if (!mine.isStacked || laneShape(mine).size() == rank)
      continue;
    std::vector<int64_t> shape(rank + 1, 1);
    llvm::copy(llvm::reverse(laneShape(mine)), shape.rbegin());
    shape[0] = lanes;
    auto filled = reshaped(node, mine, std::move(shape));
    if (!filled)
      return std::nullopt;
    mine = *filled;
  }
  Operands pointers;
  for (auto [mine, operand] : llvm::zip_equal(aligned, operands))
    pointers.push_back(operand ? &mine : nullptr);
  return importOp(node, pointers);
}

GraphImporter::Results GraphImporter::importInLanes(const onnx::NodeProto &node,
                                                    const Operands &operands) {
  StringRef op = node.op_type();
  bool allKnown = true;
  for (const Imported *operand : operands)
    if (operand) {
      if (operand->isGrowing || operand->hasGrown || operand->list)
        return narrow(0);
      allKnown &= operand->literal && !operand->isStacked;
    }
  if (op == "Identity") {
    if (const auto &literal = operands[0]->literal) {
      if (literal->size() > largestFolded())
        return narrow(0);
      foldedElements += literal->size();
    }
    return std::vector{*operands[0]};
  }
  if (allKnown)
    if (auto results = foldInLanes(node, operands))
      return results;
  if (laneLimit < lanes)
    return std::nullopt;
  for (const Imported *operand : operands)
    if (operand && operand->validLanes && operand->validLanes < lanes)
      return narrow(operand->validLanes);
  auto intsOf = [&](size_t i) -> const std::vector<int64_t> * {
    if (i >= operands.size() || !operands[i] || !operands[i]->literal ||
        operands[i]->varies() || operands[i]->literal->isFloat())
      return nullptr;
    return &operands[i]->literal->ints;
  };

  Results results;
  if (op == "Slice") {
    return sliceInLanes(node, operands);
  } else if (op == "Gather") {
    return gatherInLanes(node, operands);
  } else if (isElementwise(node.op_type())) {
    results = elementwiseInLanes(node, operands);
  } else if (!operands[0] || !operands[0]->isStacked) {
    return narrow(0);
  } else if (op.starts_with("Reduce")) {
    results = reduceInLanes(node, operands);
  } else if (op == "Shape" || op == "Size") {
    FoldOperand data;
    data.present = true;
    data.shape = laneShape(*operands[0]);
    auto literal = fold(node, data);
    if (!literal)
      return narrow(0);
    return std::vector{known(std::move(*literal), builder)};
  } else if (op == "Unsqueeze" || (op == "Squeeze" && intsOf(1))) {
    if (!intsOf(1))
      return narrow(0);
    Imported axes = knownInts(behindLanes(*intsOf(1)), builder);
    results = importOp(node, {operands[0], &axes});
  } else if (op == "Reshape" && intsOf(1)) {
    std::vector<int64_t> target = *intsOf(1);
    if (!intAttribute(node, "allowzero", 0))
      for (size_t i = 0; i < target.size(); ++i)
        if (target[i] == 0 && i < laneShape(*operands[0]).size())
          target[i] = laneShape(*operands[0])[i];
    target.insert(target.begin(), lanes);
    Imported sizes = knownInts(std::move(target), builder);
    results = importOp(node, {operands[0], &sizes});
  } else if (op == "Expand" && intsOf(1)) {
    std::vector<int64_t> target = *intsOf(1);
    size_t rank = std::max(laneShape(*operands[0]).size(), target.size());
    std::vector<int64_t> shape(rank + 1, 1);
    llvm::copy(llvm::reverse(laneShape(*operands[0])), shape.rbegin());
    shape[0] = lanes;
    auto filled = reshaped(node, *operands[0], std::move(shape));
    if (!filled)
      return std::nullopt;
    Imported sizes = knownInts(std::move(target), builder);
    results = importOp(node, {&*filled, &sizes});
  } else {
    return narrow(0);
  }
  if (!results)
    return std::nullopt;
  for (Imported &result : *results) {
    if (result.shape().empty() || result.shape()[0] != lanes)
      return narrow(0);
    result.isStacked = true;
  }
  return results;
}
