// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folding of constants, shapes and the ops that move elements.

#include "Folding.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

using namespace bessemer;
using namespace bessemer::ingest;
using onnx::TensorProto;

static FoldResult foldConstant(const Folding &f) {
  if (f.node.attribute_size() != 1)
    return std::nullopt;
  const auto &value = f.node.attribute(0);
  Literal result;
  if (value.name() == "value")
    return literalOf(value.t());
  if (value.name() == "value_int" || value.name() == "value_ints") {
    bool isList = value.name() == "value_ints";
    result.elementType = TensorProto::INT64;
    if (isList) {
      result.ints.assign(value.ints().begin(), value.ints().end());
      result.shape = {static_cast<int64_t>(result.ints.size())};
    } else {
      result.ints = {value.i()};
    }
    return result;
  }
  if (value.name() == "value_float" || value.name() == "value_floats") {
    result.elementType = TensorProto::FLOAT;
    if (value.name() == "value_floats") {
      result.floats.assign(value.floats().begin(), value.floats().end());
      result.shape = {static_cast<int64_t>(result.floats.size())};
    } else {
      result.floats = {value.f()};
    }
    return result;
  }
  return std::nullopt;
}

static FoldResult foldConstantOfShape(const Folding &f) {
  const Literal *shape = f.literal(0);
  if (!shape || shape->isFloat() || product(shape->ints) > f.largest)
    return std::nullopt;
  Literal value;
  value.elementType = TensorProto::FLOAT;
  value.floats = {0};
  if (const auto *attribute = findAttribute(f.node, "value")) {
    auto given = literalOf(attribute->t());
    if (!given || given->size() != 1)
      return std::nullopt;
    value = *given;
  }
  Literal result = emptyLike(value.elementType, shape->ints);
  for (int64_t i = 0, end = result.size(); i < end; ++i)
    copyElement(value, 0, result, i);
  return result;
}

/// Ones on a diagonal; only the operand's shape and type matter.
static FoldResult foldEyeLike(const Folding &f) {
  if (!f.has(0) || f.operands[0].shape.size() != 2)
    return std::nullopt;
  int64_t rows = f.operands[0].shape[0], columns = f.operands[0].shape[1];
  int64_t diagonal = intAttribute(f.node, "k", 0);
  int32_t type = static_cast<int32_t>(
      intAttribute(f.node, "dtype", f.operands[0].elementType));
  if (product({rows, columns}) > f.largest)
    return std::nullopt;
  Literal result = emptyLike(type, {rows, columns});
  // Beyond the matrix there is nothing.
  diagonal = std::clamp<int64_t>(diagonal, -rows, columns);
  for (int64_t row = 0; row < rows; ++row)
    if (int64_t column = row + diagonal; column >= 0 && column < columns) {
      if (result.isFloat())
        result.floats[row * columns + column] = 1;
      else
        result.ints[row * columns + column] = 1;
    }
  return result;
}

