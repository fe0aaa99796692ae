// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TestFiles.h"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace bessemer::test {

TemporaryFolder::TemporaryFolder() {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "bessemerXXXXXX").string();
  EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
  path = pattern;
}

TemporaryFolder::~TemporaryFolder() { std::filesystem::remove_all(path); }

void writeFile(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string npy(const std::string &header, const std::string &elements,
                int version) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  size_t bytes = version == 1 ? 2 : 4;
  for (size_t i = 0; i < bytes; ++i)
    file += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return file + header + elements;
}

std::string npyHeader(const std::string &type, const std::string &shape,
                      bool fortran) {
  return "{'descr': '" + type +
         "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + shape + ", }\n";
}

} // namespace bessemer::test
