// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Atomic writes, and what is there.
#include "bessemer/runtime/Files.h"
#include "core/Bytes.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace bessemer::runtime {
namespace {

/// "PATH: cannot ACTION: REASON"; the path is the input, so it is its fault.
Status systemError(const std::string &path, const char *action) {
  return Status::invalidInput(path + ": cannot " + action + ": " +
                              std::strerror(errno));
}

/// Closes a descriptor on every way out.
struct Descriptor {
  int fd;
  explicit Descriptor(int fd) : fd(fd) {}
  Descriptor(const Descriptor &) = delete;
  ~Descriptor() {
    if (fd >= 0)
      ::close(fd);
  }
};

Status writeAll(int fd, std::span<const std::byte> bytes,
                const std::string &path) {
  while (!bytes.empty()) {
    ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR)
        continue;
      return systemError(path, "write");
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

std::string parentOf(const std::string &path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// Waits some seconds for the reader of a pipe, not for ever.
int openToWrite(const std::string &file) {
  constexpr int tries = 300;
  int fd = -1;
  for (int i = 0; i < tries; ++i) {
    fd = ::open(file.c_str(),
                O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);
    if (fd >= 0 || errno != ENXIO)
      break;
    ::usleep(10'000);
    errno = ENXIO;
  }
  return fd;
}

/// Writes `file`; errors name `path`.
Status writeAndSync(const std::string &file,
                    std::span<const std::span<const std::byte>> pieces,
                    const std::string &path) {
  Descriptor opened(openToWrite(file));
  if (opened.fd < 0 && errno == ENXIO)
    return Status::invalidInput(
        path + ": expected a file to write, got a pipe that nobody reads");
  if (opened.fd < 0 || ::fcntl(opened.fd, F_SETFL, 0) != 0)
    return systemError(path, "create");
  for (std::span<const std::byte> piece : pieces)
    BESSEMER_RETURN_IF_ERROR(writeAll(opened.fd, piece, path));
  // EINVAL: a pipe or a device, which has nothing to sync.
  if (::fsync(opened.fd) != 0 && errno != EINVAL)
    return systemError(path, "sync");
  return {};
}

} // namespace

Status writeFileSynced(const std::string &path,
                       std::span<const std::span<const std::byte>> pieces) {
  return writeAndSync(path, pieces, path);
}

Status syncDirectory(const std::string &path) {
  Descriptor directory(
      ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.fd < 0)
    return systemError(path, "open");
  // EINVAL: a file system that has no durable directories to sync.
  if (::fsync(directory.fd) != 0 && errno != EINVAL)
    return systemError(path, "sync");
  return {};
}

Expected<bool> fileExists(const std::string &path) {
  if (::access(path.c_str(), F_OK) == 0)
    return true;
  if (errno == ENOENT || errno == ENOTDIR)
    return false;
  return systemError(path, "access");
}

Expected<std::string> readText(const std::string &path) {
  Expected<std::unique_ptr<MappedFile>> file = MappedFile::open(path);
  if (!file)
    return file.status();
  std::span<const std::byte> bytes = (*file)->bytes();
  return std::string(reinterpret_cast<const char *>(bytes.data()),
                     bytes.size());
}

Status createDirectories(const std::string &path) {
  std::string missing = path;
  while (missing.size() > 1 && missing.back() == '/')
    missing.pop_back();
  std::error_code error;
  if (std::filesystem::is_directory(missing, error))
    return {};
  std::string parent = parentOf(missing);
  BESSEMER_RETURN_IF_ERROR(createDirectories(parent));
  // Another process may have made it in between.
  if (::mkdir(missing.c_str(), 0777) != 0 &&
      (errno != EEXIST || !std::filesystem::is_directory(missing, error)))
    return Status::invalidInput(
        missing +
        ": cannot create: " + std::strerror(errno == EEXIST ? ENOTDIR : errno));
  return syncDirectory(parent);
}

Status writeFileAtomically(const std::string &path,
                           std::span<const std::span<const std::byte>> pieces) {
  if (path.empty())
    return Status::invalidInput("expected a file to write, got an empty name");
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  if (kind == std::filesystem::file_type::directory)
    return Status::invalidInput(path + ": expected a file, got a directory");
  const bool exists = std::filesystem::exists(path, error);
  // A device or a pipe takes what is written; a rename would replace it.
  if (exists && kind != std::filesystem::file_type::regular)
    return writeAndSync(path, pieces, path);
  // So it would a link: the new file takes the place of what that leads to.
  const std::string target =
      exists ? std::filesystem::canonical(path, error).string() : path;
  if (error)
    return Status::invalidInput(path + ": cannot find: " + error.message());
  std::string temporary = target + ".tmp" + std::to_string(::getpid());
  Status status = writeAndSync(temporary, pieces, path);
  if (status.ok() && ::rename(temporary.c_str(), target.c_str()) != 0)
    status = systemError(path, "rename the new file to it");
  if (!status.ok()) {
    ::unlink(temporary.c_str());
    return status;
  }
  return syncDirectory(parentOf(target));
}

Status writeFileAtomically(const std::string &path, std::string_view text) {
  std::span<const std::byte> piece = std::as_bytes(std::span(text));
  return writeFileAtomically(path, {&piece, 1});
}

} // namespace bessemer::runtime