static FoldResult foldShape(const Folding &f) {
  if (!f.has(0))
    return std::nullopt;
  llvm::ArrayRef<int64_t> shape = f.operands[0].shape;
  int64_t rank = shape.size();
  auto clamp = [&](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  int64_t start = clamp(intAttribute(f.node, "start", 0));
  int64_t end = clamp(intAttribute(f.node, "end", rank));
  Shape sizes;
  if (start < end)
    sizes.assign(shape.begin() + start, shape.begin() + end);
  int64_t count = sizes.size();
  return Literal::ofInts(std::move(sizes), {count});
}
static FoldResult foldSize(const Folding &f) {
  if (!f.has(0))
    return std::nullopt;
  return Literal::ofInts({product(f.operands[0].shape)}, {});
}

static FoldResult foldConcat(const Folding &f) {
  if (f.operands.empty() ||
      llvm::any_of(f.operands, [](const auto &o) { return !o.literal; }))
    return std::nullopt;
  const Literal &first = *f.literal(0);
  auto axis =
      Folding::normalAxis(intAttribute(f.node, "axis", 0), first.shape.size());
  if (!axis)
    return std::nullopt;
  Shape shape = first.shape;
  shape[*axis] = 0;
  for (const auto &operand : f.operands) {
    const Literal &part = *operand.literal;
    if (part.elementType != first.elementType ||
        part.shape.size() != shape.size())
      return std::nullopt;
    for (size_t i = 0; i < shape.size(); ++i)
      if (static_cast<int64_t>(i) != *axis && part.shape[i] != shape[i])
        return std::nullopt;
    if (__builtin_add_overflow(shape[*axis], part.shape[*axis], &shape[*axis]))
      return std::nullopt;
  }
  if (product(shape) > f.largest)
    return std::nullopt;
  Literal result = emptyLike(first.elementType, shape);
  if (result.size() == 0)
    return result;
  int64_t outer = product(llvm::ArrayRef(shape).take_front(*axis));
  int64_t inner = product(llvm::ArrayRef(shape).drop_front(*axis + 1));
  int64_t at = 0;
  for (int64_t o = 0; o < outer; ++o)
    for (const auto &operand : f.operands) {
      int64_t run = operand.literal->shape[*axis] * inner;
      for (int64_t i = 0; i < run; ++i)
        copyElement(*operand.literal, o * run + i, result, at++);
    }
  return result;
}

static FoldResult foldGather(const Folding &f) {
  const Literal *data = f.literal(0), *indices = f.literal(1);
  if (!data || !indices || indices->isFloat())
    return std::nullopt;
  auto axis =
      Folding::normalAxis(intAttribute(f.node, "axis", 0), data->shape.size());
  if (!axis)
    return std::nullopt;
  Shape shape(data->shape.begin(), data->shape.begin() + *axis);
  shape.insert(shape.end(), indices->shape.begin(), indices->shape.end());
  shape.insert(shape.end(), data->shape.begin() + *axis + 1, data->shape.end());
  if (product(shape) > f.largest)
    return std::nullopt;
  Literal result = emptyLike(data->elementType, shape);
  if (result.size() == 0)
    return result;
  int64_t size = data->shape[*axis];
  int64_t outer = product(llvm::ArrayRef(data->shape).take_front(*axis));
  int64_t inner = product(llvm::ArrayRef(data->shape).drop_front(*axis + 1));
  int64_t at = 0;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t index : indices->ints) {
      auto position = Folding::normalAxis(index, size);
      if (!position)
        return std::nullopt;
      for (int64_t i = 0; i < inner; ++i)
        copyElement(*data, (o * size + *position) * inner + i, result, at++);
    }
  return result;
}

static FoldResult foldGatherElements(const Folding &f) {
  const Literal *data = f.literal(0), *indices = f.literal(1);
  if (!data || !indices || indices->isFloat() ||
      data->shape.size() != indices->shape.size())
    return std::nullopt;
  int64_t rank = data->shape.size();
  auto axis = Folding::normalAxis(intAttribute(f.node, "axis", 0), rank);
  if (!axis)
    return std::nullopt;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim != *axis && indices->shape[dim] > data->shape[dim])
      return std::nullopt;
  Literal result = emptyLike(data->elementType, indices->shape);
  for (int64_t i = 0, end = indices->size(); i < end; ++i) {
    auto position = Folding::normalAxis(indices->ints[i], data->shape[*axis]);
    if (!position)
      return std::nullopt;
    int64_t rest = i, source = 0, stride = 1;
    for (int64_t dim = rank; dim-- > 0;) {
      int64_t index = rest % indices->shape[dim];
      rest /= indices->shape[dim];
      source += (dim == *axis ? *position : index) * stride;
      stride *= data->shape[dim];
    }
    copyElement(*data, source, result, i);
  }
  return result;
}

