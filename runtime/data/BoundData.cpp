// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which column feeds which input.
#include "data/BoundColumn.h"

#include <algorithm>
#include <set>

namespace bessemer::runtime {
namespace {

constexpr std::string_view labelNames[] = {"labels", "label", "y", "target",
                                           "targets"};

/// Chooses columns; those chosen are not guessed again.
class Matcher {
public:
  Matcher(const DataSet &data, std::span<const ValueInfo> inputs,
          const BindOptions &options)
      : data(data), inputs(inputs), options(options) {}

  /// Column names in the order of the inputs.
  Expected<std::vector<std::string>> match() {
    BESSEMER_RETURN_IF_ERROR(checkMap());
    std::vector<std::string> chosen(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      auto mapped = options.columns.find(inputs[i].name);
      if (mapped != options.columns.end())
        chosen[i] = mapped->second;
      else if (data.column(inputs[i].name))
        chosen[i] = inputs[i].name;
      used.insert(chosen[i]);
    }
    for (size_t i = 0; i < inputs.size(); ++i)
      if (chosen[i].empty() && inputs[i].name == options.labels) {
        chosen[i] = guessLabels();
        used.insert(chosen[i]);
      }
    size_t open = std::count(chosen.begin(), chosen.end(), "");
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!chosen[i].empty())
        continue;
      // With one input and one column left there is nothing to confuse.
      if (open == 1 && inputs[i].name != options.labels)
        chosen[i] = onlyUnused();
      if (chosen[i].empty())
        return Status::invalidInput(
            "input '" + inputs[i].name + "' (" + inputs[i].type.str() +
            ") has no data column; the data has " + data.str() +
            "; use --map " + inputs[i].name + "=COLUMN");
    }
    return chosen;
  }

private:
  Status checkMap() const {
    auto isInput = [&](const std::string &name) {
      return std::any_of(
          inputs.begin(), inputs.end(),
          [&](const ValueInfo &input) { return input.name == name; });
    };
    std::string names;
    for (const ValueInfo &input : inputs)
      names += (names.empty() ? "" : ", ") + input.name;
    for (const auto &[input, column] : options.columns) {
      if (!isInput(input))
        return Status::invalidInput(options.columnsOption +
                                    ": there is no input '" + input +
                                    "'; inputs are " + names);
      if (!data.column(column))
        return Status::invalidInput(options.columnsOption +
                                    ": there is no data column '" + column +
                                    "'; the data has " + data.str());
    }
    return {};
  }

  std::string guessLabels() const {
    std::string found;
    for (std::string_view name : labelNames)
      if (data.column(name) && !used.count(std::string(name))) {
        if (!found.empty())
          return "";
        found = name;
      }
    return found;
  }

  std::string onlyUnused() const {
    std::string found;
    for (const NamedArray &column : data.columns())
      if (!used.count(column.name)) {
        if (!found.empty())
          return "";
        found = column.name;
      }
    return found;
  }

  const DataSet &data;
  std::span<const ValueInfo> inputs;
  const BindOptions &options;
  std::set<std::string> used;
};

} // namespace

BoundData::~BoundData() = default;

Expected<std::shared_ptr<const BoundData>>
BoundData::bind(const DataSet &data, std::span<const ValueInfo> inputs,
                const BindOptions &options) {
  if (inputs.empty())
    return Status::invalidInput("the function has no inputs to feed");
  for (const ValueInfo &input : inputs)
    if (input.type.shape.empty() ||
        input.type.shape[0] != inputs[0].type.shape[0])
      return Status::invalidInput(
          "input '" + input.name + "' (" + input.type.str() +
          "): expected the batch as dimension 0, as in '" + inputs[0].name +
          "' (" + inputs[0].type.str() + ")");
  Expected<std::vector<std::string>> names =
      Matcher(data, inputs, options).match();
  if (!names)
    return names.status();

  std::shared_ptr<BoundData> bound(new BoundData);
  bound->batchRows = inputs[0].type.shape[0];
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueInfo &input = inputs[i];
    const std::string &name = (*names)[i];
    const Array &array = *data.column(name);
    if (array.type.shape.empty())
      return Status::invalidInput("data column '" + name +
                                  "': expected rows, got a scalar");
    bool labels = input.name == options.labels;
    Normalization normalization;
    if (!labels && (input.type.element == ElementType::F32 ||
                    input.type.element == ElementType::F64))
      normalization = options.normalization;
    Expected<std::unique_ptr<BoundColumn>> column =
        BoundColumn::create(name, array, input, normalization, !labels);
    if (!column)
      return column.status();
    int64_t rows = (*column)->rows();
    if (i > 0 && rows != bound->rowCount)
      return Status::invalidInput("data column '" + name + "' has " +
                                  std::to_string(rows) + " rows, column '" +
                                  names->front() + "' has " +
                                  std::to_string(bound->rowCount));
    bound->rowCount = rows;
    BESSEMER_RETURN_IF_ERROR((*column)->checkRanges());
    if (labels && !input.ranges.empty())
      bound->labels = i;
    bound->values.push_back(input);
    bound->columns.push_back(*std::move(column));
  }
  if (bound->rowCount == 0 && !options.mayBeEmpty)
    return Status::invalidInput("data column '" + names->front() +
                                "' has no rows");
  return std::shared_ptr<const BoundData>(bound);
}

Status BoundData::copyRow(size_t input, int64_t row, std::byte *to) const {
  return columns[input]->copyRow(row, to);
}

size_t BoundData::rowBytes(size_t input) const {
  return columns[input]->rowBytes();
}

bool BoundData::ignoresAll(std::span<const NamedTensor> batch) const {
  if (!labels)
    return false;
  const TensorView &view = batch[*labels].tensor;
  const std::vector<int64_t> &ignored = values[*labels].ranges.front().exempt;
  auto all = [&]<typename T>(std::span<const T> elements) {
    return std::all_of(elements.begin(), elements.end(), [&](T label) {
      return std::find(ignored.begin(), ignored.end(), label) != ignored.end();
    });
  };
  if (view.type == ElementType::I64)
    return all(view.elements<int64_t>());
  return view.type == ElementType::I32 && all(view.elements<int32_t>());
}

std::vector<std::string> BoundData::describe() const {
  std::vector<std::string> lines;
  for (const std::unique_ptr<BoundColumn> &column : columns)
    lines.push_back(column->describe());
  return lines;
}

} // namespace bessemer::runtime
