// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Damaged text for tests of readers.

#ifndef BESSEMER_TEST_UNIT_MUTATETEXT_H
#define BESSEMER_TEST_UNIT_MUTATETEXT_H

#include "Random.h"

#include <span>
#include <string>
#include <string_view>

namespace bessemer::test {

/// What a format gives meaning to.
struct TextFormat {
  std::span<const std::string_view> tokens;
  /// Characters that nest when repeated, and how often: deeper than a reader
  /// should recurse.
  std::string_view nesting;
  size_t deepest;
};

/// One damage: a cut, a wrong character, nesting, a gap, a repetition, or a
/// token of the format in a wrong place.
inline void mutateText(std::string &text, const TextFormat &format,
                       Random &random) {
  size_t at = below(random, text.size() + 1);
  switch (below(random, 8)) {
  case 0:
    text.resize(at);
    return;
  case 1:
    if (at < text.size())
      text[at] = static_cast<char>(random());
    return;
  case 2:
    text.insert(
        at, std::string(1 + below(random, format.deepest),
                        format.nesting[below(random, format.nesting.size())]));
    return;
  case 3:
    if (at < text.size())
      text.erase(at, 1 + below(random, 12));
    return;
  case 4: {
    size_t from = below(random, text.size() + 1);
    text.insert(at, text.substr(from, below(random, 40)));
    return;
  }
  default:
    text.insert(at, format.tokens[below(random, format.tokens.size())]);
  }
}

} // namespace bessemer::test

#endif // BESSEMER_TEST_UNIT_MUTATETEXT_H