static FoldResult foldGatherND(const Folding &f) {
  const Literal *data = f.literal(0), *indices = f.literal(1);
  int64_t batch = intAttribute(f.node, "batch_dims", 0);
  if (!data || !indices || indices->isFloat() || indices->shape.empty())
    return std::nullopt;
  int64_t rank = data->shape.size(), tuple = indices->shape.back();
  int64_t indexRank = indices->shape.size();
  if (batch < 0 || batch >= indexRank || tuple < 1 || batch + tuple > rank ||
      !std::equal(data->shape.begin(), data->shape.begin() + batch,
                  indices->shape.begin()))
    return std::nullopt;
  llvm::ArrayRef<int64_t> sizes(data->shape);
  Shape shape(indices->shape.begin(), indices->shape.end() - 1);
  llvm::append_range(shape, sizes.drop_front(batch + tuple));
  if (product(shape) > f.largest)
    return std::nullopt;
  Literal result = emptyLike(data->elementType, shape);
  if (result.size() == 0)
    return result;
  int64_t inner = product(sizes.drop_front(batch + tuple));
  int64_t perBatch =
      product(llvm::ArrayRef(indices->shape).drop_front(batch).drop_back());
  int64_t tuples = indices->size() / tuple, at = 0;
  for (int64_t t = 0; t < tuples; ++t) {
    int64_t row = t / perBatch;
    for (int64_t i = 0; i < tuple; ++i) {
      int64_t size = sizes[batch + i];
      auto position = Folding::normalAxis(indices->ints[t * tuple + i], size);
      if (!position)
        return std::nullopt;
      row = row * size + *position;
    }
    for (int64_t i = 0; i < inner; ++i)
      copyElement(*data, row * inner + i, result, at++);
  }
  return result;
}

/// Replaces elements; reductions stay in the graph.
static FoldResult foldScatterND(const Folding &f) {
  const Literal *data = f.literal(0), *indices = f.literal(1),
                *updates = f.literal(2);
  if (!data || !indices || !updates || indices->isFloat() ||
      indices->shape.empty() || updates->elementType != data->elementType ||
      stringAttribute(f.node, "reduction", "none") != "none")
    return std::nullopt;
  int64_t rank = data->shape.size(), tuple = indices->shape.back();
  if (tuple < 1 || tuple > rank)
    return std::nullopt;
  llvm::ArrayRef<int64_t> sizes(data->shape);
  Shape shape(indices->shape.begin(), indices->shape.end() - 1);
  llvm::append_range(shape, sizes.drop_front(tuple));
  if (updates->shape != shape)
    return std::nullopt;
  int64_t inner = product(sizes.drop_front(tuple));
  Literal result = *data;
  for (int64_t t = 0, end = indices->size() / tuple; t < end; ++t) {
    int64_t row = 0;
    for (int64_t i = 0; i < tuple; ++i) {
      auto position =
          Folding::normalAxis(indices->ints[t * tuple + i], sizes[i]);
      if (!position)
        return std::nullopt;
      row = row * sizes[i] + *position;
    }
    for (int64_t i = 0; i < inner; ++i)
      copyElement(*updates, t * inner + i, result, row * inner + i);
  }
  return result;
}

static FoldResult foldTrilu(const Folding &f) {
  const Literal *data = f.literal(0);
  if (!data || data->shape.size() < 2 ||
      (f.has(1) && (!f.ints(1) || f.ints(1)->size() != 1)))
    return std::nullopt;
  int64_t rows = data->shape[data->shape.size() - 2];
  int64_t columns = data->shape.back();
  // Beyond the matrix all diagonals are alike.
  int64_t diagonal = f.has(1)
                         ? std::clamp<int64_t>(f.ints(1)->front(),
                                               -rows - columns, rows + columns)
                         : 0;
  bool upper = intAttribute(f.node, "upper", 1) != 0;
  Literal result = emptyLike(data->elementType, data->shape);
  for (int64_t i = 0, end = result.size(); i < end; ++i) {
    int64_t column = i % columns, row = i / columns % rows;
    if (upper ? column >= row + diagonal : column <= row + diagonal)
      copyElement(*data, i, result, i);
  }
  return result;
}

