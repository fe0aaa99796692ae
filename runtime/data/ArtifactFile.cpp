// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bessemer/Format/Layout.h"
#include "bessemer/runtime/Files.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace bessemer::runtime {

Status checkArtifactPath(const std::string &path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    return {};
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return Status::invalidInput(
        path + ": cannot open to see whether it is a compiled program: " +
        std::strerror(errno));
  char start[sizeof format::artifactMagic];
  file.read(start, sizeof start);
  const auto length = static_cast<size_t>(file.gcount());
  if (length == 0 || (length == sizeof start &&
                      std::memcmp(start, format::artifactMagic, length) == 0))
    return {};
  return Status::invalidInput(path +
                              ": expected a new file or a compiled program to "
                              "replace, got another file");
}

Status writeArtifact(const std::string &path,
                     std::span<const std::byte> artifact) {
  BESSEMER_RETURN_IF_ERROR(checkArtifactPath(path));
  return writeFileAtomically(path, {&artifact, 1});
}

} // namespace bessemer::runtime
