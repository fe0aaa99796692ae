// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files for the tests, written byte by byte.
#pragma once

#include "bessemer/runtime/Data.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace bessemer::test {

/// A folder that goes away with the object.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::string operator/(const std::string &name) const {
    return path + "/" + name;
  }
  std::string path;
};

void writeFile(const std::string &path, const std::string &bytes);
std::string readFile(const std::string &path);

template <typename T> std::string raw(const std::vector<T> &values) {
  return std::string(reinterpret_cast<const char *>(values.data()),
                     values.size() * sizeof(T));
}

/// An .npy file of this version with this header text; NumPy's padding is not
/// needed to read it.
std::string npy(const std::string &header, const std::string &elements,
                int version = 1);
std::string npyHeader(const std::string &type, const std::string &shape,
                      bool fortran = false);

/// An array in memory for binding.
template <typename T>
runtime::NamedArray column(const std::string &name, std::vector<int64_t> shape,
                           std::vector<T> values) {
  auto owner = std::make_shared<std::vector<T>>(std::move(values));
  const auto *data = reinterpret_cast<const std::byte *>(owner->data());
  return {name, {{runtime::elementTypeOf<T>(), std::move(shape)}, owner, data}};
}

/// The values of an array, after a check of its type.
template <typename T> std::vector<T> values(const runtime::Array &array) {
  EXPECT_EQ(array.type.element, runtime::elementTypeOf<T>());
  auto elements = array.view().elements<T>();
  return {elements.begin(), elements.end()};
}

} // namespace bessemer::test