/// An empty slice needs no data.
static FoldResult foldSlice(const Folding &f) {
  const Literal *data = f.literal(0);
  const auto *starts = f.ints(1), *ends = f.ints(2);
  if (!f.has(0) || !starts || !ends || ends->size() != starts->size())
    return std::nullopt;
  for (size_t i : {3, 4})
    if (f.has(i) && (!f.ints(i) || f.ints(i)->size() != starts->size()))
      return std::nullopt;
  llvm::ArrayRef<int64_t> sizes = f.operands[0].shape;
  int64_t rank = sizes.size();
  Shape begin(rank, 0), step(rank, 1), shape = sizes.vec();
  std::set<int64_t> axes;
  for (size_t i = 0; i < starts->size(); ++i) {
    auto axis = Folding::normalAxis(
        f.has(3) ? (*f.ints(3))[i] : static_cast<int64_t>(i), rank);
    if (!axis || !axes.insert(*axis).second)
      return std::nullopt;
    int64_t stride = f.has(4) ? (*f.ints(4))[i] : 1;
    if (stride == 0 || stride == std::numeric_limits<int64_t>::min())
      return std::nullopt;
    int64_t size = sizes[*axis];
    auto position = [&](int64_t value) {
      if (value < 0)
        value = std::max<int64_t>(value, -size - 1) + size;
      return stride > 0 ? std::clamp<int64_t>(value, 0, size)
                        : std::clamp<int64_t>(value, -1, size - 1);
    };
    begin[*axis] = position((*starts)[i]);
    int64_t end = position((*ends)[i]);
    step[*axis] = stride;
    int64_t length = stride > 0 ? end - begin[*axis] : begin[*axis] - end;
    int64_t magnitude = std::abs(stride);
    shape[*axis] = length <= 0 ? 0 : (length - 1) / magnitude + 1;
  }
  if (product(shape) == 0)
    return emptyLike(f.operands[0].elementType, shape);
  if (!data)
    return std::nullopt;
  Literal result = emptyLike(data->elementType, shape);
  for (int64_t i = 0, end = product(shape); i < end; ++i) {
    int64_t rest = i, source = 0, stride = 1;
    for (int64_t axis = rank; axis-- > 0;) {
      int64_t position = rest % shape[axis];
      rest /= shape[axis];
      source += (begin[axis] + position * step[axis]) * stride;
      stride *= data->shape[axis];
    }
    copyElement(*data, source, result, i);
  }
  return result;
}

