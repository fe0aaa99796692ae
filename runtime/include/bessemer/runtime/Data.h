// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Data sets: arrays in .npy, .npz and IDX files, and how their columns become
// the inputs of a function.
#pragma once

#include "bessemer/runtime/Program.h"
#include "bessemer/runtime/Status.h"
#include "bessemer/runtime/Tensor.h"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bessemer::runtime {

/// Dense row-major elements, aligned to their size, with what keeps them
/// alive (a mapped file or a buffer).
struct Array {
  TensorType type;
  std::shared_ptr<const void> owner;
  const std::byte *data = nullptr;

  TensorView view() const { return {type, data}; }
};

struct NamedArray {
  std::string name;
  Array array;
};

/// Reads .npy, .npz (stored or deflated), IDX, or a gzip of .npy or IDX; which
/// one is seen from the first bytes. The arrays of an .npz have its members'
/// names, a single array has the file's name up to its first dot. Uncompressed
/// row-major little-endian elements stay in the mapped file.
Expected<std::vector<NamedArray>> readArrays(const std::string &path);

/// Writes a .npy file (version 1.0), whole or not at all.
Status writeNpy(const std::string &path, const TensorView &value);

/// Named columns; dimension 0 of each counts rows.
class DataSet {
public:
  /// Each spec is "FILE" (its arrays become columns under their names),
  /// "name=FILE" or "name=FILE.npz:array".
  static Expected<DataSet> open(std::span<const std::string> specs);

  std::span<const NamedArray> columns() const { return arrays; }
  /// Null when there is none.
  const Array *column(std::string_view name) const;
  /// For language models: cuts the only column, a sequence t of tokens, into
  /// rows that do not overlap. Row i of the column becomes t[i n .. i n + n-1],
  /// and row i of a new column `labels` the same, one further. A rest that is
  /// no whole row is left out.
  /// Errors call it `option`.
  Status cutWindows(int64_t n, const std::string &option = "--window");
  /// "images u8[60000x28x28], labels u8[60000]".
  std::string str() const;

private:
  std::vector<NamedArray> arrays;
};

/// What happens to the numbers of a column on their way into a float input:
/// (value * scale - mean) / std.
struct Normalization {
  /// Default: 1/255 for u8 columns (but not for labels), else 1.
  std::optional<double> scale;
  /// One value, or one per element of dimension 1 of the input (channel).
  std::vector<double> mean, std;
};

/// How inputs get their columns.
struct BindOptions {
  /// Input name to column name; other inputs take the column of their name.
  std::map<std::string, std::string> columns;
  /// What errors call `columns`.
  std::string columnsOption = "--map";
  /// For every float input but the labels.
  Normalization normalization;
  /// The input that holds the target; also served by a column "label", "y",
  /// "target" or "targets".
  std::string labels = "labels";
  /// No rows are no error: what maps rows to rows has no results then.
  bool mayBeEmpty = false;
};

/// A column bound to an input: type, layout and numbers are settled.
class BoundColumn;

/// The columns that feed a function, in the order of its inputs.
class BoundData {
public:
  /// Errors name the column, what the input expects and what was found, also
  /// where an index or a label lies outside of its range.
  static Expected<std::shared_ptr<const BoundData>>
  bind(const DataSet &data, std::span<const ValueInfo> inputs,
       const BindOptions &options);
  ~BoundData();

  int64_t rows() const { return rowCount; }
  /// Dimension 0 of every input.
  int64_t batch() const { return batchRows; }
  std::span<const ValueInfo> inputs() const { return values; }
  /// Converts row `row` of the data into the memory of one input row.
  Status copyRow(size_t input, int64_t row, std::byte *to) const;
  /// Bytes of one row of an input.
  size_t rowBytes(size_t input) const;
  /// Whether every label of a batch is the ignored one: its mean loss is then
  /// not a number.
  bool ignoresAll(std::span<const NamedTensor> batch) const;
  /// One line per input: which column it takes and what happens to it.
  std::vector<std::string> describe() const;

private:
  BoundData() = default;
  std::vector<ValueInfo> values;
  std::vector<std::unique_ptr<BoundColumn>> columns;
  int64_t rowCount = 0, batchRows = 0;
  /// The input of class labels, if there is one.
  std::optional<size_t> labels;
};

} // namespace bessemer::runtime
