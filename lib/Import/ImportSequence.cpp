// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sequences: lists of tensors while importing, nothing afterwards.

#include "GraphImporter.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace bessemer;
using namespace bessemer::ingest;
using namespace mlir;

/// Each piece of a split is an op.
static constexpr int64_t longestSequence = int64_t(1) << 16;

ArrayRef<ListItem> ImportedList::get() const {
  return items ? ArrayRef(*items).take_front(itemCount) : ArrayRef<ListItem>();
}

void ImportedList::append(ListItem item) {
  // Another list that grew beyond this one keeps what it has.
  if (!items || items->size() != itemCount)
    items = std::make_shared<std::vector<ListItem>>(get().vec());
  items->push_back(std::move(item));
  ++itemCount;
}

int64_t ImportedList::length() const {
  int64_t length = 0;
  for (const ListItem &item : get())
    length += item.count.value_or(1);
  return length;
}

bool ingest::isSequenceOp(const std::string &op) {
  return llvm::StringSwitch<bool>(op)
      .Cases({"ConcatFromSequence", "SequenceAt", "SequenceConstruct",
              "SequenceEmpty", "SequenceErase", "SequenceInsert",
              "SequenceLength", "SplitToSequence"},
             true)
      .Default(false);
}

std::optional<Imported> GraphImporter::elementOf(const onnx::NodeProto &node,
                                                 const ImportedList &list,
                                                 int64_t index) {
  for (const ListItem &item : list.get()) {
    int64_t count = item.count.value_or(1);
    if (index >= count) {
      index -= count;
      continue;
    }
    if (!item.count)
      return item.value;
    Imported at;
    at.literal = Literal::ofInts({index}, {});
    at.type = RankedTensorType::get({}, builder.getI64Type());
    Imported chunk = item.value;
    return emit(node, "Gather", {&chunk, &at}, {{"axis", 0}});
  }
  llvm_unreachable("the index is in the list");
}

/// The parts one after the other along dimension 0, without a concatenation;
/// nothing when that needs one.
static std::optional<Imported> joined(ArrayRef<Imported> parts,
                                      OpBuilder &builder) {
  std::vector<Value> values;
  for (const Imported &part : parts) {
    if (!part.value || part.shape().empty())
      return std::nullopt;
    values.push_back(part.value);
  }
  std::vector<Value> whole = joinChunks(std::move(values), builder);
  if (whole.size() != 1)
    return std::nullopt;
  Imported result;
  result.value = whole.front();
  result.type = cast<RankedTensorType>(result.value.getType());
  return result;
}

std::optional<Imported> GraphImporter::stackOf(const onnx::NodeProto &node,
                                               const ImportedList &list) {
  std::vector<Imported> parts;
  for (const ListItem &item : list.get()) {
    Imported part = item.value;
    if (!item.count) {
      std::vector<int64_t> shape = part.shape().vec();
      shape.insert(shape.begin(), 1);
      auto row = reshaped(node, part, std::move(shape));
      if (!row)
        return std::nullopt;
      part = *row;
    }
    parts.push_back(std::move(part));
  }
  if (parts.size() == 1)
    return parts.front();
  if (auto whole = joined(parts, builder))
    return whole;
  Operands operands;
  for (Imported &part : parts)
    operands.push_back(&part);
  return emit(node, "Concat", operands, {{"axis", 0}});
}