static FoldResult reshaped(const Literal &data, Shape shape) {
  if (product(shape) != data.size())
    return std::nullopt;
  Literal result = data;
  result.shape = std::move(shape);
  return result;
}
static FoldResult foldUnsqueeze(const Folding &f) {
  const Literal *data = f.literal(0);
  const auto *axes = f.ints(1);
  if (!data || !axes)
    return std::nullopt;
  int64_t rank = data->shape.size() + axes->size();
  Shape shape(rank, 0);
  for (int64_t axis : *axes) {
    auto position = Folding::normalAxis(axis, rank);
    if (!position || shape[*position] == 1)
      return std::nullopt;
    shape[*position] = 1;
  }
  auto next = data->shape.begin();
  for (int64_t &size : shape)
    if (size == 0)
      size = *next++;
  return reshaped(*data, shape);
}
static FoldResult foldSqueeze(const Folding &f) {
  const Literal *data = f.literal(0);
  if (!data || (f.has(1) && !f.ints(1)))
    return std::nullopt;
  Shape shape = data->shape;
  for (int64_t &size : shape)
    if (!f.has(1) && size == 1)
      size = -1;
  if (f.has(1))
    for (int64_t axis : *f.ints(1)) {
      auto position = Folding::normalAxis(axis, shape.size());
      if (!position || data->shape[*position] != 1)
        return std::nullopt;
      shape[*position] = -1;
    }
  llvm::erase(shape, -1);
  return reshaped(*data, shape);
}
static FoldResult foldReshape(const Folding &f) {
  const Literal *data = f.literal(0);
  const auto *target = f.ints(1);
  if (!data || !target || llvm::count(*target, -1) > 1)
    return std::nullopt;
  Shape shape = *target, known;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !intAttribute(f.node, "allowzero", 0)) {
      if (i >= data->shape.size())
        return std::nullopt;
      shape[i] = data->shape[i];
    }
    if (shape[i] != -1)
      known.push_back(shape[i]);
  }
  int64_t others = product(known);
  for (int64_t &size : shape)
    if (size == -1)
      size = others ? data->size() / others : 0;
  return reshaped(*data, shape);
}
static FoldResult foldTranspose(const Folding &f) {
  const Literal *data = f.literal(0);
  if (!data)
    return std::nullopt;
  size_t rank = data->shape.size();
  Shape permutation(rank);
  std::iota(permutation.rbegin(), permutation.rend(), 0);
  permutation = intsAttribute(f.node, "perm", permutation);
  Shape sorted = permutation;
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, rank)))
    return std::nullopt;
  Shape strides(rank, 1), shape(rank);
  for (size_t i = rank; i-- > 1;)
    strides[i - 1] = strides[i] * data->shape[i];
  for (size_t i = 0; i < rank; ++i)
    shape[i] = data->shape[permutation[i]];
  Literal result = emptyLike(data->elementType, shape);
  for (int64_t i = 0, end = data->size(); i < end; ++i) {
    int64_t rest = i, source = 0;
    for (size_t axis = rank; axis-- > 0;) {
      source += rest % shape[axis] * strides[permutation[axis]];
      rest /= shape[axis];
    }
    copyElement(*data, source, result, i);
  }
  return result;
}
static FoldResult foldExpand(const Folding &f) {
  const Literal *data = f.literal(0);
  const auto *target = f.ints(1);
  if (!data || !target)
    return std::nullopt;
  auto shape = broadcastShapes(data->shape, *target);
  if (!shape || product(*shape) > f.largest)
    return std::nullopt;
  Literal result = emptyLike(data->elementType, *shape);
  for (int64_t i = 0, end = result.size(); i < end; ++i)
    copyElement(*data, sourceIndex(*shape, i, data->shape), result, i);
  return result;
}
static FoldResult foldTile(const Folding &f) {
  const Literal *data = f.literal(0);
  const auto *repeats = f.ints(1);
  if (!data || !repeats || repeats->size() != data->shape.size())
    return std::nullopt;
  Shape shape = data->shape;
  for (size_t i = 0; i < shape.size(); ++i)
    if (__builtin_mul_overflow(shape[i], (*repeats)[i], &shape[i]))
      return std::nullopt;
  if (product(shape) > f.largest)
    return std::nullopt;
  Literal result = emptyLike(data->elementType, shape);
  for (int64_t i = 0, end = result.size(); i < end; ++i) {
    int64_t rest = i, source = 0, stride = 1;
    for (size_t axis = shape.size(); axis-- > 0;) {
      source += rest % shape[axis] % data->shape[axis] * stride;
      rest /= shape[axis];
      stride *= data->shape[axis];
    }
    copyElement(*data, source, result, i);
  }
  return result;
}
static FoldResult foldRange(const Folding &f) {
  const Literal *start = f.literal(0), *limit = f.literal(1),
                *delta = f.literal(2);
  if (!start || !limit || !delta || start->size() != 1 || limit->size() != 1 ||
      delta->size() != 1 || delta->at(0) == 0 ||
      limit->elementType != start->elementType ||
      delta->elementType != start->elementType ||
      start->elementType == TensorProto::BOOL)
    return std::nullopt;
  double length = std::ceil((limit->at(0) - start->at(0)) / delta->at(0));
  if (!start->isFloat()) {
    // A double does not hold all integers.
    __int128 first = start->ints[0], end = limit->ints[0],
             step = delta->ints[0];
    __int128 distance = step > 0 ? end - first : first - end;
    __int128 stride = step > 0 ? step : -step;
    length = static_cast<double>((distance + stride - 1) / stride);
  }
  if (!(length <= f.largest)) // also of no number
    return std::nullopt;
  int64_t count = length > 0 ? static_cast<int64_t>(length) : 0;
  Literal result = emptyLike(start->elementType, {count});
  for (int64_t i = 0; i < count; ++i)
    if (result.isFloat())
      result.floats[i] =
          roundTo(result.elementType, start->floats[0] + i * delta->floats[0]);
    else
      result.ints[i] =
          static_cast<int64_t>(start->ints[0] + __int128(i) * delta->ints[0]);
  return result;
}

void ingest::addShapeFolders(llvm::StringMap<Folder> &table) {
  static constexpr std::pair<const char *, Folder> entries[] = {
      {"Concat", foldConcat},
      {"Constant", foldConstant},
      {"ConstantOfShape", foldConstantOfShape},
      {"Expand", foldExpand},
      {"EyeLike", foldEyeLike},
      {"Gather", foldGather},
      {"GatherElements", foldGatherElements},
      {"GatherND", foldGatherND},
      {"Range", foldRange},
      {"Reshape", foldReshape},
      {"ScatterND", foldScatterND},
      {"Shape", foldShape},
      {"Size", foldSize},
      {"Slice", foldSlice},
      {"Squeeze", foldSqueeze},
      {"Tile", foldTile},
      {"Transpose", foldTranspose},
      {"Trilu", foldTrilu},
      {"Unsqueeze", foldUnsqueeze},
  };
  for (auto [name, folder] : entries)
    table[name] = folder;
}
