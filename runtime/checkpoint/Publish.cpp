// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Atomic replacement of a directory.
#include "checkpoint/Publish.h"

#include "bessemer/runtime/Files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace bessemer::runtime::checkpoint {
namespace {

namespace fs = std::filesystem;

Status failure(const std::string &path, const std::string &action,
               const std::string &reason) {
  return Status::invalidInput(path + ": cannot " + action + ": " + reason);
}

/// The directory itself when the path is a link to it, without a final slash.
std::string canonical(const std::string &directory) {
  std::error_code error;
  fs::path path = fs::weakly_canonical(fs::absolute(directory), error);
  std::string text = error ? directory : path.string();
  while (text.size() > 1 && text.back() == '/')
    text.pop_back();
  return text;
}

/// Replacing deletes what was there, so it must be a checkpoint and no more.
Status checkCheckpoint(const std::string &directory) {
  std::error_code error;
  if (!fs::exists(directory, error))
    return {};
  if (!fs::is_directory(directory, error))
    return Status::invalidInput(directory + ": expected a directory, got a "
                                            "file");
  for (const fs::directory_entry &entry :
       fs::directory_iterator(directory, error)) {
    std::string name = entry.path().filename().string();
    if (name != "state.safetensors" && name != "trainer.json")
      return Status::invalidInput(directory +
                                  ": is not a checkpoint, it holds '" + name +
                                  "'; choose another directory");
  }
  return error ? failure(directory, "read", error.message()) : Status();
}

Status renamePath(const std::string &from, const std::string &to) {
  if (std::rename(from.c_str(), to.c_str()) != 0)
    return failure(from, "rename to " + to, std::strerror(errno));
  return {};
}

} // namespace

Status checkReplaceable(const std::string &directory) {
  for (const char *suffix : {"", ".new", ".old"})
    BESSEMER_RETURN_IF_ERROR(checkCheckpoint(canonical(directory) + suffix));
  return {};
}

void discard(const std::string &prepared) {
  // What remains is only litter; the next save removes it.
  std::error_code ignored;
  fs::remove_all(prepared, ignored);
}

Expected<std::string> prepareBeside(const std::string &directory) {
  std::string target = canonical(directory), beside = target + ".new";
  BESSEMER_RETURN_IF_ERROR(checkReplaceable(directory));
  // A crash may have left one: a half-written one, or the replaced one.
  std::error_code error;
  if (fs::exists(beside, error))
    fs::remove_all(beside, error);
  if (error)
    return failure(beside, "remove", error.message());
  BESSEMER_RETURN_IF_ERROR(
      createDirectories(fs::path(beside).parent_path().string()));
  // Publishing makes its own name durable.
  if (!fs::create_directory(beside, error) && error)
    return failure(beside, "create", error.message());
  return beside;
}

Status publish(const std::string &prepared, const std::string &directory) {
  std::string target = canonical(directory), old = target + ".old";
  std::string parent = fs::path(target).parent_path().string();
  BESSEMER_RETURN_IF_ERROR(syncDirectory(prepared));
  std::error_code error;
  bool exchanged = false;
  if (!fs::exists(target, error)) {
    BESSEMER_RETURN_IF_ERROR(renamePath(prepared, target));
  } else if (::renameat2(AT_FDCWD, prepared.c_str(), AT_FDCWD, target.c_str(),
                         RENAME_EXCHANGE) == 0) {
    exchanged = true;
  } else if (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP) {
    discard(old);
    BESSEMER_RETURN_IF_ERROR(renamePath(target, old));
    BESSEMER_RETURN_IF_ERROR(renamePath(prepared, target));
  } else {
    return failure(prepared, "exchange with " + target, std::strerror(errno));
  }
  BESSEMER_RETURN_IF_ERROR(syncDirectory(parent));
  if (exchanged)
    discard(prepared);
  discard(old);
  return {};
}

std::string directoryToRead(const std::string &directory) {
  std::string target = canonical(directory);
  std::error_code error;
  if (!fs::exists(target, error) && fs::exists(target + ".old", error))
    return target + ".old";
  return directory;
}

} // namespace bessemer::runtime::checkpoint