GraphImporter::Results
GraphImporter::concatFromSequence(const onnx::NodeProto &node,
                                  const ImportedList &list) {
  int64_t axis = intAttribute(node, "axis", 0);
  bool isNew = intAttribute(node, "new_axis", 0);
  auto fail = [&](const Twine &what) -> Results {
    report(node, what);
    return std::nullopt;
  };
  if (list.length() == 0)
    return fail("expected a sequence with elements, got an empty one");
  const ListItem &first = list.get().front();
  int64_t rank = first.value.shape().size() - first.count.has_value() + isNew;
  if (axis < -rank || axis >= rank)
    return fail("expected an axis of a tensor of rank " + Twine(rank) +
                ", got " + Twine(axis));
  if (axis < 0)
    axis += rank;
  if (isNew && axis == 0) {
    auto result = stackOf(node, list);
    return result ? Results(std::vector{*result}) : std::nullopt;
  }

  // Chunks lie along dimension 0: they are taken apart for another axis.
  std::vector<Imported> parts;
  if (axis == 0) {
    // Elements whose shapes differ in dimension 0 only come one by one.
    for (const ListItem &item : list.get()) {
      Imported part = item.value;
      if (item.count) {
        std::vector<int64_t> shape = part.shape().drop_front().vec();
        if (shape.empty())
          return fail("expected elements with an axis " + Twine(axis) +
                      ", got scalars");
        shape[0] *= *item.count;
        auto rows = reshaped(node, part, std::move(shape));
        if (!rows)
          return std::nullopt;
        part = *rows;
      }
      parts.push_back(std::move(part));
    }
    if (parts.size() > 1)
      if (auto whole = joined(parts, builder))
        return std::vector{*whole};
  } else {
    for (int64_t i = 0, end = list.length(); i < end; ++i) {
      auto element = elementOf(node, list, i);
      if (!element)
        return std::nullopt;
      if (isNew) {
        std::vector<int64_t> shape = element->shape().vec();
        shape.insert(shape.begin() + axis, 1);
        element = reshaped(node, *element, std::move(shape));
        if (!element)
          return std::nullopt;
      }
      parts.push_back(std::move(*element));
    }
  }
  if (parts.size() == 1)
    return std::vector{parts.front()};
  Operands operands;
  for (Imported &part : parts)
    operands.push_back(&part);
  auto result = emit(node, "Concat", operands, {{"axis", axis}});
  return result ? Results(std::vector{*result}) : std::nullopt;
}

GraphImporter::Results
GraphImporter::splitToSequence(const onnx::NodeProto &node,
                               const Operands &operands) {
  auto fail = [&](const Twine &what) -> Results {
    report(node, what);
    return std::nullopt;
  };
  Imported &input = *operands[0];
  ArrayRef<int64_t> shape = input.shape();
  int64_t rank = shape.size(), axis = intAttribute(node, "axis", 0);
  if (axis < -rank || axis >= rank)
    return fail("expected an axis of a tensor of rank " + Twine(rank) +
                ", got " + Twine(axis));
  if (axis < 0)
    axis += rank;
  int64_t size = shape[axis];
  std::vector<int64_t> sizes;
  bool keeps = true;
  if (operands.size() < 2 || !operands[1]) {
    if (size > longestSequence)
      return fail("expected at most " + Twine(longestSequence) +
                  " pieces, got " + Twine(size));
    sizes.assign(size, 1);
    keeps = intAttribute(node, "keepdims", 1);
  } else {
    const auto &known = operands[1]->literal;
    if (!known || known->isFloat())
      return fail("expected sizes that are known when compiling, got a value "
                  "computed from the data");
    sizes = known->ints;
    if (known->shape.empty()) {
      int64_t part = sizes[0];
      if (part <= 0)
        return fail("expected a positive size, got " + Twine(part));
      if (size / part > longestSequence)
        return fail("expected at most " + Twine(longestSequence) +
                    " pieces, got " + Twine(size / part));
      sizes.assign(size / part, part);
      if (size % part)
        sizes.push_back(size % part);
    }
  }
  int64_t total = 0;
  for (int64_t part : sizes) {
    if (part < 0 || part > size - total)
      return fail("expected sizes with the sum " + Twine(size) + ", got " +
                  shapeText(sizes));
    total += part;
  }
  if (total != size)
    return fail("expected sizes with the sum " + Twine(size) + ", got " +
                shapeText(sizes));
  Imported result;
  result.list.emplace();
  int64_t start = 0;
  for (int64_t part : sizes) {
    Imported bounds[3];
    int64_t values[] = {start, start + part, axis};
    for (int i = 0; i < 3; ++i) {
      bounds[i].literal = Literal::ofInts({values[i]}, {1});
      bounds[i].type = RankedTensorType::get({1}, builder.getI64Type());
    }
    auto piece =
        emit(node, "Slice", {&input, &bounds[0], &bounds[1], &bounds[2]});
    if (piece && !keeps) {
      std::vector<int64_t> squeezed = piece->shape().vec();
      squeezed.erase(squeezed.begin() + axis);
      piece = reshaped(node, *piece, std::move(squeezed));
    }
    if (!piece)
      return std::nullopt;
    result.list->append({std::move(*piece), std::nullopt});
    start += part;
  }
  return std::vector{std::move(result)};
}

