// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Flags as tables, and what was given for them on the command line or in a
// recipe. Only CommandLine.cpp knows how words become flags.
#pragma once

#include "bessemer/runtime/Status.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bessemer::tool {

using runtime::Expected;
using runtime::Status;

enum class FlagKind {
  /// Present or not.
  Switch,
  Text,
  Number,
  /// A whole number.
  Integer,
  /// "500MB", "1.5GiB".
  Bytes,
  /// Comma-separated, or given several times.
  List,
  Numbers,
  /// List of NAME=VALUE.
  Pairs
};

/// Whether a flag of this kind holds several values.
constexpr bool isList(FlagKind kind) {
  return kind == FlagKind::List || kind == FlagKind::Numbers ||
         kind == FlagKind::Pairs;
}

struct Flag {
  /// Without dashes, e.g. "warmup-steps".
  const char *name;
  FlagKind kind;
  /// What stands for the value in the help, e.g. "N".
  const char *value;
  const char *help;
  /// "a|b|c" when only these are allowed.
  const char *choices = nullptr;
  /// Smallest number allowed.
  double least = -1e300;
  /// Largest number allowed.
  double most = 1e300;
};

/// What was given; checked against the tables, so that the accessors cannot
/// fail.
class Arguments {
public:
  struct Given {
    std::vector<std::string> values;
    /// How errors call it: "--lr", or "recipe.yaml:3: lr".
    std::string origin;
    /// Whether the parts of a list stand alone already, as in YAML; commas in
    /// them are theirs.
    bool isSplit = false;
    /// Whether it comes from a recipe, which flags override.
    bool isOfRecipe = false;
  };

  void set(const std::string &flag, Given given) {
    flags[flag] = std::move(given);
  }
  bool has(const std::string &flag) const { return flags.count(flag) != 0; }
  const std::string &origin(const std::string &flag) const;
  /// Whether a flag that was given was so in a recipe.
  bool isOfRecipe(const std::string &flag) const;

  std::optional<std::string> text(const std::string &flag) const;
  std::string text(const std::string &flag, const std::string &otherwise) const;
  std::optional<double> number(const std::string &flag) const;
  std::optional<int64_t> integer(const std::string &flag) const;
  int64_t integer(const std::string &flag, int64_t otherwise) const;
  std::vector<std::string> list(const std::string &flag) const;
  std::vector<double> numbers(const std::string &flag) const;
  /// Split at the first '='.
  std::vector<std::pair<std::string, std::string>>
  pairs(const std::string &flag) const;

  /// The word that is no flag, e.g. the model.
  std::string positional;

private:
  std::map<std::string, Given> flags;
};

/// Checks and splits the values of one flag.
Status checkValues(const Flag &flag, Arguments::Given &given);

/// A number in full; nothing for other text.
std::optional<double> parseNumber(const std::string &text);
std::optional<int64_t> parseInteger(const std::string &text);

} // namespace bessemer::tool
