// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers of bytes as people write them; compiler and tools read one form.

#ifndef BESSEMER_PIPELINES_BYTECOUNT_H
#define BESSEMER_PIPELINES_BYTECOUNT_H

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

namespace bessemer {

/// What errors ask for.
inline constexpr const char *byteCountForm =
    "bytes above 0 and below 2^62, e.g. 500000000, 500MB (10^6 each) or 1.5GiB "
    "(2^30 each)";

/// "500000000", "512MB" (10^6), "1.5 GiB" (2^30), also with k, M, G or T alone;
/// nothing for other text and for numbers outside of [1, 2^62).
inline std::optional<int64_t> parseByteCount(std::string_view text) {
  auto skipSpaces = [&] {
    while (!text.empty() && text.front() == ' ')
      text.remove_prefix(1);
  };
  skipSpaces();
  while (!text.empty() && text.back() == ' ')
    text.remove_suffix(1);
  constexpr int64_t end = int64_t(1) << 62;
  // A plain number keeps all its digits.
  int64_t whole = 0;
  auto [rest, error] =
      std::from_chars(text.data(), text.data() + text.size(), whole);
  if (error == std::errc() && rest == text.data() + text.size())
    return whole >= 1 && whole < end ? std::optional(whole) : std::nullopt;
  double number = 0;
  auto [unitAt, problem] = std::from_chars(
      text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (problem != std::errc())
    return std::nullopt;
  text.remove_prefix(static_cast<size_t>(unitAt - text.data()));
  skipSpaces();
  double scale = 1;
  if (!text.empty() && text != "B") {
    size_t power =
        std::string_view("kMGT").find(text.front() == 'K' ? 'k' : text.front());
    text.remove_prefix(1);
    bool isBinary = text == "iB" || text == "i";
    if (power == std::string_view::npos ||
        !(isBinary || text.empty() || text == "B"))
      return std::nullopt;
    scale = std::pow(isBinary ? 1024.0 : 1000.0, double(power + 1));
  }
  double bytes = number * scale;
  if (!(bytes >= 1 && bytes < double(end)))
    return std::nullopt;
  return static_cast<int64_t>(bytes);
}

} // namespace bessemer

#endif // BESSEMER_PIPELINES_BYTECOUNT_H
