// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random numbers for tests: the same on every machine.

#ifndef BESSEMER_TEST_UNIT_RANDOM_H
#define BESSEMER_TEST_UNIT_RANDOM_H

#include <cstddef>
#include <random>

namespace bessemer::test {

using Random = std::mt19937;

inline size_t below(Random &random, size_t bound) { return random() % bound; }

} // namespace bessemer::test

#endif // BESSEMER_TEST_UNIT_RANDOM_H