GraphImporter::Results
GraphImporter::importSequenceOp(const onnx::NodeProto &node,
                                const Operands &operands) {
  auto fail = [&](const Twine &what) -> Results {
    report(node, what);
    return std::nullopt;
  };
  StringRef op = node.op_type();
  bool varies = llvm::any_of(operands, [](const Imported *operand) {
    return operand && operand->varies();
  });
  Imported result;
  if (op == "SequenceEmpty" || op == "SequenceConstruct") {
    if (varies)
      return narrow(0);
    result.list.emplace();
    for (const Imported *operand : operands)
      if (!operand || operand->list)
        return fail("expected tensors as elements");
      else
        result.list->append({*operand, std::nullopt});
    return std::vector{std::move(result)};
  }
  if (operands.empty() || !operands[0])
    return fail("expected an input");
  if (op == "SplitToSequence") {
    if (varies)
      return narrow(0);
    if (operands[0]->list)
      return fail("expected a tensor, got a sequence");
    return splitToSequence(node, operands);
  }
  if (!isSequenceOp(node.op_type()) && op != "Identity")
    return fail("expected a tensor, got a sequence");
  if (!operands[0]->list)
    return fail("expected a sequence, got a tensor");
  const ImportedList &list = *operands[0]->list;
  if (op == "Identity")
    return std::vector{*operands[0]};

  if (varies) {
    // Within lanes a sequence can only get one element more.
    if (op != "SequenceInsert" || operands.size() > 2 || !operands[1] ||
        operands[1]->list || operands[0]->hasGrown || !operands[0]->isGrowing)
      return narrow(0);
    auto chunk = stacked(node, *operands[1]);
    if (!chunk)
      return std::nullopt;
    chunk->isStacked = false;
    result = *operands[0];
    result.isGrowing = false;
    result.hasGrown = true;
    result.list->append({std::move(*chunk), lanes});
    return std::vector{std::move(result)};
  }

  int64_t length = list.length();
  int indexOperand = op == "SequenceInsert" ? 2 : 1;
  bool hasIndex = static_cast<int>(operands.size()) > indexOperand &&
                  operands[indexOperand] && op != "ConcatFromSequence" &&
                  op != "SequenceLength";
  int64_t index = op == "SequenceInsert" ? length : length - 1;
  if (hasIndex) {
    const Imported &given = *operands[indexOperand];
    if (!given.literal || given.literal->isFloat() ||
        given.literal->ints.size() != 1)
      return fail("expected a position that is known when compiling, got one "
                  "computed from the data");
    index = given.literal->ints[0];
    int64_t last = op == "SequenceInsert" ? length : length - 1;
    if (index < -length || index > last)
      return fail("expected a position in a sequence of " + Twine(length) +
                  " elements, got " + Twine(index));
    if (index < 0)
      index += length;
  }
  if (op == "SequenceLength") {
    result.literal = Literal::ofInts({length}, {});
    result.type = RankedTensorType::get({}, builder.getI64Type());
    return std::vector{std::move(result)};
  }
  if (op == "ConcatFromSequence")
    return concatFromSequence(node, list);
  if (op == "SequenceAt") {
    if (!hasIndex)
      return fail("expected a position");
    auto element = elementOf(node, list, index);
    return element ? Results(std::vector{*element}) : std::nullopt;
  }
  if (op == "SequenceInsert") {
    if (operands.size() < 2 || !operands[1] || operands[1]->list)
      return fail("expected a tensor to insert");
    result.list = list;
    if (index == length) {
      result.list->append({*operands[1], std::nullopt});
      return std::vector{std::move(result)};
    }
  } else if (length == 0) {
    return fail("expected a sequence with elements, got an empty one");
  }
  // Insertion and removal in the middle.
  result.list.emplace();
  for (int64_t i = 0; i < length; ++i) {
    if (op == "SequenceInsert" && i == index)
      result.list->append({*operands[1], std::nullopt});
    if (op == "SequenceErase" && i == index)
      continue;
    auto element = elementOf(node, list, i);
    if (!element)
      return std::nullopt;
    result.list->append({std::move(*element), std::nullopt});
  }
  return std::vector{std::move(result)};
}
