// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// IEEE binary16 as data: read only, through double.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace bessemer::runtime::data {

struct Half {
  uint16_t bits;

  explicit operator double() const {
    int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    double value;
    if (exponent == 31)
      value = mantissa ? std::numeric_limits<double>::quiet_NaN()
                       : std::numeric_limits<double>::infinity();
    else if (exponent == 0)
      value = std::ldexp(mantissa, -24);
    else
      value = std::ldexp(mantissa + 1024, exponent - 25);
    return bits & 0x8000 ? -value : value;
  }
  explicit operator float() const {
    return static_cast<float>(static_cast<double>(*this));
  }
};

} // namespace bessemer::runtime::data
