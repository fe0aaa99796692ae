// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decides how a column becomes an input; ConvertRow.cpp then does it.
#include "data/BoundColumn.h"

#include <algorithm>
#include <cstdio>

namespace bessemer::runtime {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

} // namespace

Status BoundColumn::normalize(const Normalization &normalization,
                              bool scaleImages) {
  bool wanted = normalization.scale || !normalization.mean.empty() ||
                !normalization.std.empty();
  if (!isFloat(target.type.element)) {
    if (wanted)
      return Status::invalidInput("input '" + target.name +
                                  "': scale, mean and std need a float input, "
                                  "got " +
                                  target.type.str());
    return {};
  }
  double scale = 1;
  if (normalization.scale)
    scale = *normalization.scale;
  else if (scaleImages && source.type.element == ElementType::U8)
    scale = 1.0 / 255;
  size_t count = std::max(normalization.mean.size(), normalization.std.size());
  const std::vector<int64_t> &shape = target.type.shape;
  if (count > 1 &&
      (shape.size() < 2 || shape[1] != static_cast<int64_t>(count)))
    return Status::invalidInput(
        "input '" + target.name + "': " + std::to_string(count) +
        " values of mean or std given, expected one or as many as dimension 1 "
        "of " +
        target.type.str());
  for (const std::vector<double> *values :
       {&normalization.mean, &normalization.std})
    if (values->size() > 1 && values->size() != count)
      return Status::invalidInput("input '" + target.name +
                                  "': mean and std differ in length");
  for (double value : normalization.std)
    if (!(value > 0))
      return Status::invalidInput("input '" + target.name +
                                  "': std must be positive, got " +
                                  number(value));
  if (scale == 1 && count == 0)
    return {};
  if (count > 1 && layout == data::Layout::Same) {
    channels = shape[1];
    inner = static_cast<int64_t>(target.type.elementCount()) / shape[0] /
            std::max<int64_t>(channels, 1);
  }
  auto pick = [](const std::vector<double> &values, int64_t channel,
                 double missing) {
    if (values.empty())
      return missing;
    return values[values.size() == 1 ? 0 : static_cast<size_t>(channel)];
  };
  bool useTable = source.type.element == ElementType::U8 &&
                  target.type.element == ElementType::F32;
  for (int64_t channel = 0; channel < channels; ++channel) {
    double mean = pick(normalization.mean, channel, 0);
    double deviation = pick(normalization.std, channel, 1);
    factor.push_back(scale / deviation);
    term.push_back(-mean / deviation);
    for (int value = 0; useTable && value < 256; ++value)
      table.push_back(static_cast<float>((value * scale - mean) / deviation));
  }
  if (!normalization.scale && scale != 1)
    note = "times 1/255";
  else if (scale != 1)
    note = "times " + number(scale);
  if (count > 0)
    note +=
        std::string(note.empty() ? "" : ", ") + "normalized by mean and std";
  return {};
}

Expected<std::unique_ptr<BoundColumn>>
BoundColumn::create(std::string column, const Array &array,
                    const ValueInfo &input, const Normalization &normalization,
                    bool scaleImages) {
  std::unique_ptr<BoundColumn> bound(new BoundColumn);
  const std::vector<int64_t> &from = array.type.shape, &to = input.type.shape;
  std::span<const int64_t> row = std::span(from).subspan(1);
  std::span<const int64_t> wanted = std::span(to).subspan(1);
  std::optional<data::Layout> layout = data::matchLayout(row, wanted);
  TensorType rowType{array.type.element, {row.begin(), row.end()}};
  TensorType wantedType{input.type.element, {wanted.begin(), wanted.end()}};
  if (!layout)
    return Status::invalidInput("data column '" + column + "' for input '" +
                                input.name + "': expected rows of " +
                                wantedType.str() + ", got " + rowType.str());
  bound->converterFunction = converter(array.type.element, input.type.element);
  if (!bound->converterFunction)
    return Status::invalidInput(
        "data column '" + column + "' for input '" + input.name +
        "': expected " +
        (isFloat(input.type.element) ? "numbers for " : "integers for ") +
        std::string(elementName(input.type.element)) + ", got " +
        std::string(elementName(array.type.element)));
  bound->column = std::move(column);
  bound->source = array;
  bound->target = input;
  bound->layout = *layout;
  bound->fromBytes = rowType.byteSize();
  bound->toBytes = wantedType.byteSize();
  bound->inner = static_cast<int64_t>(wantedType.elementCount());
  if (*layout == data::Layout::ChannelsLastToFirst) {
    bound->channels = to[1];
    bound->inner /= to[1];
  }
  BESSEMER_RETURN_IF_ERROR(bound->normalize(normalization, scaleImages));
  return bound;
}

Status BoundColumn::copyRow(int64_t row, std::byte *to) const {
  const std::byte *from = source.data + static_cast<size_t>(row) * fromBytes;
  if (converterFunction(*this, from, to))
    return {};
  return Status::invalidInput("data column '" + column + "', row " +
                              std::to_string(row) +
                              ": a value does not fit the " +
                              std::string(elementName(target.type.element)) +
                              " of input '" + target.name + "'");
}

std::string BoundColumn::describe() const {
  std::string text = target.name + " " + target.type.str() + " <- " + column +
                     " " + source.type.str();
  if (layout == data::Layout::ChannelsLastToFirst)
    text += ", channels moved first";
  if (!note.empty())
    text += ", " + note;
  return text;
}

Status BoundColumn::checkRanges() const {
  if (target.ranges.empty())
    return {};
  TensorType rowType = target.type;
  rowType.shape[0] = 1;
  // Aligned for any integer.
  std::vector<int64_t> buffer(rowType.byteSize() / sizeof(int64_t) + 1);
  // As training will see it.
  for (int64_t row = 0; row < rows(); ++row) {
    BESSEMER_RETURN_IF_ERROR(
        copyRow(row, reinterpret_cast<std::byte *>(buffer.data())));
    auto wrong = findOutOfRange(target, {rowType, buffer.data()});
    if (!wrong)
      continue;
    std::string at = "row " + std::to_string(row);
    if (rowType.shape.size() > 1)
      at += " at " +
            positionText(wrong->element, std::span(rowType.shape).subspan(1));
    return Status::invalidInput("data column '" + column + "', " + at +
                                " for input '" + target.name +
                                "': " + wrong->range->mismatch(wrong->value));
  }
  return {};
}

} // namespace bessemer::runtime
