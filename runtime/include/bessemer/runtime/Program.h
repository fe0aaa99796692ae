// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A loaded artifact (.bsm): immutable, shared by any number of sessions.
#pragma once

#include "bessemer/runtime/Status.h"
#include "bessemer/runtime/Tensor.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bessemer::format {
struct Program;
} // namespace bessemer::format

namespace bessemer::runtime {

/// What integers of an input must be: in [least, most], or one of `exempt`.
struct ValueRange {
  /// What they are: "a label".
  std::string meaning;
  int64_t least = 0, most = 0;
  std::vector<int64_t> exempt;
  /// Only the elements with an index in [begin, end) along this dimension; -1:
  /// all of them.
  int64_t dim = -1, begin = 0, end = 0;

  bool holds(int64_t value) const;
  /// "a label in [0, 9] or -100".
  std::string str() const;
  /// "expected a label in [0, 9] or -100, got 12".
  std::string mismatch(int64_t got) const;
};

/// One input or output of a function.
struct ValueInfo {
  std::string name;
  TensorType type;
  /// Of an input that says where to look up: outside of them a call is refused.
  std::vector<ValueRange> ranges = {};
};

/// An element that its range does not hold.
struct OutOfRange {
  const ValueRange *range;
  int64_t value;
  /// Counted row-major.
  size_t element;
};

/// The first one in a value for the input, which has its type but for the
/// number of rows; the elements need not be aligned.
std::optional<OutOfRange> findOutOfRange(const ValueInfo &input,
                                         const TensorView &value);

/// "[3, 7]".
std::string positionText(size_t element, std::span<const int64_t> shape);

/// A function of the program: `train_step`, `eval_step`, `predict`. The step
/// block is not among the inputs.
struct FunctionInfo {
  std::string name;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
};

/// The same values as `StateRole` in bessemer.fbs.
enum class StateRole : uint8_t {
  Parameter,
  Moment,
  Statistic,
  Scaler,
  Rng,
  Counter
};

/// "parameter", "moment", ...
std::string_view roleName(StateRole role);

struct StateInfo {
  std::string name;
  StateRole role;
  TensorType type;
  bool trainable;
  /// Why it has this role and is (not) trained.
  std::string why;
};

struct Setting {
  std::string key;
  std::string value;
};

class Program {
public:
  /// Maps and verifies the file. A damaged file is an error that names the
  /// file, the thing, and what was expected and found. Blobs are hashed when
  /// first used.
  static Expected<std::shared_ptr<const Program>> load(const std::string &path);

  /// Copies and verifies an artifact in memory; `name` stands for the path in
  /// errors.
  static Expected<std::shared_ptr<const Program>>
  fromBytes(std::span<const std::byte> bytes, std::string name = "<memory>");

  ~Program();
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;

  /// The path, or the name given to fromBytes.
  const std::string &name() const;
  /// Name and version of the compiler.
  const std::string &producer() const;
  std::span<const FunctionInfo> functions() const;
  /// Null when there is no such function.
  const FunctionInfo *function(std::string_view name) const;
  std::span<const StateInfo> states() const;
  /// How the program was compiled: loss, optimizer and its constants, ...
  std::span<const Setting> settings() const;
  std::optional<std::string_view> setting(std::string_view key) const;
  /// The targets it has code for, e.g. "x86-64-v4".
  std::span<const std::string> targets() const;
  /// The source model without its weights; empty when it was left out.
  Expected<std::span<const std::byte>> sourceModel() const;
  /// All bytes of the artifact.
  std::span<const std::byte> bytes() const;
  /// Checks the hash of every blob now.
  Status verifyBlobs() const;
  /// The verified table itself, for `inspect` and tests; include
  /// bessemer/Format/bessemer_generated.h to read it.
  const format::Program &table() const;

  struct Impl;
  const Impl &impl() const { return *implementation; }

private:
  explicit Program(std::unique_ptr<Impl> implementation);
  std::unique_ptr<Impl> implementation;
};

} // namespace bessemer::runtime
