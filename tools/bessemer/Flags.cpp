// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Flags.h"

#include "bessemer/Pipelines/ByteCount.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace bessemer::tool {
namespace {

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  size_t start = 0;
  while (true) {
    size_t end = text.find(separator, start);
    parts.push_back(text.substr(start, end - start));
    if (end == std::string::npos)
      return parts;
    start = end + 1;
  }
}

/// What a flag of whole numbers takes.
std::string rangeText(const Flag &flag) {
  auto bound = [](double value, const char *none) -> std::string {
    char text[32];
    std::snprintf(text, sizeof text, "%.0f", value);
    return std::abs(value) < 1e18 ? text : none;
  };
  return "a whole number from " + bound(flag.least, "-2^63") + " to " +
         bound(flag.most, "2^63 - 1");
}

} // namespace

std::optional<double> parseNumber(const std::string &text) {
  char *end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || std::isspace(text[0]) || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::optional<int64_t> parseInteger(const std::string &text) {
  int64_t value;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

Status checkValues(const Flag &flag, Arguments::Given &given) {
  auto wrong = [&](const std::string &expected, const std::string &found) {
    return Status::usage(given.origin + ": expected " + expected + ", got '" +
                         found + "'");
  };
  const bool many = isList(flag.kind);
  if (many && !given.isSplit) {
    std::vector<std::string> all;
    for (const std::string &value : given.values)
      for (std::string &part : split(value, ','))
        all.push_back(std::move(part));
    given.values = std::move(all);
  } else if (!many && flag.kind != FlagKind::Switch &&
             given.values.size() != 1) {
    return Status::usage(given.origin + ": expected one value, got " +
                         std::to_string(given.values.size()));
  }
  for (const std::string &value : given.values) {
    if (value.empty() && !many)
      return wrong(flag.value, value);
    if (flag.kind == FlagKind::Bytes && !parseByteCount(value))
      return wrong(byteCountForm, value);
    bool integral = flag.kind == FlagKind::Integer;
    if (integral || flag.kind == FlagKind::Number ||
        flag.kind == FlagKind::Numbers) {
      std::optional<double> number = parseNumber(value);
      if (!number || (integral && !parseInteger(value)))
        return wrong(!integral ? "a number"
                     : number && value.find_first_not_of("-0123456789") ==
                                     std::string::npos
                         ? rangeText(flag)
                         : "a whole number",
                     value);
      if (*number < flag.least || *number > flag.most) {
        bool low = *number < flag.least;
        char bound[32];
        std::snprintf(bound, sizeof bound,
                      flag.kind == FlagKind::Integer ? "%.0f" : "%g",
                      low ? flag.least : flag.most);
        return wrong(std::string(low ? "at least " : "at most ") + bound,
                     value);
      }
    }
    if (flag.kind == FlagKind::Pairs &&
        (value.find('=') == std::string::npos || value[0] == '=' ||
         value.back() == '='))
      return wrong("NAME=VALUE", value);
    if (many && value.empty())
      return wrong("a list without empty parts", value);
    if (flag.choices) {
      bool known = false;
      std::string names;
      for (const std::string &choice : split(flag.choices, '|')) {
        known |= choice == value;
        names += (names.empty() ? "" : ", ") + choice;
      }
      if (!known)
        return wrong("one of " + names, value);
    }
  }
  return {};
}

const std::string &Arguments::origin(const std::string &flag) const {
  return flags.at(flag).origin;
}

bool Arguments::isOfRecipe(const std::string &flag) const {
  return flags.at(flag).isOfRecipe;
}

std::optional<std::string> Arguments::text(const std::string &flag) const {
  auto found = flags.find(flag);
  if (found == flags.end() || found->second.values.empty())
    return std::nullopt;
  return found->second.values.front();
}

std::string Arguments::text(const std::string &flag,
                            const std::string &otherwise) const {
  return text(flag).value_or(otherwise);
}

std::optional<double> Arguments::number(const std::string &flag) const {
  std::optional<std::string> value = text(flag);
  return value ? parseNumber(*value) : std::nullopt;
}

std::optional<int64_t> Arguments::integer(const std::string &flag) const {
  std::optional<std::string> value = text(flag);
  return value ? parseInteger(*value) : std::nullopt;
}

int64_t Arguments::integer(const std::string &flag, int64_t otherwise) const {
  return integer(flag).value_or(otherwise);
}

std::vector<std::string> Arguments::list(const std::string &flag) const {
  auto found = flags.find(flag);
  return found == flags.end() ? std::vector<std::string>()
                              : found->second.values;
}

std::vector<double> Arguments::numbers(const std::string &flag) const {
  std::vector<double> values;
  for (const std::string &value : list(flag))
    values.push_back(*parseNumber(value));
  return values;
}

std::vector<std::pair<std::string, std::string>>
Arguments::pairs(const std::string &flag) const {
  std::vector<std::pair<std::string, std::string>> result;
  for (const std::string &value : list(flag)) {
    size_t equals = value.find('=');
    result.emplace_back(value.substr(0, equals), value.substr(equals + 1));
  }
  return result;
}

} // namespace bessemer::tool
