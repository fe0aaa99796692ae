// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bessemer/Format/Layout.h"
#include "bessemer/runtime/Files.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace bessemer::runtime {

/// An error when there is a file that does not begin with `start`.
static Status checkStart(const std::string &path, std::string_view start,
                         const std::string &what) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    return {};
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return Status::invalidInput(path + ": cannot open to see whether it is " +
                                what + ": " + std::strerror(errno));
  std::string found(start.size(), '\0');
  file.read(found.data(), static_cast<std::streamsize>(found.size()));
  if (file.gcount() == 0 || found == start)
    return {};
  return Status::invalidInput(path + ": expected a new file or " + what +
                              " to replace, got another file");
}

Status checkArtifactPath(const std::string &path) {
  return checkStart(path, {format::artifactMagic, sizeof format::artifactMagic},
                    "a compiled program");
}

Status checkModelPath(const std::string &path) {
  // ONNX has no magic number; its first field is ir_version.
  return checkStart(path, "\x08", "an ONNX model");
}

Status writeArtifact(const std::string &path,
                     std::span<const std::byte> artifact) {
  BESSEMER_RETURN_IF_ERROR(checkArtifactPath(path));
  return writeFileAtomically(path, {&artifact, 1});
}

} // namespace bessemer::runtime
